/*
 * cmd_domain: sending domains.
 */
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_domain_dns.h"
#include "core/store/company/store_dkim.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"

enum { KEYS_TOLD = 10 };

static const struct column columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"company_id", "COMPANY", COLUMN_TEXT, .spare = 2},
	{"active", "ACTIVE", .type = COLUMN_FLAG},
	{"pending", "ASKED FOR", .type = COLUMN_FLAG},
	{"policy", "POLICY", .type = COLUMN_TEXT},
	{"subdomains", "SUBDOMAINS", .type = COLUMN_TEXT},
	{"return_path", "RETURN PATH", COLUMN_TEXT, .spare = 3},
	{"unsubscribe", "UNSUBSCRIBE", COLUMN_TEXT, .spare = 4},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{0},
};

enum { DNS_RECORDS = 10 };
static const struct column dns_columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"company_id", "COMPANY", .type = COLUMN_TEXT},
	{"active", "ACTIVE", .type = COLUMN_FLAG},
	{"pending", "ASKED FOR", .type = COLUMN_FLAG},
	{"policy", "POLICY", .type = COLUMN_TEXT},
	{"subdomains", "SUBDOMAINS", .type = COLUMN_TEXT},
	{"return_path", "RETURN PATH", .type = COLUMN_TEXT},
	{"unsubscribe", "UNSUBSCRIBE", .type = COLUMN_TEXT},
	{"created_at", "CREATED", .type = COLUMN_TIME},
	[DNS_RECORDS] = {"records", NULL, .type = COLUMN_ROWS},
	{"checked_at", "LOOKED AT", .type = COLUMN_TIME},
	{0},
};

static const struct column removed_columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"removed", "REMOVED", .type = COLUMN_FLAG},
	{"keys", "KEYS", .type = COLUMN_INT},
	{0},
};

#define POLICY_HELP                                                                                \
	"Who else sends as the domain through this Postfix: exclusive, "                           \
	"nobody but who is exempt (postern exempt); learn, everybody, but "                        \
	"mail that exclusive would stop is recorded; shared, everybody."
#define SUBDOMAINS_HELP                                                                            \
	"Which names below the domain the rules hold for: own, none; "                             \
	"covered, all that are not registered themselves."
#define COMPANY_HELP "Whose. Needed for a domain that the company has only asked for."

/* If only the admin can choose the policy, and is at the terminal, asks for it. */
static int prepare_add(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	const struct op op = {.conf = conf, .actor = OP_COMMAND};
	_cleanup_free_ char *name = NULL, *question = NULL;
	int has_question;

	if (arguments->values[OPTION_POLICY] || arguments->json || !ask_is_possible() ||
		addr_domain_normalize(arguments->argument, &name, NULL) < 0)
		return 0;
	has_question = op_domain_question(&op, name, &question, err);
	if (has_question > 0)
		arguments->values[OPTION_POLICY] = ask_choice(
			question, op_domain_answers, OP_DOMAIN_ANSWERS);
	return has_question < 0 ? -1 : 0;
}

/* Adds a note about the valid keys restricted to the domain. Returns their number, or -1. */
static int64_t tell_of_keys(struct db *db, const struct domain *domain, struct err *err)
{
	const struct key_filter filter = {domain->company_id, domain->name, .valid_only = true};
	const struct page page = {.limit = KEYS_TOLD};
	struct key_list keys = {0};
	struct page_end end = {0};
	int found = store_key_list(db, &filter, &page, &keys, &end, err);
	int64_t n = (int64_t)keys.n;

	if (found <= 0)
		return found;
	if (n > 0)
		fprintf(stderr,
			"postern: keys that are restricted to %s go with it, and programs that "
			"have one cannot send any more:\n",
			domain->name);
	for (size_t i = 0; i < keys.n; i++) {
		_cleanup_buf_ struct buf used = BUF_INIT, name = BUF_INIT;

		visible_add(&name, keys.items[i].name);
		if (keys.items[i].last_used_us)
			clock_add(&used, keys.items[i].last_used_us);
		fprintf(stderr, "  %s %s, %s%s\n", keys.items[i].id, buf_str(&name),
			used.len ? "last used " : "never used", buf_str(&used));
		store_key_clear(&keys.items[i]);
	}
	if (end.more)
		fprintf(stderr, "  and more: postern key list\n");
	free(keys.items);
	return n;
}

