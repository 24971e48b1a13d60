/*
 * op_stats: statistics of emails.
 */
#include "core/ops/op_stats.h"

#include <stdlib.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/event/outcome.h"
#include "core/store/event/store_event_count.h"
#include "core/store/event/store_outcome.h"
#include "core/store/outbox/store_backlog.h"

enum { DAYS = 30, HOURS_UP_TO_DAYS = 7 };

#define TIME_FIELDS                                                                                \
	{OP_FIELD(op_stats, company_id, OP_ID)}, {OP_FIELD(op_stats, since, OP_TIME)},             \
	{                                                                                          \
		OP_FIELD(op_stats, until, OP_TIME)                                                 \
	}
static const struct op_field whole_fields[] = {
	TIME_FIELDS, {OP_FIELD(op_stats, domain, OP_TEXT)}, {0}};
static const struct op_field step_fields[] = {TIME_FIELDS, {OP_FIELD(op_stats, domain, OP_TEXT)},
	{OP_FIELD(op_stats, step, OP_TEXT)}, {0}};
static const struct op_field backlog_fields[] = {
	TIME_FIELDS, {OP_FIELD(op_stats, step, OP_TEXT)}, {0}};

/* Reads the time span and step, in whole steps. Without a step, it counts by the hour if the hours
 * are kept and few. Returns 0 or -1. */
static int read_stats_span(struct op *op, const struct op_stats *input,
	struct outcome_filter *filter_r, struct err *err)
{
	int64_t until = input->until ? input->until : op->now_us;
	int64_t since = input->since ? input->since : until - DAYS * DAY_US;
	bool kept = since > op->now_us - OUTCOME_HOURS_DAYS * DAY_US;
	bool hours = kept && until - since <= HOURS_UP_TO_DAYS * DAY_US;
	int64_t step_us;

	if (input->step && !str_eq(input->step, "hour") && !str_eq(input->step, "day"))
		return op_refuse(op, err, "step", "is hour or day, not \"%s\"", input->step);
	if (input->step)
		hours = str_eq(input->step, "hour");
	if (hours && !kept)
		return op_refuse(op, err, "since", "is too long ago: hours are kept for %d days",
			OUTCOME_HOURS_DAYS);
	step_us = hours ? HOUR_US : DAY_US;
	/* Counted as it was asked for: what is rounded would have a step more or less with the
	 * hour. */
	if ((until - since) / step_us > OP_STATS_STEPS_MAX)
		return op_refuse(op, err, "since", "and until have more than %d steps between",
			OP_STATS_STEPS_MAX);
	since -= since % step_us;
	until += (step_us - until % step_us) % step_us;
	if (until <= since)
		return op_refuse(op, err, "until", "is not behind since");
	*filter_r = (struct outcome_filter){
		.company_id = op_company_of(op, input->company_id),
		.domain = str_empty(input->domain) ? NULL : input->domain,
		.step = hours ? OUTCOME_HOUR : OUTCOME_DAY,
		.begin_us = since,
		.end_us = until,
	};
	json_object_set_new(op_more(op), "since", row_json_time(since));
	json_object_set_new(op_more(op), "until", row_json_time(until));
	return 0;
}

/* The counts of a step, or of the whole time, for one reason or provider. */
struct tally {
	int64_t begin_us;
	char *name;
	int64_t delivered, deferred, bounced, expired;
};
static const struct row_field reason_fields[] = {
	ROW_FIELD(tally, begin_us, ROW_TIME),
	ROW_FIELD_AS(tally, name, ROW_TEXT, "reason"),
	ROW_FIELD(tally, bounced, ROW_INT64),
	ROW_FIELD(tally, expired, ROW_INT64),
};
static const struct row_type reason_type = ROW_TYPE(tally, reason_fields);
static const struct row_field provider_fields[] = {
	ROW_FIELD_AS(tally, name, ROW_TEXT, "provider"),
	ROW_FIELD(tally, delivered, ROW_INT64),
	ROW_FIELD(tally, deferred, ROW_INT64),
	ROW_FIELD(tally, bounced, ROW_INT64),
	ROW_FIELD(tally, expired, ROW_INT64),
};
static const struct row_type provider_type = ROW_TYPE(tally, provider_fields);

