/*
 * cmd_domain: sending domains.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/verbs.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/address/addr.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"
#include "core/store/store_audit.h"
#include "core/store/store_domain.h"
#include "core/store/store_key.h"

/* The options --policy and --subdomains. */

static int read_policy(const struct call *call, enum domain_policy *policy_r, struct err *err)
{
	const char *word = call_option(call, OPTION_POLICY);

	if (word == NULL || store_domain_policy_parse(word, policy_r))
		return 0;
	return err_set(
		err, ERR_INVALID, "--policy is one of exclusive, learn, shared, not \"%s\"", word);
}

static int read_subdomains(const struct call *call, bool *covered_r, struct err *err)
{
	const char *word = call_option(call, OPTION_SUBDOMAINS);

	if (word == NULL || store_domain_subdomains_parse(word, covered_r))
		return 0;
	return err_set(err, ERR_INVALID, "--subdomains is one of own, covered, not \"%s\"", word);
}

/* Sets what the options say in the domain, not in the store. 0 or -1. */
static int domain_rules_read(const struct call *call, struct domain *domain, struct err *err)
{
	if (read_policy(call, &domain->policy, err) < 0 ||
		read_subdomains(call, &domain->covers_subdomains, err) < 0)
		return -1;
	return 0;
}

/* Why nobody but the admin can say what is meant, as a question in *question_r,
 * a new string: 1, or 0 when the domain is not Postfix's, or -1. */
static int doubt(const struct conf *conf, const char *name, char **question_r, struct err *err)
{
	const char *where = NULL;
	int found = postconf_has_domain(conf->submission.postfix_config, name, &where, err);

	if (found < 0)
		return err_prefix(err,
			"cannot tell whether Postfix has %s (say --policy to go on without)", name);
	if (found == 1)
		*question_r = mem_printf(
			"This Postfix has %s in %s, so people and programs here may be sending as "
			"it without a key. Which policy: learn (stop nobody, record what would be "
			"stopped), exclusive (stop all who are not exempt) or shared (stop "
			"nobody)?",
			name, where);
	return found;
}

/* Before a domain is added: asks for the policy where it has to be said, or
 * fails with ERR_INVALID when there is nobody to ask. */
static int domain_rules_prepare(
	struct arguments *arguments, const struct conf *conf, struct err *err)
{
	static const char *const words[] = {"learn", "exclusive", "shared"};
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *question = NULL;
	int doubtful;

	if (arguments->values[OPTION_POLICY] ||
		addr_domain_normalize(arguments->argument, &name, NULL) < 0)
		return 0;
	doubtful = doubt(conf, name, &question, err);
	if (doubtful <= 0)
		return doubtful;
	if (!arguments->json && ask_is_possible())
		arguments->values[OPTION_POLICY] = ask_choice(question, words, ARRAY_SIZE(words));
	if (arguments->values[OPTION_POLICY])
		return 0;
	return err_set(err, ERR_INVALID, "%s Say it with --policy.", question);
}

/* The same for one that a company asked for and that begins to count now;
 * nobody is asked. */
static int domain_rules_check(const struct call *call, const struct domain *domain, struct err *err)
{
	_cleanup_free_ char *question = NULL;
	int doubtful;

	if (!domain->pending || call_option(call, OPTION_POLICY))
		return 0;
	doubtful = doubt(call->conf, domain->name, &question, err);
	if (doubtful <= 0)
		return doubtful;
	return err_set(err, ERR_INVALID, "%s Say it with --policy.", question);
}

static void fill_policy(struct report *report, size_t column, const void *item)
{
	const struct domain *domain = item;

	report_text(report, column, store_domain_policy_name(domain->policy));
}

static void fill_subdomains(struct report *report, size_t column, const void *item)
{
	const struct domain *domain = item;

	report_text(report, column, store_domain_subdomains_name(domain->covers_subdomains));
}

static const struct column columns[] = {
	{"id", NULL, COLUMN_TEXT, COLUMN_OF(domain, id)},
	{"name", "NAME", COLUMN_TEXT, COLUMN_OF(domain, name)},
	{"company_id", "COMPANY", COLUMN_TEXT, .spare = 2, COLUMN_OF(domain, company_id)},
	{"active", "ACTIVE", COLUMN_FLAG, COLUMN_OF(domain, active)},
	{"pending", "ASKED FOR", COLUMN_FLAG, COLUMN_OF(domain, pending)},
	{"policy", "POLICY", COLUMN_TEXT, .fill = fill_policy},
	{"subdomains", "SUBDOMAINS", COLUMN_TEXT, .fill = fill_subdomains},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1, COLUMN_OF(domain, created_us)},
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

enum { REMOVED_ID, REMOVED_NAME, REMOVED, REMOVED_KEYS };

