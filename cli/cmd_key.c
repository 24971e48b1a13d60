/*
 * cmd_key: API keys.
 */
#include "cli/cmd.h"
#include "core/ops/op_key.h"

#define COLUMNS                                                                                    \
	{"id", "ID", .type = COLUMN_TEXT}, {"company_id", "COMPANY", COLUMN_TEXT, .spare = 2},     \
		{"domain", "DOMAIN", .type = COLUMN_TEXT},                                         \
		{"name", "NAME", .type = COLUMN_TEXT, .width = 40},                                \
		{"scopes", "SCOPES", COLUMN_LIST, .spare = 3},                                     \
	{                                                                                          \
		"created_at", "CREATED", COLUMN_TIME, .spare = 1                                   \
	}

static const struct column columns[] = {
	COLUMNS,
	{"last_used_at", "LAST USED", COLUMN_TIME, .spare = 4},
	{"revoked_at", "REVOKED", .type = COLUMN_TIME},
	{0},
};

static const struct column created_columns[] = {COLUMNS, {"token", "TOKEN", .type = COLUMN_TEXT},
	{"smtp_host", "SMTP HOST", .type = COLUMN_TEXT},
	{"smtp_port", "SMTP PORT", .type = COLUMN_INT},
	{"smtp_security", "SMTP SECURITY", .type = COLUMN_TEXT},
	{"smtp_user", "SMTP USER", .type = COLUMN_TEXT}, {0}};

const struct verb cmd_key_create = {
	.noun = "key",
	.name = "create",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = created_columns,
	.options = {{OPTION_COMPANY, true, "The company that it belongs to."},
		{OPTION_NAME, true, "What people call it."},
		{OPTION_SCOPE, false,
			"What it may do: sending, reading, managing, with commas between. Who may "
			"manage may create keys over HTTP with any scope, also those that it "
			"lacks. Without this, sending and reading."},
		{OPTION_DOMAIN, false,
			"Restrict it to this domain of the company. The key is removed with the "
			"domain."}},
	.help = "Creates an API key and prints its token, once: only a hash of it is "
		"stored. Over SMTP the token is the password; where programs log in is told when "
		"the setting auth.url says so.",
	.operation = &op_key_create,
	.note = "\nThe token is shown only now: it is not stored.",
};

const struct verb cmd_key_list = {
	.noun = "key",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the keys, newest first, with the revoked ones. When a key was last "
		"used is kept to the minute or so.",
	.operation = &op_key_list,
};

const struct verb cmd_key_revoke = {
	.noun = "key",
	.name = "revoke",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Makes a key invalid, at once and for good. What it sent and Postfix has "
		"not yet passed on to the milter is refused.",
	.operation = &op_key_revoke,
	.note = "key {id} ({name}) revoked",
};

static const struct column revoked_columns[] = {
	{"revoked", "REVOKED", .type = COLUMN_INT},
	{0},
};

const struct verb cmd_key_revoke_all = {
	.noun = "key",
	.name = "revoke",
	.variant = true,
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = revoked_columns,
	.options = {{OPTION_COMPANY, true, "All valid keys of this company, in the place of one."},
		{OPTION_DOMAIN, false, "Only those that are restricted to this domain."}},
	.help = "With a company and no id, makes all of its keys invalid, at once and for good, as "
		"after a leak.",
	.operation = &op_key_revoke_all,
	.note = "{revoked} keys revoked",
};
