/*
 * cmd_stats: numbers of emails, and of their events.
 */
#include <string.h>

#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/ops/op_stats.h"
#include "core/store/store_event.h"

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
	[UNKNOWN] = {"unknown", "UNKNOWN", .type = COLUMN_INT},
	[COMPLAINED] = {"complained", "SPAM", .type = COLUMN_INT},
	[SUPPRESSED] = {"suppressed", "SUPPRESSED", .type = COLUMN_INT},
	{0},
};

/* 0: not counted. */
static const unsigned char column_of[EVENT_KINDS + 1] = {
	[EVENT_ACCEPTED] = ACCEPTED,
	[EVENT_DEFERRED] = DEFERRED,
	[EVENT_DELIVERED] = DELIVERED,
	[EVENT_BOUNCED] = BOUNCED,
	[EVENT_EXPIRED] = BOUNCED,
	[EVENT_DISCARDED] = FAILED,
	[EVENT_REMOVED] = FAILED,
	[EVENT_LOST] = UNKNOWN,
	[EVENT_COMPLAINED] = COMPLAINED,
	[EVENT_SUPPRESSED] = SUPPRESSED,
	[EVENT_FAILED] = FAILED,
};

static void add_row(struct report *report, int64_t time_us, const char *shown,
	const int64_t numbers[static COLUMNS])
{
	report_add_row(report);
	report_time(report, TIME, time_us);
	report_text(report, STEP, shown);
	for (size_t i = ACCEPTED; i < COLUMNS; i++)
		report_number(report, i, numbers[i]);
}

/* Adds a row for each step with counts, then their sum. */
static void fill(const struct event_counts *counts, bool hours, struct report *report)
{
	int64_t sum[COLUMNS] = {0};

	for (size_t i = 0; i < counts->n;) {
		int64_t time_us = counts->items[i].time_us;
		int64_t step[COLUMNS] = {0};
		char text[CLOCK_TEXT_SIZE];

		for (; i < counts->n && counts->items[i].time_us == time_us; i++) {
			unsigned char column = column_of[counts->items[i].kind];

			step[column] += counts->items[i].count;
			sum[column] += counts->items[i].count;
		}
		clock_iso8601(time_us, text);
		text[10] = hours ? ' ' : '\0';
		text[16] = '\0';
		add_row(report, time_us, text, step);
	}
	add_row(report, 0, "all", sum);
}

static int run_stats(const struct call *call, struct report *report, struct err *err)
{
	bool hours = call_option(call, OPTION_HOURS) != NULL;
	int64_t step_us = hours ? HOUR_US : DAY_US;
	const char *domain = call_option(call, OPTION_DOMAIN);
	_cleanup_free_ char *name = NULL;
	char company_id[ID_SIZE];
	struct event_count_filter filter = {.step_us = step_us};
	struct event_counts counts;

	filter.begin_us = call->now_us - call->now_us % step_us -
			  (hours ? HOURS_SHOWN - 1 : DAYS_SHOWN - 1) * step_us;
	filter.end_us = call->now_us + HOUR_US;
	if (call_time_option(call, OPTION_SINCE, &filter.begin_us, err) < 0 ||
		call_time_option(call, OPTION_UNTIL, &filter.end_us, err) < 0 ||
		call_id_option(call, OPTION_COMPANY, company_id, err) < 0)
		return -1;
	if (domain && addr_domain_normalize(domain, &name, err) < 0)
		return -1;
	filter.begin_us -= filter.begin_us % HOUR_US;
	filter.company_id = *company_id ? company_id : NULL;
	filter.domain = name;
	if (store_event_counts(call->db, &filter, &counts, err) < 0)
		return -1;
	fill(&counts, hours, report);
	store_event_counts_free(&counts);
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
			"or 30d; from the beginning of an hour."},
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

const struct verb cmd_stats_reasons = {
	.noun = "stats",
	.name = "reasons",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = reason_columns,
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION},
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
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION},
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
	.options = {SINCE_OPTION, UNTIL_OPTION, COMPANY_OPTION},
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
	.options = {SINCE_OPTION, UNTIL_OPTION},
	.help = "Shows how many emails waited in the outbox and in Postfix's queue at most, by "
		"the hour for up to 7 days, else by the day (UTC). Samples are taken every five "
		"minutes while postern-httpd runs.",
	.operation = &op_stats_backlog,
};
