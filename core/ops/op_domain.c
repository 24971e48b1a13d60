/*
 * op_domain: sending domains.
 */
#include "core/ops/op_domain.h"

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/clock.h"
#include "core/conf/conf.h"
#include "core/ops/op_domain_dns.h"
#include "core/postfix/postconf.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"

static const struct op_field add_fields[] = {
	{OP_FIELD(op_domain, name, OP_TEXT), .required = true},
	{OP_FIELD(op_domain, company_id, OP_ID), .required = true, .operators = true},
	{OP_FIELD(op_domain, active, OP_FLAG), .operators = true},
	{OP_FIELD(op_domain, policy, OP_TEXT), .operators = true},
	{OP_FIELD(op_domain, subdomains, OP_TEXT), .operators = true},
	{0},
};
#define COMPANY_FIELD                                                                              \
	{                                                                                          \
		OP_FIELD(op_domain, company_id, OP_ID), .command = true                            \
	}
static const struct op_field update_fields[] = {
	COMPANY_FIELD,
	{OP_FIELD(op_domain, active, OP_FLAG)},
	{OP_FIELD(op_domain, policy, OP_TEXT)},
	{OP_FIELD(op_domain, subdomains, OP_TEXT)},
	{OP_FIELD(op_domain, return_path, OP_TEXT)},
	{OP_FIELD(op_domain, unsubscribe, OP_TEXT)},
	{0},
};
static const struct op_field company_fields[] = {COMPANY_FIELD, {0}};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_domain, company_id, OP_ID)},
	{OP_FIELD(op_domain, active, OP_FLAG), .admins = true},
	{0},
};

/* Finds the domain of the operation. Returns 1, 0 if none is visible, -1 on error. */
static int find_own_domain(const struct op *op, const struct op_domain *input,
	struct domain *domain_r, struct err *err)
{
	const char *company_id = op_company_of(op, input ? input->company_id : NULL);
	_cleanup_free_ char *name = NULL;
	struct domain domain;
	int found;

	if (op->actor != OP_COMMAND && !op->object_is_name)
		found = store_domain_get(op->db, company_id, op->object, &domain, err);
	else if (addr_domain_normalize(op->object, &name, err) < 0)
		found = -1;
	else
		found = store_domain_find_named(op->db, company_id, name, &domain, err);
	if (found <= 0)
		return found;
	if (op->domain && !str_eq(op->domain, domain.name)) {
		store_domain_clear(&domain);
		return 0;
	}
	*domain_r = domain;
	return 1;
}

/* Applies the input to *domain, not to the store. Returns 0 or -1. */
static int set_rules(
	const struct op *op, const struct op_domain *input, struct domain *domain, struct err *err)
{
	if (input->active != OP_NOT_GIVEN)
		domain->active = input->active == OP_YES;
	if (input->policy && !store_domain_policy_parse(input->policy, &domain->policy))
		return op_refuse(op, err, "policy",
			"is one of exclusive, learn, shared, not \"%s\"", input->policy);
	if (input->subdomains &&
		!store_domain_subdomains_parse(input->subdomains, &domain->covers_subdomains))
		return op_refuse(op, err, "subdomains", "is one of own, covered, not \"%s\"",
			input->subdomains);
	if (input->unsubscribe &&
		!store_domain_unsubscribe_parse(input->unsubscribe, &domain->unsubscribe))
		return op_refuse(
			op, err, "unsubscribe", "is on or off, not \"%s\"", input->unsubscribe);
	/* A return path accepts all mail to it, so it must be a name without other mail. */
	if (input->return_path) {
		struct err why = ERR_INIT;
		char *name = NULL;

		if (!str_eq(input->return_path, "off") &&
			addr_domain_normalize(input->return_path, &name, &why) < 0)
			return op_refuse(
				op, err, "return_path", "is a domain, or off: %s", why.text);
		free(domain->return_path);
		domain->return_path = name;
		if (name && str_eq(name, domain->name))
			return op_refuse(op, err, "return_path",
				"is a name of its own, such as bounces.%s", domain->name);
	}
	return 0;
}

/* Checks if the company may have one more domain. Returns 0 or -1. */
static int check_limit(const struct op *op, const struct domain *domain, struct err *err)
{
	return op_check_limit(op, domain->pending ? LIMIT_PENDING_DOMAINS : LIMIT_DOMAINS,
		domain->company_id, err);
}

const char *const op_domain_answers[OP_DOMAIN_ANSWERS] = {"learn", "exclusive", "shared"};

