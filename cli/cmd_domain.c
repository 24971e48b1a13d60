/*
 * cmd_domain: sending domains.
 */
#include "cli/arguments.h"
#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain.h"

static const struct column columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"company_id", "COMPANY", COLUMN_TEXT, .spare = 2},
	{"active", "ACTIVE", .type = COLUMN_FLAG},
	{"pending", "ASKED FOR", .type = COLUMN_FLAG},
	{"policy", "POLICY", .type = COLUMN_TEXT},
	{"subdomains", "SUBDOMAINS", .type = COLUMN_TEXT},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
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

/* Where only the admin can say the policy, and there is one at the terminal, asks for it. */
static int prepare_add(struct arguments *arguments, const struct conf *conf, struct err *err)
{
	const struct op op = {.conf = conf, .actor = OP_COMMAND};
	_cleanup_free_ char *name = NULL, *question = NULL;
	int doubtful;

	if (arguments->values[OPTION_POLICY] || arguments->json || !ask_is_possible() ||
		addr_domain_normalize(arguments->argument, &name, NULL) < 0)
		return 0;
	doubtful = op_domain_doubt(&op, name, &question, err);
	if (doubtful > 0)
		arguments->values[OPTION_POLICY] = ask_choice(
			question, op_domain_answers, OP_DOMAIN_ANSWERS);
	return doubtful < 0 ? -1 : 0;
}

static struct op_domain read_domain(const struct call *call, enum op_flag active)
{
	return (struct op_domain){.company_id = call_option(call, OPTION_COMPANY),
		.name = call_argument(call),
		.active = active,
		.policy = call_option(call, OPTION_POLICY),
		.subdomains = call_option(call, OPTION_SUBDOMAINS)};
}

static int check_add(const struct call *call, struct err *err)
{
	const struct op_domain input = read_domain(call, OP_NOT_GIVEN);

	return call_check(call, &op_domain_add, &input, err);
}

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	const bool inactive = call_option(call, OPTION_INACTIVE) != NULL;
	const struct op_domain input = read_domain(call, inactive ? OP_NO : OP_NOT_GIVEN);
	char company_id[ID_SIZE];

	return call_id_option(call, OPTION_COMPANY, company_id, err) < 0
		       ? -1
		       : call_operate(call, &op_domain_add, &input, report, NULL, err);
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	const struct op_domain input = read_domain(call, OP_NOT_GIVEN);
	char company_id[ID_SIZE];

	return call_company_option(call, company_id, err) < 0
		       ? -1
		       : call_list(call, &op_domain_list, &input, report, err);
}

/* Changes what the options say. */
static int update(const struct call *call, enum op_flag active, struct report *report,
	json_t **made_r, struct err *err)
{
	const struct op_domain input = read_domain(call, active);
	char company_id[ID_SIZE];

	return call_id_option(call, OPTION_COMPANY, company_id, err) < 0
		       ? -1
		       : call_operate(call, &op_domain_update, &input, report, made_r, err);
}

static int run_set(const struct call *call, struct report *report, struct err *err)
{
	json_t *made;

	if (call_option(call, OPTION_POLICY) == NULL &&
		call_option(call, OPTION_SUBDOMAINS) == NULL)
		return err_set(err, ERR_INVALID, "give --policy, --subdomains or both");
	if (update(call, OP_NOT_GIVEN, report, &made, err) < 0)
		return -1;
	report_note(report, "domain %s is %s, its subdomains are %s", text_of(made, "name"),
		text_of(made, "policy"),
		str_eq(text_of(made, "subdomains"), "covered") ? "covered" : "not covered");
	json_decref(made);
	return 0;
}

static int set_active(
	const struct call *call, enum op_flag active, struct report *report, struct err *err)
{
	json_t *made;

	if (update(call, active, report, &made, err) < 0)
		return -1;
	report_note(report, "domain %s is %s for sending", text_of(made, "name"),
		active == OP_YES ? "active" : "not active");
	json_decref(made);
	return 0;
}

static int check_activate(const struct call *call, struct err *err)
{
	const struct op_domain input = read_domain(call, OP_YES);

	return call_check(call, &op_domain_update, &input, err);
}

static int run_activate(const struct call *call, struct report *report, struct err *err)
{
	return set_active(call, OP_YES, report, err);
}

static int run_deactivate(const struct call *call, struct report *report, struct err *err)
{
	return set_active(call, OP_NO, report, err);
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	const struct op_domain input = read_domain(call, OP_NOT_GIVEN);
	char company_id[ID_SIZE];
	json_t *made;

	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0 ||
		call_operate(call, &op_domain_remove, &input, report, &made, err) < 0)
		return -1;
	report_note(report,
		"domain %s removed, with the keys restricted to it (%" JSON_INTEGER_FORMAT ")",
		text_of(made, "name"), json_integer_value(json_object_get(made, "keys")));
	json_decref(made);
	return 0;
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
	.prepare = prepare_add,
	.check = check_add,
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