static void tally_add(struct tally *tally, const struct outcome_count *count)
{
	switch (count->kind) {
	case EVENT_DELIVERED:
		tally->delivered += count->count;
		break;
	case EVENT_DEFERRED:
		tally->deferred += count->count;
		break;
	case EVENT_BOUNCED:
		tally->bounced += count->count;
		break;
	case EVENT_EXPIRED:
		tally->expired += count->count;
		break;
	default:
		break;
	}
}

/* Reads the counts, and gives how many percent of the events are still to be counted. Returns 0 or
 * -1. */
static int read_counts(struct op *op, const struct outcome_filter *filter,
	enum outcome_aspect aspect, bool by_step, struct outcome_counts *counts_r, struct err *err)
{
	struct outcome_filter normal = *filter;
	_cleanup_free_ char *domain = NULL;
	int64_t missing;

	if (filter->domain && addr_domain_normalize(filter->domain, &domain, err) < 0)
		return -1;
	normal.domain = domain;
	if (store_outcome_missing(op->db, &missing, err) < 0)
		return -1;
	if (missing > 0)
		json_object_set_new(op_more(op), "missing_percent", json_integer(missing));
	return store_outcome_counts(op->db, &normal, aspect, by_step, counts_r, err);
}

/* Converts counts, which are ordered by step and name, to one row for each step and name. */
static int give_tallies(struct op *op, const struct op_stats *input, enum outcome_aspect aspect,
	const struct row_type *type, struct err *err)
{
	static const struct page_end end = {0};
	struct outcome_filter filter;
	struct outcome_counts counts;
	struct tally *tallies;
	size_t n = 0;

	if (read_stats_span(op, input, &filter, err) < 0 ||
		read_counts(op, &filter, aspect, input->step != NULL, &counts, err) < 0)
		return -1;
	tallies = mem_alloc(counts.n + 1, sizeof(*tallies));
	for (size_t i = 0; i < counts.n; i++) {
		struct outcome_count *count = &counts.items[i];
		struct tally *last = n > 0 ? &tallies[n - 1] : NULL;

		if (last == NULL || last->begin_us != count->time_us ||
			!str_eq(last->name, count->name)) {
			last = &tallies[n++];
			last->begin_us = count->time_us;
			last->name = mem_strdup(count->name);
		}
		tally_add(last, count);
	}
	store_outcome_counts_free(&counts);
	op_give_page(op, type, tallies, n, &end);
	return 1;
}

static int list_reasons(struct op *op, const void *arg, struct err *err)
{
	return give_tallies(op, arg, OUTCOME_REASON, &reason_type, err);
}

static int list_providers(struct op *op, const void *arg, struct err *err)
{
	return give_tallies(op, arg, OUTCOME_PROVIDER, &provider_type, err);
}

struct delay {
	int64_t begin_us;
	int64_t delivered;
	int64_t p50_ms, p95_ms;
};
static const struct row_field delay_fields[] = {
	ROW_FIELD(delay, begin_us, ROW_TIME),
	ROW_FIELD(delay, delivered, ROW_INT64),
	ROW_FIELD(delay, p50_ms, ROW_INT64),
	ROW_FIELD(delay, p95_ms, ROW_INT64),
};
static const struct row_type delay_type = ROW_TYPE(delay, delay_fields);

static struct delay delay_of(int64_t begin_us, const int64_t classes[static OUTCOME_DELAYS])
{
	struct delay delay = {.begin_us = begin_us,
		.p50_ms = outcome_delay_percentile_ms(classes, 50),
		.p95_ms = outcome_delay_percentile_ms(classes, 95)};

	for (size_t i = 0; i < OUTCOME_DELAYS; i++)
		delay.delivered += classes[i];
	return delay;
}

