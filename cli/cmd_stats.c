/*
 * cmd_stats: numbers of emails, and of their events.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/ops/op_stats.h"

enum { DAYS_SHOWN = 7, HOURS_SHOWN = 24 };

enum {
	TIME,
	STEP,
	ACCEPTED,
	DELIVERED,
	DEFERRED,
	BOUNCED,
	FAILED,
	UNKNOWN,
	COMPLAINED,
	SUPPRESSED,
	COLUMNS
};

static const struct column columns[] = {
	[TIME] = {"time", NULL, .type = COLUMN_TIME},
	[STEP] = {"step", "FROM (UTC)", .type = COLUMN_TEXT},
	[ACCEPTED] = {"accepted", "ACCEPTED", .type = COLUMN_INT},
	[DELIVERED] = {"delivered", "DELIVERED", .type = COLUMN_INT},
	[DEFERRED] = {"deferred", "DEFERRED", .type = COLUMN_INT},
	[BOUNCED] = {"bounced", "BOUNCED", .type = COLUMN_INT},
	[FAILED] = {"failed", "FAILED", .type = COLUMN_INT},
	[UNKNOWN] = {"unknown", "UNKNOWN", .type = COLUMN_INT, .spare = 1},
	[COMPLAINED] = {"complained", "SPAM", .type = COLUMN_INT},
	[SUPPRESSED] = {"suppressed", "SUPPRESSED", .type = COLUMN_INT, .spare = 2},
	{0},
};

/* The columns of the kinds of events; NULL: not counted. */
static const char *const column_of[EVENT_KINDS + 1] = {
	[EVENT_ACCEPTED] = "accepted",
	[EVENT_DEFERRED] = "deferred",
	[EVENT_DELIVERED] = "delivered",
	[EVENT_BOUNCED] = "bounced",
	[EVENT_EXPIRED] = "bounced",
	[EVENT_DISCARDED] = "failed",
	[EVENT_REMOVED] = "failed",
	[EVENT_LOST] = "unknown",
	[EVENT_COMPLAINED] = "complained",
	[EVENT_SUPPRESSED] = "suppressed",
	[EVENT_FAILED] = "failed",
};

/* By default, the last hours or days. */
static int read_stats(const struct call *call, void *arg, struct err *err)
{
	struct op_stats_events *input = arg;
	bool hours = call_option(call, OPTION_HOURS) != NULL;
	int64_t last_us = hours ? (HOURS_SHOWN - 1) * HOUR_US : (DAYS_SHOWN - 1) * DAY_US;

	(void)err;
	input->step = hours ? "hour" : "day";
	if (input->since == 0)
		input->since = call->now_us - last_us;
	return 0;
}

static void add_count(json_t *row, const char *column, json_int_t count)
{
	json_t *sum = json_object_get(row, column);

	json_integer_set(sum, json_integer_value(sum) + count);
}

static json_t *row_new(json_t *time, const char *step)
{
	json_t *row = json_pack("{s:O, s:s}", "time", time, "step", step);

	for (size_t i = ACCEPTED; i < COLUMNS; i++)
		json_object_set_new(row, columns[i].name, json_integer(0));
	return row;
}

/* Reports a row for each step with events, then their sum. */
static int run_stats(const struct call *call, struct report *report, struct err *err)
{
	const int len = call_option(call, OPTION_HOURS) ? 16 : 10; /* 2026-11-21 02:43 */
	_cleanup_free_ void *input = NULL;
	json_t *made, *step, *sum;
	size_t i;

	if (call_input(call, &input, err) < 0 || call_operate(call, input, &made, err) < 0)
		return -1;
	sum = row_new(json_null(), "all");
	json_array_foreach(json_object_get(made, "data"), i, step) {
		_cleanup_free_ char *text = mem_printf("%.*s", len, row_json_text(step, "time"));
		const json_t *counts = json_object_get(step, "counts");
		json_t *row;

		if (strchr(text, 'T'))
			*strchr(text, 'T') = ' ';
		row = row_new(json_object_get(step, "time"), text);
		for (size_t kind = 0; kind < ARRAY_SIZE(column_of); kind++) {
			json_int_t n = json_integer_value(
				json_object_get(counts, event_kind_name(kind)));

			if (column_of[kind] && n) {
				add_count(row, column_of[kind], n);
				add_count(sum, column_of[kind], n);
			}
		}
		report_json(report, row);
		json_decref(row);
	}
	report_json(report, sum);
	json_decref(sum);
	json_decref(made);
	return 0;
}

