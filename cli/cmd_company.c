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

const struct verb cmd_company_add = {
	.noun = "company",
	.name = "add",
	.argument = "NAME",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.help = "Adds a company and prints its id. No two companies have the same name.",
	.operation = &op_company_add,
	.argument_is = "name",
};

static const struct column shown_columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT},
	{"domains", "DOMAINS", .type = COLUMN_INT},
	{"keys", "KEYS", .type = COLUMN_INT},
	{"created_at", "CREATED", .type = COLUMN_TIME},
	{0},
};

const struct verb cmd_company_show = {
	.noun = "company",
	.name = "show",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_RECORD,
	.columns = shown_columns,
	.help = "Shows a company, with how many domains and valid keys it has; 1000 stands for as "
		"many or more.",
	.operation = &op_company_get,
};

const struct verb cmd_company_list = {
	.noun = "company",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.help = "Lists all companies, by name.",
	.operation = &op_company_list,
};

const struct verb cmd_company_remove = {
	.noun = "company",
	.name = "remove",
	.argument = "ID",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.help = "Removes a company with its domains, keys and users, and cancels its emails that "
		"wait. Its emails stay on record. It takes small steps, so that emails are sent "
		"meanwhile; interrupted, it is to be run again.",
	.operation = &op_company_remove,
	.note = "company {id} ({name}) removed, with its domains ({domains}) and keys ({keys})",
};