/* Gives delays for each step, and in `all` those of the whole time. */
static int list_delays(struct op *op, const void *arg, struct err *err)
{
	static const struct page_end end = {0};
	int64_t all[OUTCOME_DELAYS] = {0};
	struct outcome_filter filter;
	struct outcome_counts counts;
	struct delay *delays, whole;
	size_t n = 0;

	if (read_stats_span(op, arg, &filter, err) < 0 ||
		read_counts(op, &filter, OUTCOME_DELAY, true, &counts, err) < 0)
		return -1;
	delays = mem_alloc(counts.n + 1, sizeof(*delays));
	for (size_t i = 0; i < counts.n;) {
		int64_t time_us = counts.items[i].time_us, classes[OUTCOME_DELAYS] = {0};

		for (; i < counts.n && counts.items[i].time_us == time_us; i++) {
			size_t class = (size_t)atoi(counts.items[i].name);

			if (class >= OUTCOME_DELAYS)
				class = OUTCOME_DELAYS - 1;
			classes[class] += counts.items[i].count;
			all[class] += counts.items[i].count;
		}
		delays[n++] = delay_of(time_us, classes);
	}
	store_outcome_counts_free(&counts);
	whole = delay_of(0, all);
	json_object_set_new(op_more(op), "all",
		whole.delivered
			? json_pack("{s:I, s:I, s:I}", "delivered", (json_int_t)whole.delivered,
				  "p50_ms", (json_int_t)whole.p50_ms, "p95_ms",
				  (json_int_t)whole.p95_ms)
			: json_null());
	op_give_page(op, &delay_type, delays, n, &end);
	return 1;
}

static const struct row_field sample_fields[] = {
	ROW_FIELD_AS(backlog_sample, time_us, ROW_TIME, "begin_us"),
	ROW_FIELD(backlog_sample, outbox, ROW_INT64),
	ROW_FIELD(backlog_sample, queue, ROW_INT64),
};
static const struct row_type backlog_type = {.name = "backlog",
	.size = sizeof(struct backlog_sample),
	.fields = sample_fields,
	.n = ARRAY_SIZE(sample_fields)};
/* Postfix's queue is not counted by company. */
static const struct row_type company_backlog_type = {.name = "backlog",
	.size = sizeof(struct backlog_sample),
	.fields = sample_fields,
	.n = ARRAY_SIZE(sample_fields) - 1};

static int list_backlog(struct op *op, const void *arg, struct err *err)
{
	static const struct page_end end = {0};
	struct backlog_samples samples;
	struct outcome_filter filter;

	if (read_stats_span(op, arg, &filter, err) < 0 ||
		store_backlog_samples(op->db, filter.company_id, filter.begin_us, filter.end_us,
			filter.step == OUTCOME_HOUR ? HOUR_US : DAY_US, &samples, err) < 0)
		return -1;
	op_give_page(op, filter.company_id ? &company_backlog_type : &backlog_type, samples.items,
		samples.n, &end);
	return 1;
}

/*
 * Counts of events.
 */

enum {
	DOMAINS_MAX = 1000,      /* in a page */
	DOMAINS_MIN = 50,        /* of a long time */
	DOMAIN_DAYS_MAX = 60000, /* the days of all domains of a page, of more than DOMAINS_MIN */
};

static const struct op_field event_fields[] = {
	{OP_FIELD(op_stats_events, company_id, OP_ID), .removed = true},
	{OP_FIELD(op_stats_events, domain, OP_TEXT)},
	{OP_FIELD(op_stats_events, since, OP_TIME)},
	{OP_FIELD(op_stats_events, until, OP_TIME)},
	{OP_FIELD(op_stats_events, step, OP_TEXT)},
	{OP_FIELD(op_stats_events, by, OP_TEXT)},
	{OP_FIELD(op_stats_events, limit, OP_NUMBER), .max = DOMAINS_MAX},
	{OP_FIELD(op_stats_events, after, OP_TEXT)},
	{0},
};

static const struct row_field kind_fields[] = {ROW_FIELD(op_stats_step, domain, ROW_TEXT)};

static json_t *show_kinds(const void *item)
{
	const struct op_stats_step *kinds = item;
	json_t *counts = json_object();

	for (size_t kind = 0; kind < ARRAY_SIZE(kinds->counts); kind++)
		if (kinds->counts[kind])
			json_object_set_new(
				counts, event_kind_name(kind), json_integer(kinds->counts[kind]));
	return kinds->domain ? json_pack("{s:o, s:o}", "domain", row_json_string(kinds->domain),
				       "counts", counts)
			     : json_pack("{s:o, s:o}", "time", row_json_time(kinds->time_us),
				       "counts", counts);
}

static const struct row_type kinds_type = {
	.name = "step",
	.size = sizeof(struct op_stats_step),
	.fields = kind_fields,
	.n = ARRAY_SIZE(kind_fields),
	.shown = show_kinds,
};