const struct verb cmd_stats = {
	.noun = "stats",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_HOURS, false,
			    "By the hour, of the last 24. Without this by the day (UTC), of the "
			    "last 7."},
		{OPTION_SINCE, false,
			"From then on: 2026-11-21, 2026-11-21T14:30 (UTC), or how long ago, as 2h "
			"or 30d; from the beginning of that day or hour."},
		{OPTION_UNTIL, false, "Only before then."},
		{OPTION_COMPANY, false, "Only what this company sent."},
		{OPTION_DOMAIN, false, "Only what was sent as this domain."}},
	.help = "Counts what became of emails, each recipient by itself, by when it "
		"happened: accepted by Postfix; delivered to the next mail server; "
		"deferred, each attempt; bounced, refused for good or given up; failed, "
		"dropped here by an admin or a rule of Postfix; unknown, where lines of "
		"the log are missing; reported as spam; and suppressed, not sent to an address of "
		"the company's list. The last row is the sum. What "
		"was counted stays when emails are removed.",
	.operation = &op_stats_events,
	.read = read_stats,
	.run = run_stats,
};

static const struct column reason_columns[] = {
	{"begin_at", NULL, .type = COLUMN_TIME},
	{"reason", "REASON", .type = COLUMN_TEXT},
	{"bounced", "BOUNCED", .type = COLUMN_INT},
	{"expired", "EXPIRED", .type = COLUMN_INT},
	{0},
};
static const struct column provider_columns[] = {
	{"provider", "PROVIDER", .type = COLUMN_TEXT},
	{"delivered", "DELIVERED", .type = COLUMN_INT},
	{"deferred", "DEFERRED", .type = COLUMN_INT},
	{"bounced", "BOUNCED", .type = COLUMN_INT},
	{"expired", "EXPIRED", .type = COLUMN_INT},
	{0},
};
static const struct column delay_columns[] = {
	{"begin_at", "FROM", .type = COLUMN_TIME},
	{"delivered", "DELIVERED", .type = COLUMN_INT},
	{"p50_ms", "P50 MS", .type = COLUMN_INT},
	{"p95_ms", "P95 MS", .type = COLUMN_INT},
	{0},
};
static const struct column backlog_columns[] = {
	{"begin_at", "FROM", .type = COLUMN_TIME},
	{"outbox", "OUTBOX", .type = COLUMN_INT},
	{"queue", "QUEUE", .type = COLUMN_INT},
	{0},
};

#define SINCE_OPTION                                                                                        \
	{                                                                                                   \
		OPTION_SINCE, false,                                                                        \
			"From then on: a time as 2026-11-21 (UTC), or how long ago, as 2h or 90d. Without " \
			"this, of the last 30 days."                                                        \
	}
#define UNTIL_OPTION                                                                               \
	{                                                                                          \
		OPTION_UNTIL, false, "Only before then."                                           \
	}
#define COMPANY_OPTION                                                                             \
	{                                                                                          \
		OPTION_COMPANY, false, "Only what this company sent."                              \
	}

#define DOMAIN_OPTION                                                                              \
	{                                                                                          \
		OPTION_DOMAIN, false, "Only what was sent as this domain."                         \
	}

const struct verb cmd_stats_reasons = {
	.noun = "stats",
	.name = "reasons",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = reason_columns,
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION, DOMAIN_OPTION},
	.help = "Counts for which reasons recipients bounced or expired, by the status code and "
		"the words of the other server.",
	.operation = &op_stats_reasons,
};

const struct verb cmd_stats_providers = {
	.noun = "stats",
	.name = "providers",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = provider_columns,
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION, DOMAIN_OPTION},
	.help = "Counts what became of recipients at each provider of mailboxes, by the name of "
		"the mail server. Providers that Postern does not know are counted as other.",
	.operation = &op_stats_providers,
};

const struct verb cmd_stats_delays = {
	.noun = "stats",
	.name = "delays",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = delay_columns,
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION, DOMAIN_OPTION},
	.help = "Shows how long deliveries took, from when the email came in, or was scheduled "
		"for, until another mail server took it: half of them up to P50, 95 of a hundred "
		"up to P95. By the hour for up to 7 days, else by the day (UTC).",
	.operation = &op_stats_delays,
};

const struct verb cmd_stats_backlog = {
	.noun = "stats",
	.name = "backlog",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = backlog_columns,
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION},
	.help = "Shows how many emails waited in the outbox and in Postfix's queue at most, by "
		"the hour for up to 7 days, else by the day (UTC). Samples are taken every five "
		"minutes while postern-httpd runs. Postfix's queue is not counted by company.",
	.operation = &op_stats_backlog,
};