/* Warns about the keys that are removed with the domain: the programs that use them are not visible
 * in its name. */
static int prepare_remove(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	_cleanup_(db) struct db *db = NULL;
	_cleanup_dkim_keys_ struct dkim_key_list signing = {0};
	_cleanup_free_ char *name = NULL;
	struct domain domain = {0};
	int64_t keys = 0;
	int found;

	/* run() reports what is wrong with the argument. */
	if (addr_domain_normalize(arguments->argument, &name, NULL) < 0 ||
		db_open(conf_store(conf), DB_READ, &db, NULL) < 0)
		return 0;
	found = store_domain_find_named(db, arguments->values[OPTION_COMPANY], name, &domain, NULL);
	if (found > 0)
		keys = tell_of_keys(db, &domain, err);
	/* The signer's files and lines stay, because root owns them. */
	if (found > 0 && store_dkim_list(db, domain.id, &signing, NULL) == 0 && signing.n > 0)
		fprintf(stderr,
			"postern: its keys for signatures (DKIM) stay with the signer, which goes "
			"on signing; once the domain is removed, run: postern dkim disable %s\n",
			domain.name);
	store_domain_clear(&domain);
	if (keys <= 0 || arguments->values[OPTION_YES] || arguments->json || !ask_is_possible())
		return keys < 0 ? -1 : 0;
	return ask_removal("Remove the domain, and them? yes or no", err);
}

static int read_change(const struct call *call, void *input, struct err *err)
{
	(void)input;
	if (call_option(call, OPTION_POLICY) || call_option(call, OPTION_SUBDOMAINS) ||
		call_option(call, OPTION_RETURN_PATH) || call_option(call, OPTION_UNSUBSCRIBE))
		return 0;
	return err_set(
		err, ERR_INVALID, "give --policy, --subdomains, --return-path or --unsubscribe");
}

/* Reports the operation's result and its records. Getting the records asks Postfix, so it happens
 * outside of the transaction. */
static int run_add(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ void *input = NULL;
	json_t *made = NULL;
	struct domain domain;
	int result = -1;

	if (call_check(call, err) < 0 || call_input(call, &input, err) < 0 ||
		db_begin(call->db, err) < 0)
		return -1;
	if (call_operate(call, input, &made, err) < 0 || db_commit(call->db, err) < 0) {
		db_rollback(call->db);
		json_decref(made);
		return -1;
	}
	if (store_domain_get(call->db, NULL, row_json_text(made, "id"), &domain, err) > 0) {
		struct op op = {.db = call->db, .conf = call->conf, .actor = OP_COMMAND};

		result = op_domain_dns_add(&op, &domain, err);
		json_object_update(made, op.result.more);
		op_clear(&op);
		store_domain_clear(&domain);
	}
	report_json(report, made);
	domain_dns_report(made, report, DNS_RECORDS);
	json_decref(made);
	return result;
}

static int run_show(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ void *input = NULL;
	json_t *made;

	if (call_input(call, &input, err) < 0 || call_operate(call, input, &made, err) < 0)
		return -1;
	report_json(report, made);
	domain_dns_report(made, report, DNS_RECORDS);
	json_decref(made);
	return 0;
}

const struct verb cmd_domain_show = {
	.noun = "domain",
	.name = "show",
	.argument = "NAME",
	.access = VERB_READS,
	.shape = VERB_RECORD,
	.columns = dns_columns,
	.options = {{OPTION_COMPANY, false,
		"Whose. Needed for a domain that the company has only asked for."}},
	.help = "Shows a domain, and the records that its DNS is to have: SPF, a DKIM key for each "
		"selector, DMARC. postern domain check looks whether they are there. With "
		"--json, `records` are as its, with what was found when somebody last looked over "
		"HTTP, at `checked_at`.",
	.run = run_show,
	.operation = &op_domain_show,
};

