/*
 * store_outcome: the tables outcome_count and outcome_fill.
 */
#include "core/store/event/store_outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/hash_table.h"
#include "core/store/event/outcome.h"
#include "core/store/row.h"

static const char *const aspects[] = {"reason", "provider", "delay"};
static const char *const steps[] = {"hour", "day"};

/* A row of outcome_count, still in memory. */
struct outcome {
	const char *company_id; /* "": of all */
	const char *domain;     /* "": of all of the company */
	const char *name;       /* a constant of outcome.c */
	enum outcome_aspect aspect;
	enum outcome_step step;
	enum event_kind kind;
	int64_t time_us;
	int64_t count;
};

struct outcome_tally {
	struct hash_table outcomes;
};

static bool is_same(const void *one, const void *other)
{
	const struct outcome *a = one, *b = other;

	return a->aspect == b->aspect && a->step == b->step && a->kind == b->kind &&
	       a->time_us == b->time_us && str_eq(a->name, b->name) &&
	       str_eq(a->domain, b->domain) && str_eq(a->company_id, b->company_id);
}

static uint64_t hash_outcome(const struct outcome *outcome)
{
	uint64_t hash = mem_hash(MEM_HASH, outcome->domain, strlen(outcome->domain));

	hash = mem_hash(hash, outcome->company_id, strlen(outcome->company_id));
	hash = mem_hash(hash, outcome->name, strlen(outcome->name));
	hash = mem_hash(hash, &outcome->kind, sizeof(outcome->kind));
	hash = mem_hash(hash, &outcome->step, sizeof(outcome->step));
	return mem_hash(hash, &outcome->time_us, sizeof(outcome->time_us));
}

struct outcome_tally *outcome_tally_new(void)
{
	return mem_new(struct outcome_tally);
}

void outcome_tally_free(struct outcome_tally *tally)
{
	struct outcome *outcome;
	size_t at = 0;

	if (tally == NULL)
		return;
	while ((outcome = hash_table_next(&tally->outcomes, &at)) != NULL)
		free(outcome);
	hash_table_clear(&tally->outcomes);
	free(tally);
}

static void count_row(struct outcome_tally *tally, const struct outcome *outcome)
{
	uint64_t hash = hash_outcome(outcome);
	struct outcome *there = hash_table_find(&tally->outcomes, hash, is_same, outcome);

	if (there == NULL) {
		there = mem_dup(outcome, sizeof(*outcome));
		hash_table_add(&tally->outcomes, hash, there);
	}
	there->count++;
}

/* Counts the outcome, which is of an hour, there and in its day. */
static void count_outcome(struct outcome_tally *tally, const struct outcome *outcome)
{
	struct outcome day = *outcome;

	day.step = OUTCOME_DAY;
	day.time_us -= day.time_us % DAY_US;
	count_row(tally, outcome);
	count_row(tally, &day);
}

static void count_levels(struct outcome_tally *tally, struct outcome outcome, bool domain_only)
{
	count_outcome(tally, &outcome);
	if (domain_only)
		return;
	outcome.domain = "";
	count_outcome(tally, &outcome);
	outcome.company_id = "";
	count_outcome(tally, &outcome);
}

void outcome_tally_add(
	struct outcome_tally *tally, const struct outcome_event *event, bool domain_only)
{
	enum event_kind kind = event->kind;
	bool is_bad = kind == EVENT_BOUNCED || kind == EVENT_EXPIRED;
	struct outcome outcome = {
		.company_id = event->company_id,
		.domain = event->domain,
		.kind = kind,
		.step = OUTCOME_HOUR,
		.time_us = event->occurred_us - event->occurred_us % HOUR_US,
	};

	if (!is_bad && kind != EVENT_DELIVERED && kind != EVENT_DEFERRED)
		return;
	outcome.aspect = OUTCOME_PROVIDER;
	outcome.name = outcome_provider(event->relay, event->address);
	count_levels(tally, outcome, domain_only);
	if (is_bad) {
		outcome.aspect = OUTCOME_REASON;
		outcome.name = outcome_reason(event->dsn, event->text);
		count_levels(tally, outcome, domain_only);
	} else if (kind == EVENT_DELIVERED && event->due_us > 0) {
		outcome.aspect = OUTCOME_DELAY;
		outcome.name = outcome_delay_name(
			outcome_delay_class(event->occurred_us - event->due_us));
		count_levels(tally, outcome, domain_only);
	}
}