int op_domain_question(const struct op *op, const char *name, char **question_r, struct err *err)
{
	const char *where = NULL;
	int found = postconf_has_domain(op->conf->submission.postfix_config, name, &where, err);

	if (found < 0)
		return err_prefix(err,
			"cannot tell whether Postfix has %s (say %s to go on without)", name,
			op->actor == OP_COMMAND ? "--policy" : "the `policy`");
	if (found > 0)
		*question_r = mem_printf(
			"This Postfix has %s in %s, so people and programs here may be sending as "
			"it without a key. Which policy: learn (stop nobody, record what would be "
			"stopped), exclusive (stop all who are not exempt) or shared (stop "
			"nobody)?",
			name, where);
	return found;
}

static int ask_for_confirmation(const struct op *op, const char *name, struct err *err)
{
	_cleanup_free_ char *question = NULL;
	int has_question = op_domain_question(op, name, &question, err);

	if (has_question <= 0)
		return has_question;
	return err_set(err, ERR_INVALID, "%s Say it %s.", question,
		op->actor == OP_COMMAND ? "with --policy" : "in `policy`");
}

static int add_check(struct op *op, const void *arg, struct err *err)
{
	const struct op_domain *input = arg;
	_cleanup_free_ char *name = NULL;

	if (op->actor != OP_COMMAND)
		op->view = dns_view_new(op->conf);
	/* An invalid name is refused by run(). */
	if (op->company_id || input->policy || addr_domain_normalize(input->name, &name, NULL) < 0)
		return 0;
	return ask_for_confirmation(op, name, err);
}

static int add_domain(struct op *op, const void *arg, struct err *err)
{
	const struct op_domain *input = arg;
	struct domain wanted = {
		.active = op->company_id == NULL, .pending = op->company_id != NULL};
	_cleanup_free_ char *name = NULL;
	struct domain domain;

	if (op->domain)
		return err_set(err, ERR_DENIED,
			"this API key is restricted to the domain %s: it cannot add others",
			op->domain);
	if (addr_domain_normalize(input->name, &name, err) < 0 ||
		set_rules(op, input, &wanted, err) < 0 ||
		store_domain_add(op->db, op_company_of(op, input->company_id), name, &wanted,
			op->now_us, &domain, err) < 0)
		return -1;
	op_give(op, &store_domain_type, &domain);
	if (op->view && op_domain_dns_add(op, &domain, err) < 0)
		return -1;
	return check_limit(op, &domain, err) < 0 ? -1 : 1;
}

static int list_domains(struct op *op, const void *arg, struct err *err)
{
	const struct op_domain *input = arg;
	struct domain_list domains = {0};
	struct page_end end;
	int found = store_domain_list(op->db, op_company_of(op, input->company_id),
		input->active == OP_YES, &op->page, &domains, &end, err);

	if (found > 0)
		op_give_page(op, &store_domain_type, domains.items, domains.n, &end);
	return found;
}

static int list_newest(struct op *op, const void *arg, struct err *err)
{
	const struct domain_scope scope = {op->company_id, op->domain};
	struct domain_list domains = {0};
	struct page_end end = {0};
	int found = store_domain_page(op->db, &scope, &op->page, &domains, &end.more, err);

	(void)arg;
	if (found > 0)
		op_give_page(op, &store_domain_type, domains.items, domains.n, &end);
	return found;
}

static int get_domain(struct op *op, const void *arg, struct err *err)
{
	struct domain domain;
	int found = find_own_domain(op, arg, &domain, err);

	if (found > 0)
		op_give(op, &store_domain_type, &domain);
	return found;
}

static int show_domain(struct op *op, const void *arg, struct err *err)
{
	int found = get_domain(op, arg, err);

	if (found <= 0)
		return found;
	return op_domain_dns_add(op, op->result.rows.items, err) < 0 ? -1 : 1;
}

/* A pending domain that is activated counts from now on. */
static int update_check(struct op *op, const void *arg, struct err *err)
{
	const struct op_domain *input = arg;
	struct domain domain;
	int found, result = 0;

	if (input->active != OP_YES || input->policy)
		return 0;
	found = find_own_domain(op, input, &domain, err);
	if (found <= 0)
		return found; /* run() reports a missing domain */
	if (domain.pending)
		result = ask_for_confirmation(op, domain.name, err);
	store_domain_clear(&domain);
	return result;
}

static int update_domain(struct op *op, const void *arg, struct err *err)
{
	const struct op_domain *input = arg;
	struct domain *domain;
	bool asked_for;

	int found = get_domain(op, input, err);

	if (found <= 0)
		return found;
	domain = op->result.rows.items;
	asked_for = domain->pending;
	if (asked_for && input->active != OP_YES)
		return err_set(err, ERR_INVALID,
			"the company only asked for the domain %s: it can be activated or removed",
			domain->name);
	domain->pending = false;
	if (set_rules(op, input, domain, err) < 0)
		return -1;
	found = store_domain_change(op->db, domain, err);
	return found > 0 && asked_for && check_limit(op, domain, err) < 0 ? -1 : found;
}

