/*
 * store_backlog: the tables outbox_flow, outbox_break, backlog_sample and backlog_company, and
 * counts of the outbox.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/outbox/store_backlog.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/store/company/store_pause.h"

enum {
	MINUTE_US = 60 * 1000 * 1000,
	FLOW_KEPT_MINUTES = 60,
	/* the longest delay after a failed attempt */
	PUT_OFF_US = 900 * 1000 * 1000,
};

static const struct row_field backlog_fields[] = {
	ROW_FIELD(backlog, id, ROW_ID),
	ROW_FIELD(backlog, name, ROW_TEXT),
	ROW_FIELD(backlog, waiting, ROW_INT64),
	ROW_FIELD(backlog, paused, ROW_INT64),
	ROW_FIELD(backlog, scheduled, ROW_INT64),
	ROW_FIELD(backlog, since_us, ROW_TIME),
	ROW_FIELD(backlog, done_us, ROW_TIME),
	ROW_FIELD(backlog, why, ROW_TEXT),
};
const struct row_type store_backlog_type = ROW_TYPE(backlog, backlog_fields);

/* The rows of the company owner.id that match both conditions. Of two lower bounds SQLite seeks by
 * the first, so the one that the index can use comes last. */
#define SOME(due, row)                                                                             \
	" FROM (SELECT *"                                                                          \
	"   FROM outbox s"                                                                         \
	"   WHERE s.company_id = owner.id AND " due                                                \
	" AND s.due_us > 0"                                                                        \
	"   ORDER BY s.due_us, s.email"                                                            \
	"   LIMIT $max) few" row
#define DUE             "s.due_us <= $now"
#define LATER           "s.due_us > $now AND s.due_us < " SQL_PAUSED
#define SOON            "s.due_us > $now AND s.due_us <= $now + $soon"
#define PAUSED          "s.due_us > " SQL_PAUSED
#define PUT_OFF         " WHERE attempts > 0 OR ticket_used <> 0 OR reason IS NOT NULL"
#define COUNT(due, row) "(SELECT count(*)" SOME(due, row) ")"

#define LIST(owner)                                                                                \
	owner " SELECT w.*,"                                                                       \
	      " (SELECT max(e.created_us, e.scheduled_us) FROM email e WHERE e.seq = w.first)"     \
	      "   AS since_us,"                                                                    \
	      " (SELECT c.name FROM company c WHERE c.id = w.id) AS name"                          \
	      " FROM (SELECT owner.id AS id,"                                                      \
	      "   " COUNT(DUE, "") " + " COUNT(SOON, PUT_OFF) " AS waiting,"                       \
	      "   " COUNT(LATER, "") " - " COUNT(SOON, PUT_OFF) " AS scheduled,"                   \
	      "   " COUNT(PAUSED, "") " AS paused,"                                                \
	      "   (SELECT min(email)"                                                              \
	      "     FROM (SELECT min(email) AS email" SOME(DUE, "")                                \
	      "       UNION ALL SELECT min(email)" SOME(SOON, PUT_OFF)                             \
	      "       UNION ALL SELECT min(email)" SOME(PAUSED, "") ") f) AS first,"               \
	      "   (SELECT reason"                                                                  \
	      "     FROM (SELECT reason"                                                           \
	      "       FROM outbox s"                                                               \
	      "       WHERE s.company_id = owner.id AND s.due_us > 0"                              \
	      "       AND s.due_us <= $now + $soon"                                                \
	      "       ORDER BY s.due_us, s.email"                                                           \
	      "       LIMIT $max) few"                                                               \
	      "     WHERE reason IS NOT NULL"                                                      \
	      "     LIMIT 1) AS why"                                                               \
	      "   FROM owner"                                                                      \
	      "   WHERE owner.id IS NOT NULL"                                                      \
	      "   LIMIT $limit) w"                                                                 \
	      " WHERE w.waiting + w.scheduled + w.paused > 0"

int store_backlog_list(struct db *db, const char *company_id, int limit, int64_t now_us,
	struct backlog_list *list_r, struct err *err)
{
	static const char sql_all[] = LIST(ROW_OWNERS("outbox", "due_us > 0"));
	static const char sql_company[] = LIST("WITH owner (id) AS (SELECT $company)");

	return row_list(db,
		ROW_LIST(.sql = company_id ? sql_company : sql_all,
			.params = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id),
				DB_INT("$limit", limit), DB_INT("$now", now_us),
				DB_INT("$soon", PUT_OFF_US), DB_INT("$max", BACKLOG_MAX)),
			.type = &store_backlog_type, ROW_INTO(list_r)),
		err);
}

