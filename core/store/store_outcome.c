/*
 * store_outcome: the tables outcome_count and backlog_sample.
 */
#include "core/store/store_outcome.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/row.h"

static const char *const aspects[] = {"reason", "provider", "delay"};
static const char *const steps[] = {"hour", "day"};

int store_outcome_add(struct db *db, const struct outcome *outcome, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO outcome_count (company_id, aspect, step, time_us, name, kind, count)"
		" VALUES ($company, $aspect, 'hour', $hour, $name, $kind, $count),"
		"   ($company, $aspect, 'day', $day, $name, $kind, $count),"
		"   ('', $aspect, 'hour', $hour, $name, $kind, $count),"
		"   ('', $aspect, 'day', $day, $name, $kind, $count)"
		" ON CONFLICT (company_id, aspect, step, time_us, name, kind)"
		" DO UPDATE SET count = outcome_count.count + excluded.count";
	const char *aspect = aspects[outcome->aspect];

	return db_change(db, sql_add,
		       DB_PARAMS(DB_TEXT("$company", outcome->company_id),
			       DB_TEXT("$aspect", aspect), DB_INT("$hour", outcome->hour_us),
			       DB_INT("$day", outcome->hour_us - outcome->hour_us % DAY_US),
			       DB_TEXT("$name", outcome->name),
			       DB_TEXT("$kind", event_kind_name(outcome->kind)),
			       DB_INT("$count", outcome->count)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_outcome_clean(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_old[] =
		"DELETE FROM outcome_count"
		" WHERE step = 'hour' AND time_us < $old";

	return db_change(db, sql_old,
		       DB_PARAMS(DB_INT("$old", now_us - OUTCOME_HOURS_DAYS * DAY_US)), err) < 0
		       ? -1
		       : 0;
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
	static const char sql_by_step[] =
		"SELECT time_us, name, kind, count"
		" FROM outcome_count"
		" WHERE company_id = $company AND aspect = $aspect AND step = $step"
		" AND time_us >= $begin AND time_us < $end"
		" ORDER BY time_us, name, kind";
	static const char sql_whole[] =
		"SELECT name, kind, sum(count) AS count"
		" FROM outcome_count"
		" WHERE company_id = $company AND aspect = $aspect AND step = $step"
		" AND time_us >= $begin AND time_us < $end"
		" GROUP BY name, kind"
		" ORDER BY name, kind";
	const char *company_id = filter->company_id;

	*counts_r = (struct outcome_counts){0};
	return row_all(db, by_step ? sql_by_step : sql_whole,
		DB_PARAMS(DB_TEXT("$company", company_id ? company_id : ""),
			DB_TEXT("$aspect", aspects[aspect]), DB_TEXT("$step", steps[filter->step]),
			DB_INT("$begin", filter->begin_us), DB_INT("$end", filter->end_us)),
		&count_type, &counts_r->items, &counts_r->n, err);
}

void store_outcome_counts_free(struct outcome_counts *counts)
{
	row_list_free(&count_type, counts->items, counts->n);
	*counts = (struct outcome_counts){0};
}

int store_backlog_sample(struct db *db, int64_t outbox, int64_t now_us, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO backlog_sample (time_us, outbox, queue)"
		" SELECT $time, $outbox, coalesce(sum(count), 0)"
		" FROM open_count"
		" WHERE last_event IN ('sent', 'delivery_delayed')"
		" ON CONFLICT (time_us)"
		" DO NOTHING";
	static const char sql_old[] = "DELETE FROM backlog_sample WHERE time_us < $old";
	int64_t time_us = now_us - now_us % (BACKLOG_SAMPLE_S * SECOND_US);

	if (db_change(db, sql_add, DB_PARAMS(DB_INT("$time", time_us), DB_INT("$outbox", outbox)),
		    err) < 0)
		return -1;
	return db_change(db, sql_old,
		       DB_PARAMS(DB_INT("$old", time_us - BACKLOG_SAMPLE_DAYS * DAY_US)), err) < 0
		       ? -1
		       : 0;
}

static const struct row_field sample_fields[] = {
	ROW_FIELD(backlog_sample, time_us, ROW_INT64),
	ROW_FIELD(backlog_sample, outbox, ROW_INT64),
	ROW_FIELD(backlog_sample, queue, ROW_INT64),
};
static const struct row_type sample_type = ROW_TYPE(backlog_sample, sample_fields);

int store_backlog_samples(struct db *db, int64_t begin_us, int64_t end_us, int64_t step_us,
	struct backlog_samples *samples_r, struct err *err)
{
	static const char sql_samples[] =
		"SELECT s.at_us AS time_us, max(s.outbox) AS outbox, max(s.queue) AS queue"
		" FROM (SELECT time_us - time_us % $step AS at_us, outbox, queue"
		"   FROM backlog_sample"
		"   WHERE time_us >= $begin AND time_us < $end) s"
		" GROUP BY s.at_us"
		" ORDER BY s.at_us";

	*samples_r = (struct backlog_samples){0};
	return row_all(db, sql_samples,
		DB_PARAMS(DB_INT("$step", step_us), DB_INT("$begin", begin_us),
			DB_INT("$end", end_us)),
		&sample_type, &samples_r->items, &samples_r->n, err);
}

void store_backlog_samples_free(struct backlog_samples *samples)
{
	row_list_free(&sample_type, samples->items, samples->n);
	*samples = (struct backlog_samples){0};
}