int outcome_tally_write(
	struct db *db, const struct outcome_tally *tally, int64_t hours_us, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO outcome_count"
		"   (company_id, domain, aspect, step, time_us, name, kind, count)"
		" VALUES ($company, $domain, $aspect, $step, $time, $name, $kind, $count)"
		" ON CONFLICT (company_id, domain, aspect, step, time_us, name, kind)"
		" DO UPDATE SET count = outcome_count.count + excluded.count";
	const struct outcome *outcome;
	struct db_rows rows = {0};
	size_t at = 0;
	int result;

	while ((outcome = hash_table_next(&tally->outcomes, &at)) != NULL)
		if (outcome->step == OUTCOME_DAY || outcome->time_us >= hours_us)
			db_rows_add(&rows, DB_PARAMS(DB_TEXT("$company", outcome->company_id),
						   DB_TEXT("$domain", outcome->domain),
						   DB_TEXT("$aspect", aspects[outcome->aspect]),
						   DB_TEXT("$step", steps[outcome->step]),
						   DB_INT("$time", outcome->time_us),
						   DB_TEXT("$name", outcome->name),
						   DB_TEXT("$kind", event_kind_name(outcome->kind)),
						   DB_INT("$count", outcome->count)));
	result = db_post_rows(db, sql_add, &rows, err);
	free(rows.items);
	return result;
}

/* An event that is to be counted afterwards. */
struct past_event {
	int64_t seq;
	char *company_id, *domain, *address, *relay, *dsn, *text;
	enum event_kind kind;
	int64_t occurred_us, recorded_us, due_us;
};
static const struct row_field past_fields[] = {
	ROW_FIELD(past_event, seq, ROW_INT64),
	ROW_FIELD(past_event, company_id, ROW_TEXT),
	ROW_FIELD(past_event, domain, ROW_TEXT),
	ROW_FIELD(past_event, address, ROW_TEXT),
	ROW_FIELD(past_event, relay, ROW_TEXT),
	ROW_FIELD(past_event, dsn, ROW_TEXT),
	ROW_FIELD(past_event, text, ROW_TEXT),
	ROW_WORD(past_event, kind, ROW_ENUM, "kind", &event_kind_words),
	ROW_FIELD(past_event, occurred_us, ROW_INT64),
	ROW_FIELD(past_event, recorded_us, ROW_INT64),
	ROW_FIELD(past_event, due_us, ROW_INT64),
};
static const struct row_type past_type = ROW_TYPE(past_event, past_fields);

struct fill {
	int64_t next_seq;
	int64_t counted_us;
};
static const struct row_field fill_fields[] = {
	ROW_FIELD(fill, next_seq, ROW_INT64),
	ROW_FIELD(fill, counted_us, ROW_INT64),
};
static const struct row_type fill_type = ROW_TYPE(fill, fill_fields);

/* Counts some events, and moves fill behind them. Returns 0 or -1. */
static int fill_some(struct db *db, struct fill *fill, int64_t hours_us, struct err *err)
{
	enum { SOME = 100 };
	static const char sql_past[] =
		"SELECT v.seq, v.company_id, v.domain, coalesce(v.address, r.address) AS address,"
		"   v.relay, v.dsn, v.text, v.kind, v.occurred_us, v.recorded_us,"
		"   CASE"
		"     WHEN e.scheduled_us > e.created_us THEN e.scheduled_us"
		"     ELSE coalesce(e.created_us, 0)"
		"   END AS due_us"
		" FROM event v"
		" LEFT JOIN email e ON e.seq = v.email"
		" LEFT JOIN email_recipient r ON r.email = v.email AND r.n = v.n"
		" WHERE v.seq <= $next"
		" ORDER BY v.seq DESC"
		" LIMIT $some";
	struct outcome_tally *tally;
	struct past_event *past;
	size_t n;
	int result;

	if (row_list(db,
		    ROW_LIST(.sql = sql_past,
			    .params = DB_PARAMS(
				    DB_INT("$next", fill->next_seq), DB_INT("$some", SOME)),
			    .type = &past_type, .items_r = &past, .n_r = &n),
		    err) < 0)
		return -1;
	tally = outcome_tally_new();
	for (size_t i = 0; i < n; i++)
		outcome_tally_add(tally,
			&(struct outcome_event){
				.company_id = past[i].company_id,
				.domain = past[i].domain,
				.address = past[i].address,
				.kind = past[i].kind,
				.occurred_us = past[i].occurred_us,
				.due_us = past[i].due_us,
				.relay = past[i].relay,
				.dsn = past[i].dsn,
				.text = past[i].text,
			},
			past[i].recorded_us >= fill->counted_us);
	result = outcome_tally_write(db, tally, hours_us, err);
	fill->next_seq = n == SOME ? past[n - 1].seq - 1 : 0;
	outcome_tally_free(tally);
	row_list_free(&past_type, past, n);
	return result;
}