const struct verb cmd_domain_add = {
	.noun = "domain",
	.name = "add",
	.argument = "NAME",
	.access = VERB_STEPS,
	.shape = VERB_RECORD,
	.columns = dns_columns,
	.options = {{OPTION_COMPANY, true, "The company that owns it."},
		{OPTION_INACTIVE, false, "Do not yet let the company send with it."},
		{OPTION_POLICY, false,
			POLICY_HELP " Without this, exclusive; but for a "
				    "domain that is one of Postfix's own it has to be "
				    "said."},
		{OPTION_SUBDOMAINS, false, SUBDOMAINS_HELP " Without this, own."}},
	.help = "Registers a sending domain, active at once. From then on only its company "
		"sends with it through this Postfix, unless the policy says otherwise. A "
		"domain belongs to one company at most. Prints the records that its DNS is to "
		"have.",
	.prepare = prepare_add,
	.run = run_add,
	.operation = &op_domain_add,
	.argument_is = "name",
};

const struct verb cmd_domain_set = {
	.noun = "domain",
	.name = "set",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_POLICY, false, POLICY_HELP},
		{OPTION_SUBDOMAINS, false, SUBDOMAINS_HELP},
		{OPTION_RETURN_PATH, false,
			"Where bounces of its emails come back to, from now on: a domain such as "
			"bounces.example.com, whose mail postern-intake takes (postfix-conf/enable "
			"--returns DOMAIN, which names the records of its DNS); off, to the "
			"senders of the emails."},
		{OPTION_UNSUBSCRIBE, false,
			"on: emails over HTTP with one recipient name a way to unsubscribe (List-Unsubscribe), "
			"by a link of http.url, which is to be https, and by mail to the return "
			"path; who takes it is on the list of suppressed addresses for the domain. "
			"What an email says itself stays. off, as it is without this: they do "
			"not."}},
	.help = "Changes what holds for the mail of a domain, at once.",
	.operation = &op_domain_update,
	.read = read_change,
	.note = "domain {name}: policy {policy}, subdomains {subdomains}, return path {return_path}, "
		"unsubscribe {unsubscribe}",
};

const struct verb cmd_domain_activate = {
	.noun = "domain",
	.name = "activate",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, COMPANY_HELP}, {OPTION_POLICY, false, POLICY_HELP}},
	.help = "Lets the company send with the domain.",
	.operation = &op_domain_update,
	.flag = "active",
	.flag_is = OP_YES,
	.note = "domain {name} is active for sending",
};

const struct verb cmd_domain_deactivate = {
	.noun = "domain",
	.name = "deactivate",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Whose."}},
	.help = "Stops all sending with the domain. It stays registered: nobody else can "
		"send with it either.",
	.operation = &op_domain_update,
	.flag = "active",
	.flag_is = OP_NO,
	.note = "domain {name} is not active for sending",
};

const struct verb cmd_domain_list = {
	.noun = "domain",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the domains, by name, with those that a company asked for over "
		"HTTP: until they are activated they have no effect on mail.",
	.operation = &op_domain_list,
};

const struct verb cmd_domain_remove = {
	.noun = "domain",
	.name = "remove",
	.argument = "NAME",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.options = {{OPTION_COMPANY, false, COMPANY_HELP},
		{OPTION_YES, false, "Do not ask where keys go with it."}},
	.help = "Removes a domain with the keys that are restricted to it, which it names "
		"before, and asks on a terminal. Mail that uses it is no longer checked. It takes small steps, so that emails are sent "
		"meanwhile; interrupted, it is to be run again.",
	.prepare = prepare_remove,
	.operation = &op_domain_remove,
	.note = "domain {name} removed, with the keys restricted to it ({keys})",
};
