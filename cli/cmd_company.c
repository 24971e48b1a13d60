/*
 * cmd_company: companies.
 */
#include "cli/cmd.h"
#include "core/ops/op_company.h"

static const struct column columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT, .width = 60},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{0},
};

static const struct column removed_columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"removed", "REMOVED", .type = COLUMN_FLAG},
	{"domains", "DOMAINS", .type = COLUMN_INT},
	{"keys", "KEYS", .type = COLUMN_INT},
	{0},
};

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	const struct op_company input = {.name = call_argument(call)};

	return call_operate(call, &op_company_add, &input, report, NULL, err);
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	return call_list(call, &op_company_list, NULL, report, err);
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	char id[ID_SIZE];
	json_t *made;

	if (call_id_argument(call, id, err) < 0 ||
		call_operate(call, &op_company_remove, NULL, report, &made, err) < 0)
		return -1;
	report_note(report,
		"company %s (%s) removed, with its domains (%" JSON_INTEGER_FORMAT
		") and keys (%" JSON_INTEGER_FORMAT ")",
		id, text_of(made, "name"), json_integer_value(json_object_get(made, "domains")),
		json_integer_value(json_object_get(made, "keys")));
	json_decref(made);
	return 0;
}

const struct verb cmd_company_add = {
	.noun = "company",
	.name = "add",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.help = "Adds a company and prints its id. No two companies have the same name.",
	.run = run_add,
};

const struct verb cmd_company_list = {
	.noun = "company",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.help = "Lists all companies, by name.",
	.run = run_list,
};

const struct verb cmd_company_remove = {
	.noun = "company",
	.name = "remove",
	.argument = "ID",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.help = "Removes a company with its domains, keys and users. Its emails stay on "
		"record. It takes small steps, so that emails are sent meanwhile; "
		"interrupted, it is to be run again.",
	.run = run_remove,
};
