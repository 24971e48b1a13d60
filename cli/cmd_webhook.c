/*
 * cmd_webhook: endpoints that receive the events of emails.
 */
#include "cli/cmd.h"
#include "core/ops/op_webhook.h"

#define COLUMNS                                                                                    \
	{"id", "ID", .type = COLUMN_TEXT}, {"company_id", "COMPANY", COLUMN_TEXT, .spare = 2},     \
		{"domain", "DOMAIN", COLUMN_TEXT, .spare = 3},                                     \
		{"endpoint", "ENDPOINT", .type = COLUMN_TEXT, .width = 60},                        \
		{"events", "EVENTS", COLUMN_LIST, .spare = 4},                                     \
		{"enabled", "ENABLED", .type = COLUMN_FLAG},                                       \
		{"created_at", "CREATED", COLUMN_TIME, .spare = 1},                                \
	{                                                                                          \
		"failing_at", "FAILING SINCE", .type = COLUMN_TIME                                 \
	}

static const struct column columns[] = {COLUMNS, {0}};
static const struct column secret_columns[] = {
	COLUMNS, {"signing_secret", "SECRET", .type = COLUMN_TEXT}, {0}};
static const struct column event_columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"type", "TYPE", .type = COLUMN_TEXT},
	{"status", "STATUS", .type = COLUMN_TEXT},
	{"attempts", "ATTEMPTS", .type = COLUMN_INT},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{0},
};
static const struct column attempt_columns[] = {
	{"id", "ID", COLUMN_TEXT, .spare = 1},
	{"sent_at", "SENT", .type = COLUMN_TIME},
	{"http_status", "STATUS", .type = COLUMN_INT},
	{"error", "ERROR", .type = COLUMN_TEXT, .width = 60},
	{"response", "ANSWER", COLUMN_TEXT, .width = 60, .spare = 2},
	{0},
};
static const struct column count_columns[] = {{"events", "EVENTS", .type = COLUMN_INT}, {0}};

const struct verb cmd_webhook_add = {
	.noun = "webhook",
	.name = "add",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = secret_columns,
	.options = {{OPTION_COMPANY, true, "The company whose emails it is told of."},
		{OPTION_ENDPOINT, true, "The URL that is told."},
		{OPTION_EVENTS, true,
			"What it is told of: types with commas between, as "
			"email.delivered,email.bounced."},
		{OPTION_DOMAIN, false, "The emails of this domain alone."}},
	.help = "Adds a webhook and prints it with its secret, by which deliveries are signed.",
	.operation = &op_webhook_add,
};

const struct verb cmd_webhook_list = {
	.noun = "webhook",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the webhooks, newest first.",
	.operation = &op_webhook_list,
};

const struct verb cmd_webhook_show = {
	.noun = "webhook",
	.name = "show",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_RECORD,
	.columns = secret_columns,
	.help = "Shows a webhook with its secret.",
	.operation = &op_webhook_get,
};

const struct verb cmd_webhook_enable = {
	.noun = "webhook",
	.name = "enable",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Enables a webhook. It is told of what is recorded from now on, and of what has "
		"waited.",
	.operation = &op_webhook_update,
	.flag = "enabled",
	.flag_is = OP_YES,
	.note = "webhook {id} ({endpoint}) enabled",
};

const struct verb cmd_webhook_disable = {
	.noun = "webhook",
	.name = "disable",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Disables a webhook. Nothing is sent to it until it is enabled again.",
	.operation = &op_webhook_update,
	.flag = "enabled",
	.flag_is = OP_NO,
	.note = "webhook {id} ({endpoint}) disabled",
};

const struct verb cmd_webhook_rotate = {
	.noun = "webhook",
	.name = "rotate",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = secret_columns,
	.help = "Gives a webhook a new secret, and prints it. For a day what it is sent is signed "
		"with the one before, too, but not in the shape of the form API.",
	.operation = &op_webhook_rotate,
};

const struct verb cmd_webhook_test = {
	.noun = "webhook",
	.name = "test",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = event_columns,
	.help = "Sends a webhook an event that tells of no email.",
	.operation = &op_webhook_test,
	.note = "event {id} ({type}) will be sent",
};

const struct verb cmd_webhook_events = {
	.noun = "webhook",
	.name = "events",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = event_columns,
	.options = {{OPTION_LIMIT, false, "So many of them, the newest; 50 without it."}},
	.help = "Lists what a webhook was told, newest first, for as long as it is kept.",
	.operation = &op_webhook_events,
	.limit = 50,
	.limit_max = 10000,
};

const struct verb cmd_webhook_attempts = {
	.noun = "webhook",
	.name = "attempts",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = attempt_columns,
	.options = {{OPTION_EVENT, true, "The event of the webhook."}},
	.help = "Lists the attempts to send an event, newest first. A status of 0 stands for no "
		"answer.",
	.operation = &op_webhook_attempts,
};

const struct verb cmd_webhook_replay = {
	.noun = "webhook",
	.name = "replay",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = count_columns,
	.options = {{OPTION_SINCE, true,
			    "Events from then on, as 2026-11-21 or 2h for 2 hours ago."},
		{OPTION_UNTIL, false, "And before then."}},
	.help = "Sends what a webhook was told in a time once more, 10,000 events at most, whatever "
		"became of them.",
	.operation = &op_webhook_replay,
	.note = "{events} events will be sent",
};

const struct verb cmd_webhook_remove = {
	.noun = "webhook",
	.name = "remove",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Removes a webhook, with what it was told.",
	.operation = &op_webhook_remove,
	.note = "webhook {id} ({endpoint}) removed",
};