/* Reads the time span, which begins with a whole step, and the size of a page. Returns 0 or -1. */
static int read_span(const struct op *op, const struct op_stats_events *input,
	struct event_count_filter *filter, struct err *err)
{
	int64_t until_us = input->until ? input->until : op->now_us;
	int64_t span_us, unit_us, domains;

	if (input->step && !str_eq(input->step, "hour") && !str_eq(input->step, "day"))
		return op_refuse(op, err, "step", "is hour or day, not \"%s\"", input->step);
	if (input->by && !str_eq(input->by, "time") && !str_eq(input->by, "domain"))
		return op_refuse(op, err, "by", "is time or domain, not \"%s\"", input->by);
	filter->by_domain = input->by && str_eq(input->by, "domain");
	filter->step_us = input->step && str_eq(input->step, "hour") ? HOUR_US : DAY_US;
	filter->end_us = input->until ? input->until : op->now_us + HOUR_US;
	filter->begin_us = input->since ? input->since : op->now_us - DAYS * DAY_US;
	filter->begin_us -= filter->begin_us % filter->step_us;
	if (filter->end_us <= filter->begin_us)
		return op_refuse(op, err, "until", "is not behind since");
	span_us = filter->end_us - filter->begin_us;
	unit_us = filter->by_domain ? DAY_US : filter->step_us;
	/* Of whole steps, so many touch one more. */
	if (op->actor != OP_COMMAND &&
		(until_us + unit_us - 1) / unit_us - filter->begin_us / unit_us >
			OP_STATS_STEPS_MAX + 1)
		return op_refuse(op, err, "since", "and until have more than %d %s between",
			OP_STATS_STEPS_MAX, filter->by_domain ? "days" : "steps");
	domains = DOMAIN_DAYS_MAX / (span_us / DAY_US + 1);
	if (domains < DOMAINS_MIN)
		domains = DOMAINS_MIN;
	filter->limit = (int)(input->limit && input->limit < domains ? input->limit : domains);
	filter->after = input->after;
	return 0;
}

static int list_events(struct op *op, const void *arg, struct err *err)
{
	const struct op_stats_events *input = arg;
	struct event_count_filter filter = {.company_id = op_company_of(op, input->company_id)};
	_cleanup_free_ char *domain = NULL;
	struct event_counts counts;
	struct op_stats_step *rows;
	size_t n = 0;

	if ((input->domain && addr_domain_normalize(input->domain, &domain, err) < 0) ||
		read_span(op, input, &filter, err) < 0)
		return -1;
	filter.domain = domain;
	if (store_event_counts(op->db, &filter, &counts, err) < 0)
		return -1;
	rows = mem_alloc(counts.n + 1, sizeof(*rows));
	for (size_t i = 0; i < counts.n; i++) {
		const struct event_count *count = &counts.items[i];
		struct op_stats_step *last = n > 0 ? &rows[n - 1] : NULL;

		if (last == NULL || last->time_us != count->time_us ||
			(count->domain && !str_eq(last->domain, count->domain))) {
			last = &rows[n++];
			last->time_us = count->time_us;
			last->domain = count->domain ? mem_strdup(count->domain) : NULL;
		}
		last->counts[count->kind] += count->count;
	}
	json_object_update_new(op_more(op),
		json_pack("{s:o, s:o, s:o}", "next", row_json_given(counts.next), "since",
			row_json_time(filter.begin_us), "until", row_json_time(filter.end_us)));
	op_give_page(op, &kinds_type, rows, n, &(struct page_end){.more = counts.next != NULL});
	store_event_counts_free(&counts);
	return 1;
}

#define INPUT sizeof(struct op_stats)

const struct operation op_stats_reasons = {
	step_fields, INPUT, .list = OP_WHOLE, .run = list_reasons};
const struct operation op_stats_providers = {
	whole_fields, INPUT, .list = OP_WHOLE, .run = list_providers};
const struct operation op_stats_delays = {step_fields, INPUT, .list = OP_WHOLE, .run = list_delays};
const struct operation op_stats_backlog = {
	backlog_fields, INPUT, .list = OP_WHOLE, .run = list_backlog};
const struct operation op_stats_events = {
	event_fields, sizeof(struct op_stats_events), .list = OP_WHOLE, .run = list_events};