void store_backlog_list_free(struct backlog_list *list)
{
	row_list_free(&store_backlog_type, list->items, list->n);
	*list = (struct backlog_list){0};
}

int store_outbox_flow(struct db *db, int64_t emails, int64_t now_us, struct err *err)
{
	static const char sql_flow[] =
		"INSERT INTO outbox_flow (minute_us, emails)"
		" VALUES ($minute, $emails)"
		" ON CONFLICT (minute_us)"
		" DO UPDATE SET emails = outbox_flow.emails + excluded.emails";
	static const char sql_old[] = "DELETE FROM outbox_flow WHERE minute_us < $oldest";
	int64_t minute_us = now_us - now_us % MINUTE_US;

	if (db_post(db, sql_flow,
		    DB_PARAMS(DB_INT("$minute", minute_us), DB_INT("$emails", emails)), err) < 0)
		return -1;
	return db_post(db, sql_old,
		DB_PARAMS(DB_INT("$oldest", minute_us - FLOW_KEPT_MINUTES * (int64_t)MINUTE_US)),
		err);
}

int store_outbox_rate(struct db *db, int64_t now_us, int64_t *per_hour_r, struct err *err)
{
	/* The first minute counts as a whole, the last one up to the present time. */
	static const char sql_rate[] =
		"SELECT coalesce(CAST(sum(emails) AS BIGINT) * 3600 * 1000000"
		"   / max(1000000, $now - min(minute_us)), 0)"
		" FROM outbox_flow"
		" WHERE minute_us > $since AND minute_us <= $now";

	return row_value(db, sql_rate,
		DB_PARAMS(DB_INT("$now", now_us),
			DB_INT("$since", now_us - BACKLOG_RATE_S * SECOND_US)),
		per_hour_r, err);
}

static const struct row_field break_fields[] = {
	ROW_FIELD(outbox_break, cause, ROW_TEXT),
	ROW_FIELD(outbox_break, words, ROW_TEXT),
	ROW_FIELD(outbox_break, opened_us, ROW_TIME),
	ROW_FIELD(outbox_break, closed_us, ROW_TIME),
};
const struct row_type store_break_type = ROW_TYPE(outbox_break, break_fields);

int store_break_open(
	struct db *db, const char *cause, const char *words, int64_t now_us, struct err *err)
{
	static const char sql_open[] =
		"INSERT INTO outbox_break (cause, words, opened_us, host)"
		" VALUES ($cause, $words, $now, $this_host)";
	static const char sql_old[] =
		"DELETE FROM outbox_break WHERE seq <= (SELECT max(seq) FROM outbox_break) - $kept";

	if (db_change(db, sql_open,
		    DB_PARAMS(DB_TEXT("$cause", cause), DB_TEXT("$words", words),
			    DB_INT("$now", now_us)),
		    err) < 0)
		return -1;
	return db_execute(db, sql_old, DB_PARAMS(DB_INT("$kept", BREAKS_KEPT)), err);
}

int store_break_close(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_close[] =
		"UPDATE outbox_break"
		" SET closed_us = max($now, opened_us)"
		" WHERE closed_us = 0 AND host IN ('', $this_host)";

	return db_execute(db, sql_close, DB_PARAMS(DB_INT("$now", now_us)), err);
}

int store_break_list(struct db *db, int limit, struct break_list *list_r, struct err *err)
{
	static const char sql_list[] =
		"SELECT cause, words, opened_us, closed_us"
		" FROM outbox_break"
		" ORDER BY seq DESC"
		" LIMIT $limit";

	return row_list(db,
		ROW_LIST(.sql = sql_list, .params = DB_PARAMS(DB_INT("$limit", limit)),
			.type = &store_break_type, ROW_INTO(list_r)),
		err);
}

void store_break_list_free(struct break_list *list)
{
	row_list_free(&store_break_type, list->items, list->n);
	*list = (struct break_list){0};
}

