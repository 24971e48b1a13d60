/*
 * op_exemption: who may send as an exclusive domain without a key.
 */
#include "core/ops/op_exemption.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/policy/suggest.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"

enum { AT_ONCE_MAX = 200 };

#define DOMAIN_FIELD                                                                               \
	{                                                                                          \
		OP_FIELD(op_exemption, domain, OP_TEXT), .required = true                          \
	}
#define WHO_FIELDS                                                                                 \
	{OP_FIELD(op_exemption, kind, OP_TEXT), .required = true},                                 \
		{OP_FIELD(op_exemption, value, OP_TEXT), .required = true},                        \
	{                                                                                          \
		OP_FIELD(op_exemption, local, OP_FLAG)                                             \
	}

static const struct op_field item_fields[] = {WHO_FIELDS, {0}};
static const struct op_field add_fields[] = {DOMAIN_FIELD, WHO_FIELDS, {0}};
static const struct op_field add_all_fields[] = {
	DOMAIN_FIELD,
	{OP_FIELD(op_exemption, exemptions, OP_ITEMS), .required = true, .max = AT_ONCE_MAX,
		.fields = item_fields, .size = sizeof(struct op_exemption)},
	{0},
};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_exemption, company_id, OP_ID)},
	{OP_FIELD(op_exemption, domain, OP_TEXT)},
	{0},
};
static const struct op_field suggest_fields[] = {DOMAIN_FIELD, {0}};

/* An exemption in the form of the store; owns its strings. */
struct owned_spec {
	struct exemption_spec spec;
	char *domain;
	char *address;
};

static void owned_spec_clear(struct owned_spec *owned)
{
	free(owned->domain);
	free(owned->address);
}
#define _cleanup_owned_spec_ __attribute__((cleanup(owned_spec_clear)))

/* Converts the input. The caller clears owned, also after a failure. Returns 0 or -1. */
static int read_spec(const struct op *op, const char *domain, const struct op_exemption *input,
	struct owned_spec *owned, struct err *err)
{
	struct exemption_spec *spec = &owned->spec;
	_cleanup_addr_ struct addr addr = {0};
	struct err why = ERR_INIT;

	*owned = (struct owned_spec){
		.spec = {.value = input->value, .local = input->local == OP_YES}};
	while (spec->kind < EXEMPTION_KINDS &&
		!str_eq(input->kind, store_exemption_kind_name(spec->kind)))
		spec->kind++;
	if (spec->kind == EXEMPTION_KINDS)
		return op_refuse(op, err, "kind", "is one of login, client, sender, not \"%s\"",
			input->kind);
	if (spec->local && spec->kind != EXEMPT_SENDER)
		return op_refuse(op, err, "local",
			"goes with %s: logins and clients name a place already",
			op->actor == OP_COMMAND ? "--sender" : "a sender");
	if (addr_domain_normalize(domain, &owned->domain, err) < 0)
		return -1;
	spec->domain = owned->domain;
	if (spec->kind != EXEMPT_SENDER)
		return 0;
	/* As in the store: without a display name, the domain normalized. */
	if (addr_parse(input->value, &addr, &why) < 0)
		return op_refuse(op, err,
			op->actor == OP_COMMAND ? store_exemption_kind_name(spec->kind) : "value",
			"is no address: %s", why.text);
	spec->value = owned->address = addr_spec(&addr);
	return 0;
}

static int add_given(const struct op *op, const char *domain, const struct op_exemption *input,
	struct exemption *exemption_r, struct err *err)
{
	_cleanup_owned_spec_ struct owned_spec owned;

	return read_spec(op, domain, input, &owned, err) < 0 ||
			       store_exemption_add(
				       op->db, &owned.spec, op->now_us, exemption_r, err) < 0
		       ? -1
		       : 0;
}

static int add_exemption(struct op *op, const void *arg, struct err *err)
{
	const struct op_exemption *input = arg;
	struct exemption exemption;

	if (add_given(op, input->domain, input, &exemption, err) < 0)
		return -1;
	op_give(op, &store_exemption_type, &exemption);
	return op_check_limit(op, LIMIT_EXEMPTIONS, exemption.company_id, err) < 0 ? -1 : 1;
}

/* Returns 1, or 0 if there is such an exemption already. */
static int add_new(struct op *op, const char *domain, const struct op_exemption *input,
	struct exemption *exemption_r, struct err *err)
{
	struct err why = ERR_INIT;