static const struct column removed_columns[] = {
	[REMOVED_ID] = {"id", NULL, .type = COLUMN_TEXT},
	[REMOVED_NAME] = {"name", "NAME", .type = COLUMN_TEXT},
	[REMOVED] = {"removed", "REMOVED", .type = COLUMN_FLAG},
	[REMOVED_KEYS] = {"keys", "KEYS", .type = COLUMN_INT},
	{0},
};

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	char company_id[ID_SIZE];
	struct domain wanted = {.active = call_option(call, OPTION_INACTIVE) == NULL};
	struct domain domain;

	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0 ||
		addr_domain_normalize(call_argument(call), &name, err) < 0 ||
		domain_rules_read(call, &wanted, err) < 0 ||
		store_domain_add_with(
			call->db, company_id, name, &wanted, call->now_us, &domain, err) < 0)
		return -1;
	report_add(report, &domain);
	store_domain_clear(&domain);
	return 0;
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	char company_id[ID_SIZE];
	struct domain_list domains;

	if (call_company_option(call, company_id, err) < 0)
		return -1;
	while (end.more) {
		if (store_domain_list(call->db, *company_id ? company_id : NULL, &page, &domains,
			    &end, err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < domains.n; i++) {
			report_add(report, &domains.items[i]);
			memcpy(page.after, domains.items[i].id, ID_SIZE);
		}
		store_domain_list_free(&domains);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

/* The registered domain of the name or, with --company, what that company has
 * of it; ERR_NOT_FOUND when there is none. */
static int find(const struct call *call, struct domain *domain_r, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	char company_id[ID_SIZE];
	int found;

	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0 ||
		addr_domain_normalize(call_argument(call), &name, err) < 0)
		return -1;
	found = *company_id ? store_domain_find_own(call->db, company_id, name, domain_r, err)
			    : store_domain_find(call->db, name, domain_r, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND,
			"there is no domain %s (one that a company only asked for %s)", name,
			verbs_takes(call->arguments->verb, OPTION_COMPANY)
				? "needs --company"
				: "has to be activated first");
	return 0;
}

static int run_set(const struct call *call, struct report *report, struct err *err)
{
	struct domain domain;
	int result;

	if (call_option(call, OPTION_POLICY) == NULL &&
		call_option(call, OPTION_SUBDOMAINS) == NULL)
		return err_set(err, ERR_INVALID, "give --policy, --subdomains or both");
	if (find(call, &domain, err) < 0)
		return -1;
	result = domain_rules_read(call, &domain, err);
	if (result == 0)
		result = store_domain_change(call->db, &domain, err);
	if (result >= 0) {
		report_add(report, &domain);
		report_note(report, "domain %s is %s, its subdomains are %s", domain.name,
			store_domain_policy_name(domain.policy),
			domain.covers_subdomains ? "covered" : "not covered");
	}
	store_domain_clear(&domain);
	return result < 0 ? -1 : 0;
}

static int check_activate(const struct call *call, struct err *err)
{
	struct domain domain;
	int result;

	if (find(call, &domain, err) < 0)
		return -1;
	result = domain_rules_check(call, &domain, err);
	store_domain_clear(&domain);
	return result;
}

static int set_active(const struct call *call, bool active, struct report *report, struct err *err)
{
	struct domain domain;
	int result;

	if (find(call, &domain, err) < 0)
		return -1;
	if (!active && domain.pending)
		result = err_set(err, ERR_INVALID,
			"the company only asked for domain %s: it is not active (postern domain "
			"remove takes it away)",
			domain.name);
	else
		result = domain_rules_read(call, &domain, err);
	domain.active = active;
	domain.pending = false;
	if (result == 0)
		result = store_domain_change(call->db, &domain, err);
	if (result >= 0) {
		report_add(report, &domain);
		report_note(report, "domain %s is %s for sending", domain.name,
			active ? "active" : "not active");
	}
	store_domain_clear(&domain);
	return result < 0 ? -1 : 0;
}

static int run_activate(const struct call *call, struct report *report, struct err *err)
{
	return set_active(call, true, report, err);
}

static int run_deactivate(const struct call *call, struct report *report, struct err *err)
{
	return set_active(call, false, report, err);
}

static int remove_one(
	struct db *db, const struct domain *domain, struct report *report, struct err *err)
{
	int64_t keys;
	int removed;

	if (store_key_count(db, domain->company_id, domain->id, &keys, err) < 0)
		return -1;
	while ((removed = store_domain_remove(db, domain->id, err)) == STORE_MORE)
		call_pause();
	if (removed < 0)
		return -1;
	report_add_row(report);
	report_text(report, REMOVED_ID, domain->id);
	report_text(report, REMOVED_NAME, domain->name);
	report_number(report, REMOVED, true);
	report_number(report, REMOVED_KEYS, keys);
	report_note(report, "domain %s removed, with the keys restricted to it (%lld)",
		domain->name, (long long)keys);
	return 0;
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	struct domain domain;
	int result;

	if (find(call, &domain, err) < 0)
		return -1;
	result = remove_one(call->db, &domain, report, err);
	store_domain_clear(&domain);
	return result;
}

const struct verb cmd_domain_add = {
	.noun = "domain",
	.name = "add",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.options = {{OPTION_COMPANY, true, "The company that owns it."},
		{OPTION_INACTIVE, false, "Do not yet let the company send with it."},
		{OPTION_POLICY, false,
			POLICY_HELP " Without this, exclusive; but for a "
				    "domain that is one of Postfix's own it has to be "
				    "said."},
		{OPTION_SUBDOMAINS, false, SUBDOMAINS_HELP " Without this, own."}},
	.help = "Registers a sending domain, active at once. From then on only its company "
		"sends with it through this Postfix, unless the policy says otherwise. A "
		"domain belongs to one company at most.",
	.prepare = domain_rules_prepare,
	.run = run_add,
};

const struct verb cmd_domain_set = {
	.noun = "domain",
	.name = "set",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_POLICY, false, POLICY_HELP},
		{OPTION_SUBDOMAINS, false, SUBDOMAINS_HELP}},
	.help = "Changes what holds for mail that uses the domain without a key, at once.",
	.run = run_set,
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
	.check = check_activate,
	.run = run_activate,
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
	.run = run_deactivate,
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
	.run = run_list,
};

const struct verb cmd_domain_remove = {
	.noun = "domain",
	.name = "remove",
	.argument = "NAME",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.options = {{OPTION_COMPANY, false, COMPANY_HELP}},
	.help = "Removes a domain with the keys that are restricted to it. Mail that uses "
		"it is no longer checked. It takes small steps, so that emails are sent "
		"meanwhile; interrupted, it is to be run again.",
	.run = run_remove,
};
