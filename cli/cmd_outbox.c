/*
 * cmd_outbox: the emails that wait in the outbox; pausing, resuming and canceling them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_outbox.h"

static const struct column company_columns[] = {
	{"id", "COMPANY", COLUMN_TEXT, .spare = 2},
	{"name", "NAME", .type = COLUMN_TEXT, .width = 40},
	{"waiting", "WAITING", .type = COLUMN_INT},
	{"paused", "PAUSED", .type = COLUMN_INT},
	{"scheduled", "SCHEDULED", .type = COLUMN_INT},
	{"since_at", "SINCE", .type = COLUMN_TIME},
	{"done_at", "GONE BY", COLUMN_TIME, .spare = 1},
	{"why", "WHY", COLUMN_TEXT, 60, .spare = 3},
	{0},
};

static const struct column pause_columns[] = {
	{"kind", "PAUSED", .type = COLUMN_TEXT},
	{"name", "NAME", .type = COLUMN_TEXT, .width = 40},
	{"key_id", "KEY", COLUMN_TEXT, .spare = 1},
	{"created_at", "SINCE", .type = COLUMN_TIME},
	{"emails", "EMAILS", .type = COLUMN_INT},
	{"reason", "REASON", .type = COLUMN_TEXT, .width = 60},
	{0},
};

static const struct column break_columns[] = {
	{"opened_at", "NOTHING WENT OUT FROM", .type = COLUMN_TIME},
	{"closed_at", "TO", .type = COLUMN_TIME},
	{"words", "WHY", .type = COLUMN_TEXT, .width = 80},
	{0},
};

enum { AT_LEAST = 3, RATE, COMPANIES, PAUSES, BREAKER };
static const struct column list_columns[] = {
	{"waiting", NULL, .type = COLUMN_INT},
	{"paused", NULL, .type = COLUMN_INT},
	{"scheduled", NULL, .type = COLUMN_INT},
	[AT_LEAST] = {"at_least", NULL, .type = COLUMN_FLAG},
	[RATE] = {"rate_per_hour", NULL, .type = COLUMN_INT},
	[COMPANIES] = {"data", NULL, .type = COLUMN_JSON},
	[PAUSES] = {"pauses", NULL, .type = COLUMN_JSON},
	[BREAKER] = {"breaker", NULL, .type = COLUMN_JSON},
	{0},
};

static void print_table(const json_t *items, const struct column *columns, struct buf *out)
{
	struct report table;
	json_t *item;
	size_t i;

	if (json_array_size(items) == 0)
		return;
	report_init(&table, columns);
	json_array_foreach(items, i, item)
		report_json(&table, item);
	buf_add_char(out, '\n');
	print_table_rows(&table, terminal_width(STDOUT_FILENO), out);
	report_clear(&table);
}

static long long number_of(const json_t *made, const char *name)
{
	return json_integer_value(json_object_get(made, name));
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	static const size_t parts[] = {COMPANIES, PAUSES, BREAKER};
	_cleanup_free_ void *input = NULL;
	_cleanup_buf_ struct buf first = BUF_INIT;
	struct buf text = BUF_INIT;
	const json_t *breaker;
	json_t *made;

	if (call_input(call, &input, err) < 0 || call_operate(call, input, &made, err) < 0)
		return -1;
	report_json(report, made);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		_cleanup_free_ char *json = json_dumps(
			json_object_get(made, list_columns[parts[i]].name), JSON_ENSURE_ASCII);

		report_text(report, parts[i], json);
	}
	breaker = json_object_get(made, "breaker");
	buf_printf(&first,
		"%s%lld wait, %lld paused, %lld scheduled. %lld an hour go out at the present "
		"rate.",
		json_is_true(json_object_get(made, "at_least")) ? "At least " : "",
		number_of(made, "waiting"), number_of(made, "paused"), number_of(made, "scheduled"),
		number_of(made, "rate_per_hour"));
	if (str_eq(row_json_text(breaker, "state"), "open"))
		buf_printf(&first, " Nothing goes out since %.19sZ: %s.",
			row_json_text(breaker, "since_at"), row_json_text(breaker, "words"));
	visible_add_wrapped(&text, buf_str(&first), 0, screen_width());
	print_table(json_object_get(made, "data"), company_columns, &text);
	print_table(json_object_get(made, "pauses"), pause_columns, &text);
	print_table(json_object_get(breaker, "history"), break_columns, &text);
	report->note = buf_take(&text);
	json_decref(made);
	return 0;
}

const struct verb cmd_outbox_list = {
	.noun = "outbox",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = list_columns,
	.options = {{OPTION_COMPANY, false, "Only what is of this company."}},
	.help = "Shows how many emails wait in the outbox, of each company: since when, why, and "
		"by when they are gone at the rate of the last five minutes. Then what is paused "
		"(postern outbox pause), and the last times that nothing could be handed to "
		"Postfix, with the reason. What is on its way into Postfix at this moment is not "
		"counted, and of each kind 10,000 emails of a company at most. It shows 1,000 "
		"companies at most; for another one, name it.",
	.operation = &op_outbox_list,
	.run = run_list,
};

static const struct column paused_columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"company_id", NULL, .type = COLUMN_TEXT},
	{"kind", NULL, .type = COLUMN_TEXT},
	{"name", NULL, .type = COLUMN_TEXT},
	{"domain", NULL, .type = COLUMN_TEXT},
	{"key_id", NULL, .type = COLUMN_TEXT},
	{"reason", NULL, .type = COLUMN_TEXT},
	{"created_at", NULL, .type = COLUMN_TIME},
	{0},
};

static const struct column canceled_columns[] = {
	{"kind", NULL, .type = COLUMN_TEXT},
	{"name", NULL, .type = COLUMN_TEXT},
	{"canceled", NULL, .type = COLUMN_INT},
	{0},
};

#define WHOSE                                                                                      \
	{OPTION_COMPANY, false, "Of this company."}, {OPTION_DOMAIN, false, "Of this domain."},    \
	{                                                                                          \
		OPTION_KEY, false, "Of this key."                                                  \
	}

const struct verb cmd_outbox_pause = {
	.noun = "outbox",
	.name = "pause",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = paused_columns,
	.options = {WHOSE,
		{OPTION_REASON, false, "Why, for the admins who see that it is paused."}},
	.help = "Stops the outgoing emails of a company, a domain or a key, without losing any. "
		"Programs still get 200 for theirs, which wait in the outbox until postern outbox "
		"resume, also over restarts; scheduled ones too, when their time comes. What is on "
		"its way into Postfix goes out. A pause ends when its domain or key is removed.",
	.operation = &op_outbox_pause,
	.note = "{kind} {name} paused",
};

const struct verb cmd_outbox_resume = {
	.noun = "outbox",
	.name = "resume",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = paused_columns,
	.options = {WHOSE},
	.help = "Lets go out what postern outbox pause has stopped. The time that it was paused "
		"does not count for outbox.lifetime.",
	.operation = &op_outbox_resume,
	.note = "{kind} {name} resumed",
};

const struct verb cmd_outbox_cancel = {
	.noun = "outbox",
	.name = "cancel",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = canceled_columns,
	.options = {WHOSE},
	.help = "Cancels all emails of a company, a domain or a key that wait in the outbox, also "
		"those that are scheduled or paused: they will not be sent. It takes small steps; "
		"interrupted, it is to be run again.",
	.operation = &op_outbox_cancel,
	.note = "{kind} {name}: {canceled} emails canceled",
};