	if (db_savepoint(op->db, err) < 0)
		return -1;
	if (add_given(op, domain, input, exemption_r, &why) == 0) {
		if (db_release(op->db, err) == 0)
			return 1;
		store_exemption_clear(exemption_r);
		return -1;
	}
	if (why.code != ERR_EXISTS)
		return err_copy(err, &why);
	db_undo(op->db);
	return 0;
}

static int add_all(struct op *op, const void *arg, struct err *err)
{
	static const struct page_end end = {0};
	const struct op_exemption *input = arg, *items = input->exemptions.items;
	struct exemption *added = NULL;
	size_t n = 0;

	for (size_t i = 0; i < input->exemptions.n; i++) {
		int made;

		added = mem_append(added, n, sizeof(*added));
		op_give_page(op, &store_exemption_type, added, n, &end);
		made = add_new(op, input->domain, &items[i], &added[n], err);
		if (made < 0)
			return err_prefix(err, "exemptions[%zu]", i);
		n += (size_t)made;
	}
	op_give_page(op, &store_exemption_type, added, n, &end);
	return n > 0 && op_check_limit(op, LIMIT_EXEMPTIONS, added[0].company_id, err) < 0 ? -1 : 1;
}

/* Finds the registered domain of the name, if it is visible; the command gets an error if it does
 * not exist. Returns 1, 0 if there is none, -1 on error. */
static int find_domain(
	const struct op *op, const char *given, struct domain *domain_r, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	int found;

	if (addr_domain_normalize(given, &name, err) < 0)
		return -1;
	found = store_domain_find_of(op->db, op->company_id, name, domain_r, err);
	if (found == 0 && op->actor == OP_COMMAND)
		return err_set(err, ERR_NOT_FOUND, "there is no domain %s", name);
	return found;
}

static int list_exemptions(struct op *op, const void *arg, struct err *err)
{
	const struct op_exemption *input = arg;
	struct exemption_list exemptions = {0};
	struct domain domain = {0};
	struct page_end end = {0};
	int found = input->domain ? find_domain(op, input->domain, &domain, err) : 1;

	if (found > 0)
		found = store_exemption_list(op->db, op_company_of(op, input->company_id),
			domain.name, &op->page, &exemptions, &end, err);
	else if (found == 0)
		found = 1; /* a missing domain has no exemptions */
	if (found > 0)
		op_give_page(op, &store_exemption_type, exemptions.items, exemptions.n, &end);
	store_domain_clear(&domain);
	return found;
}

static int remove_one(struct op *op, const void *arg, struct err *err)
{
	const struct op_exemption *input = arg;
	_cleanup_owned_spec_ struct owned_spec owned = {0};
	char id[ID_SIZE];
	int found;

	memcpy(id, op->id, ID_SIZE);
	/* The command may give the domain, the kind and the value in the place of an id. */
	if (input && input->kind) {
		if (read_spec(op, op->object, input, &owned, err) < 0)
			return -1;
		found = store_exemption_find(op->db, &owned.spec, id, err);
		if (found == 0)
			return err_set(err, ERR_NOT_FOUND, "the %s %s is not exempt for %s",
				store_exemption_kind_name(owned.spec.kind), owned.spec.value,
				owned.spec.domain);
		if (found < 0)
			return -1;
	}
	json_object_set_new(op_more(op), "id", json_string(id));
	json_object_set_new(op_more(op), "removed", json_true());
	return store_exemption_remove(op->db, id, err);
}

static int suggest(struct op *op, const void *arg, struct err *err)
{
	static const struct page_end end = {0};
	const struct op_exemption *input = arg;
	struct suggest_list list = {0};
	struct domain domain;
	int found = find_domain(op, input->domain, &domain, err);

	if (found <= 0)
		return found;
	if (suggest_read(op->db, &domain, &list, err) < 0)
		found = -1;
	op_give_page(op, &suggestion_type, list.items, list.n, &end);
	json_object_update_new(
		op_more(op), json_pack("{s:s, s:s, s:I}", "domain", domain.name, "policy",
				     store_domain_policy_name(domain.policy), "hopeless",
				     (json_int_t)list.hopeless));
	store_domain_clear(&domain);
	return found;
}

#define INPUT sizeof(struct op_exemption)

const struct operation op_exemption_add = {add_fields, INPUT, .run = add_exemption};
const struct operation op_exemption_add_all = {
	add_all_fields, INPUT, .list = OP_WHOLE, .run = add_all};
const struct operation op_exemption_list = {
	list_fields, INPUT, .list = OP_SEARCH, .run = list_exemptions};
const struct operation op_exemption_remove = {.size = INPUT, .run = remove_one};
const struct operation op_exemption_suggest = {
	suggest_fields, INPUT, .list = OP_WHOLE, .run = suggest};