int store_backlog_sample(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO backlog_sample (time_us, outbox, queue)"
		" SELECT $time,"
		"   coalesce(sum(CASE WHEN last_event = 'staged' THEN count END), 0),"
		"   coalesce(sum(CASE WHEN last_event <> 'staged' THEN count END), 0)"
		" FROM open_count"
		" WHERE last_event IN ('staged', 'sent', 'delivery_delayed')"
		" ON CONFLICT (time_us)"
		" DO NOTHING";
	static const char sql_old[] = "DELETE FROM backlog_sample WHERE time_us < $old";
	static const char sql_old_companies[] = "DELETE FROM backlog_company WHERE time_us < $old";
	int64_t time_us = now_us - now_us % (BACKLOG_SAMPLE_S * SECOND_US);
	int added = db_change(db, sql_add, DB_PARAMS(DB_INT("$time", time_us)), err);

	if (added < 0 ||
		db_change(db, sql_old,
			DB_PARAMS(DB_INT("$old", time_us - BACKLOG_SAMPLE_DAYS * DAY_US)),
			err) < 0 ||
		db_change(db, sql_old_companies,
			DB_PARAMS(DB_INT("$old", time_us - BACKLOG_COMPANY_DAYS * DAY_US)),
			err) < 0)
		return -1;
	return added > 0;
}

int store_backlog_sample_companies(struct db *db, char last[static ID_SIZE], int64_t budget_us,
	int64_t now_us, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO backlog_company (company_id, time_us, outbox)"
		" SELECT $company, $hour, count(*)"
		" FROM (SELECT 1"
		"   FROM outbox"
		"   WHERE company_id = $company AND due_us > 0"
		"   LIMIT $max) few"
		" WHERE true"
		" ON CONFLICT (company_id, time_us)"
		" DO UPDATE SET outbox = max(backlog_company.outbox, excluded.outbox)";
	static const char sql_next[] =
		"SELECT company_id"
		" FROM outbox"
		" WHERE due_us > 0 AND company_id > $last"
		" ORDER BY company_id"
		" LIMIT 1";
	int64_t end_us = clock_monotonic_us() + budget_us;
	struct db_stmt *stmt;
	int found;

	while ((found = db_first(db, sql_next, DB_PARAMS(DB_TEXT("$last", last)), &stmt, err)) ==
		1) {
		snprintf(last, ID_SIZE, "%s", db_text(stmt, 0));
		db_reset(stmt);
		if (db_change(db, sql_add,
			    DB_PARAMS(DB_TEXT("$company", last),
				    DB_INT("$hour", now_us - now_us % HOUR_US),
				    DB_INT("$max", BACKLOG_MAX)),
			    err) < 0)
			return -1;
		if (clock_monotonic_us() >= end_us)
			break;
	}
	return found;
}

static const struct row_field sample_fields[] = {
	ROW_FIELD(backlog_sample, time_us, ROW_INT64),
	ROW_FIELD(backlog_sample, outbox, ROW_INT64),
	ROW_FIELD(backlog_sample, queue, ROW_INT64),
};
static const struct row_type sample_type = ROW_TYPE(backlog_sample, sample_fields);

int store_backlog_samples(struct db *db, const char *company_id, int64_t begin_us, int64_t end_us,
	int64_t step_us, struct backlog_samples *samples_r, struct err *err)
{
	static const char sql_all[] =
		"SELECT p.at_us AS time_us, max(p.outbox) AS outbox, max(p.queue) AS queue"
		" FROM (SELECT time_us - time_us % $step AS at_us, outbox, queue"
		"   FROM backlog_sample"
		"   WHERE time_us >= $begin AND time_us < $end) p"
		" GROUP BY p.at_us"
		" ORDER BY p.at_us";
	/* Where there is a sample of all and none of the company, nothing of it waited. */
	static const char sql_company[] =
		"SELECT p.at_us AS time_us, max(p.outbox) AS outbox, 0 AS queue"
		" FROM (SELECT time_us - time_us % $step AS at_us, outbox"
		"   FROM backlog_company"
		"   WHERE company_id = $company AND time_us >= $begin AND time_us < $end"
		"   UNION ALL SELECT time_us - time_us % $step AS at_us, 0"
		"   FROM backlog_sample"
		"   WHERE time_us >= $begin AND time_us < $end) p"
		" GROUP BY p.at_us"
		" ORDER BY p.at_us";

	*samples_r = (struct backlog_samples){0};
	return row_list(db,
		ROW_LIST(.sql = company_id ? sql_company : sql_all,
			.params = DB_PARAMS(DB_INT("$step", step_us), DB_INT("$begin", begin_us),
				DB_INT("$end", end_us), DB_GIVEN_TEXT("$company", company_id)),
			.type = &sample_type, ROW_INTO(samples_r)),
		err);
}

void store_backlog_samples_free(struct backlog_samples *samples)
{
	row_list_free(&sample_type, samples->items, samples->n);
	*samples = (struct backlog_samples){0};
}
