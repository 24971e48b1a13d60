/*
 * cmd_suppression: suppressed addresses of a company.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/ops/op_suppression.h"

static const struct column columns[] = {
	{"id", "ID", COLUMN_TEXT, .spare = 2},
	{"address", "ADDRESS", .type = COLUMN_TEXT},
	{"reason", "REASON", .type = COLUMN_TEXT},
	{"domain", "DOMAIN", .type = COLUMN_TEXT},
	{"company_id", NULL, .type = COLUMN_TEXT},
	{"company_name", "COMPANY", COLUMN_TEXT, .spare = 1},
	{"email_id", NULL, .type = COLUMN_TEXT},
	{"code", NULL, .type = COLUMN_TEXT},
	{"text", "WHY", COLUMN_TEXT, .width = 60, .spare = 3},
	{"created_at", "SINCE", .type = COLUMN_TIME},
	{0},
};

static const struct column removed_columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"address", NULL, .type = COLUMN_TEXT},
	{"removed", "REMOVED", .type = COLUMN_FLAG},
	{0},
};

#define DOMAIN_HELP "Only what is sent as this domain. Without it, all that the company sends."

const struct verb cmd_suppression_add = {
	.noun = "suppression",
	.name = "add",
	.argument = "ADDRESS",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.options = {{OPTION_COMPANY, true, "Whose emails."}, {OPTION_DOMAIN, false, DOMAIN_HELP},
		{OPTION_REASON, false,
			"Why: bounce, complaint, unsubscribe or manual, which it is without this."},
		{OPTION_TEXT, false, "A note for people."}},
	.help = "Suppresses an address: emails of the company are not sent to it. They are "
		"accepted, and their status for that recipient is suppressed. Letter case makes "
		"no other address; what is behind a + does. It holds for the next email that "
		"goes out.",
	.operation = &op_suppression_add,
	.argument_is = "address",
};

const struct verb cmd_suppression_list = {
	.noun = "suppression",
	.name = "list",
	.argument = "[ADDRESS]",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only of this company."},
		{OPTION_DOMAIN, false,
			"Only what holds for this domain, what holds for all of them included."},
		{OPTION_ORIGIN, false,
			"Only these: bounce, complaint, or manual for all that was not found out "
			"from mail."},
		{OPTION_LIMIT, false, "So many, 50 without this."}},
	.help = "Lists suppressed addresses, the newest first. With an address, the entry that "
		"counts for it.",
	.operation = &op_suppression_list,
	.argument_is = "address",
	.limit = 50,
	.limit_max = 10000000,
};

const struct verb cmd_suppression_remove = {
	.noun = "suppression",
	.name = "remove",
	.argument = "ADDRESS",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = removed_columns,
	.options = {{OPTION_COMPANY, false, "Whose emails; with an address it is required."},
		{OPTION_DOMAIN, false,
			"Only what holds for this domain. Without it, all entries of the company "
			"for the address."},
		{OPTION_REASON, false, "Only for this reason."}},
	.help = "Sends to the address again, from the next email on. In its place there may be "
		"the id of an entry, to remove that one alone.",
	.operation = &op_suppression_remove,
	.note = "{address} is not suppressed any more",
};