/* The longest duration of a DNS check, and the shortest interval between checks. */
enum { LOOK_MS = 10000 };
#define LOOK_EVERY_US (60 * SECOND_US)

static int verify_check(struct op *op, const void *arg, struct err *err)
{
	struct domain domain;
	int64_t checked_us;
	int found = find_own_domain(op, arg, &domain, err);

	if (found <= 0)
		return found; /* run() reports a missing domain */
	found = op_domain_dns_when(op->db, &domain, &checked_us, err);
	if (found == 0 && (checked_us <= op->now_us - LOOK_EVERY_US || checked_us > op->now_us)) {
		_cleanup_(dns) struct dns *dns = dns_view_resolver(op->conf);

		if (dns) {
			op->view = dns_view_new(op->conf);
			dns_limit(dns, LOOK_MS);
			op->looked_up = op_domain_dns_look(
				op->db, op->conf, op->view, dns, &domain, err);
		} else {
			err_set(err, ERR_TEMPORARY, "the DNS cannot be asked now");
		}
		found = op->looked_up ? 0 : -1;
	}
	store_domain_clear(&domain);
	return found;
}

/* Activates the domain of the company that asks, if it may do so and no domain of another company
 * has the name or covers it. */
static int verify_domain(struct op *op, const void *arg, struct err *err)
{
	int64_t activation = op->conf->http.domain_activation;
	struct err why = ERR_INIT;
	struct domain *domain;
	int found = get_domain(op, arg, err), covered;

	if (found <= 0)
		return found;
	domain = op->result.rows.items;
	if (op->looked_up && op_domain_dns_keep(op->db, domain, op->looked_up, op->now_us, err) < 0)
		return -1;
	if (!domain->pending || postconf_names_have(op->conf->milter.local_domains, domain->name) ||
		(activation != ACTIVATION_COMPANY &&
			(activation != ACTIVATION_DNS ||
				!op_domain_dns_proves(op->looked_up, domain))))
		return 1;
	covered = store_domain_is_covered(op->db, domain, err);
	if (covered != 0)
		return covered < 0 ? -1 : 1;
	domain->active = true;
	domain->pending = false;
	if (db_savepoint(op->db, err) < 0)
		return -1;
	if (store_domain_change(op->db, domain, &why) >= 0)
		return db_release(op->db, err) < 0 || check_limit(op, domain, err) < 0 ? -1 : 1;
	if (why.code != ERR_EXISTS)
		return err_copy(err, &why);
	db_undo(op->db);
	return 1;
}

static int verify_and_show(struct op *op, const void *arg, struct err *err)
{
	int found = verify_domain(op, arg, err);

	if (found <= 0)
		return found;
	return op_domain_dns_add(op, op->result.rows.items, err) < 0 ? -1 : 1;
}

static int remove_step(struct op *op, const void *arg, struct err *err)
{
	const struct domain *domain;
	int64_t keys;
	int found;

	/* Keys are counted before the first step. */
	if (op->result.type == NULL) {
		found = get_domain(op, arg, err);
		if (found <= 0)
			return found;
		domain = op->result.rows.items;
		if (store_key_count(op->db, domain->company_id, domain->id, &keys, err) < 0)
			return -1;
		json_object_set_new(op_more(op), "removed", json_true());
		json_object_set_new(op_more(op), "keys", json_integer(keys));
	}
	domain = op->result.rows.items;
	/* Otherwise a company could remove a deactivated domain, request it again, and activate it
	 * itself. */
	if (op->company_id && !domain->active && !domain->pending)
		return err_set(err, ERR_DENIED,
			"the %s domain was deactivated by the operator and cannot be removed",
			domain->name);
	return store_domain_remove(op->db, domain->id, err);
}

#define INPUT sizeof(struct op_domain)

const struct operation op_domain_add = {add_fields, INPUT, .check = add_check, .run = add_domain};
const struct operation op_domain_list = {
	list_fields, INPUT, .list = OP_SEARCH, .run = list_domains};
const struct operation op_domain_list_newest = {.list = OP_BACKWARDS, .run = list_newest};
const struct operation op_domain_get = {.run = get_domain};
const struct operation op_domain_update = {
	update_fields, INPUT, .check = update_check, .run = update_domain};
const struct operation op_domain_show = {company_fields, INPUT, .run = show_domain};
const struct operation op_domain_verify = {
	.check = verify_check, .asks_dns = true, .run = verify_domain};
const struct operation op_domain_verify_shown = {
	.check = verify_check, .asks_dns = true, .run = verify_and_show};
const struct operation op_domain_remove = {company_fields, INPUT, .run = remove_step};