int store_outcome_fill(struct db *db, int64_t budget_us, int64_t now_us, struct err *err)
{
	static const char sql_fill[] = "SELECT next_seq, counted_us FROM outcome_fill";
	static const char sql_next[] = "UPDATE outcome_fill SET next_seq = $next";
	int64_t end_us = clock_monotonic_us() + budget_us;
	struct fill fill;

	if (row_get(db, sql_fill, NULL, &fill_type, &fill, err) < 0)
		return -1;
	if (fill.next_seq == 0)
		return 0;
	do {
		if (fill_some(db, &fill, now_us - OUTCOME_HOURS_DAYS * DAY_US, err) < 0)
			return -1;
	} while (fill.next_seq > 0 && clock_monotonic_us() < end_us);
	if (db_change(db, sql_next, DB_PARAMS(DB_INT("$next", fill.next_seq)), err) < 0)
		return -1;
	return fill.next_seq > 0;
}

int store_outcome_missing(struct db *db, int64_t *percent_r, struct err *err)
{
	static const char sql_missing[] =
		"SELECT iif(next_seq > 0, max(1, 100 * (next_seq - low)"
		"   / max(1, (SELECT max(seq) FROM event) - low)), 0)"
		" FROM (SELECT next_seq, (SELECT min(seq) FROM event) AS low FROM outcome_fill) f";

	return row_value(db, sql_missing, NULL, percent_r, err);
}

int store_outcome_clean(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_old[] =
		"DELETE FROM outcome_count"
		" WHERE step = 'hour' AND time_us < $old";

	return db_execute(
		db, sql_old, DB_PARAMS(DB_INT("$old", now_us - OUTCOME_HOURS_DAYS * DAY_US)), err);
}

static const struct row_field count_fields[] = {
	ROW_FIELD(outcome_count, time_us, ROW_INT64),
	ROW_FIELD(outcome_count, name, ROW_TEXT),
	ROW_WORD(outcome_count, kind, ROW_ENUM, "kind", &event_kind_words),
	ROW_FIELD(outcome_count, count, ROW_INT64),
};
static const struct row_type count_type = ROW_TYPE(outcome_count, count_fields);

int store_outcome_counts(struct db *db, const struct outcome_filter *filter,
	enum outcome_aspect aspect, bool by_step, struct outcome_counts *counts_r, struct err *err)
{
/* A domain may have had several companies, one after the other. */
#define OF_DOMAIN                                                                                  \
	"event_domain o CROSS JOIN outcome_count c"                                                \
	" ON c.company_id = o.company_id AND c.domain = o.domain"                                  \
	" WHERE o.domain = $domain"
#define OF_COMPANY "outcome_count c WHERE c.company_id = $company AND c.domain = $domain"
#define IN_TIME                                                                                    \
	" AND c.aspect = $aspect AND c.step = $step"                                               \
	" AND c.time_us >= $begin AND c.time_us < $end"
/* clang-format off */
#define BY_STEP(from)                                                           \
	"SELECT c.time_us, c.name, c.kind, sum(c.count) AS count"               \
	" FROM " from IN_TIME                                                   \
	" GROUP BY c.time_us, c.name, c.kind"                                   \
	" ORDER BY c.time_us, c.name, c.kind"
#define WHOLE(from)                                                             \
	"SELECT c.name, c.kind, sum(c.count) AS count"                          \
	" FROM " from IN_TIME                                                   \
	" GROUP BY c.name, c.kind"                                              \
	" ORDER BY c.name, c.kind"
	/* clang-format on */
	static const char *const sql[2][2] = {
		{WHOLE(OF_COMPANY), BY_STEP(OF_COMPANY)},
		{WHOLE(OF_DOMAIN), BY_STEP(OF_DOMAIN)},
	};
#undef WHOLE
#undef BY_STEP
#undef IN_TIME
#undef OF_COMPANY
#undef OF_DOMAIN
	const char *company_id = filter->company_id, *domain = filter->domain;
	bool all_companies = domain && company_id == NULL;

	*counts_r = (struct outcome_counts){0};
	return row_list(db,
		ROW_LIST(.sql = sql[all_companies][by_step],
			.params = DB_PARAMS(DB_TEXT("$aspect", aspects[aspect]),
				DB_TEXT("$step", steps[filter->step]),
				DB_INT("$begin", filter->begin_us), DB_INT("$end", filter->end_us),
				DB_TEXT("$domain", domain ? domain : ""),
				/* The last parameter, because with a domain alone there is none. */
				DB_GIVEN_TEXT("$company", all_companies ? NULL
							  : company_id  ? company_id
									: "")),
			.type = &count_type, ROW_INTO(counts_r)),
		err);
}

void store_outcome_counts_free(struct outcome_counts *counts)
{
	row_list_free(&count_type, counts->items, counts->n);
	*counts = (struct outcome_counts){0};
}
