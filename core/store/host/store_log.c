/*
 * store_log: how far Postfix's log was read, and what is missing of it.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/host/store_log.h"

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/row.h"

int store_log_cursor(struct db *db, const char *source, char **position_r, struct err *err)
{
	static const char sql_cursor[] =
		"SELECT position FROM log_cursor WHERE host = $this_host AND source = $source";

	return row_text(db, sql_cursor, DB_PARAMS(DB_TEXT("$source", source)), position_r, err);
}

int store_log_cursor_set(struct db *db, const char *source, const char *position, int64_t now_us,
	bool end, struct err *err)
{
	static const char sql_set[] =
		"INSERT INTO log_cursor (host, source, position, changed_us, end_us)"
		" VALUES ($this_host, $source, $position, $now, iif($end <> 0, $now, 0))"
		" ON CONFLICT (host, source)"
		" DO UPDATE SET position = excluded.position, changed_us = excluded.changed_us,"
		" end_us = iif($end <> 0, $now, log_cursor.end_us)";

	return db_post(db, sql_set,
		DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$position", position),
			DB_INT("$now", now_us), DB_INT("$end", end)),
		err);
}

int store_log_state(struct db *db, const char *host, struct log_state *state_r, struct err *err)
{
	static const char sql_read[] =
		"SELECT coalesce(max(changed_us), 0) FROM log_cursor WHERE host = $host";
	static const char sql_end[] =
		"SELECT coalesce(max(end_us), 0) FROM log_cursor WHERE host = $host";
	static const char sql_gaps[] =
		"SELECT count(*) FROM gap WHERE host = $host AND repaired_us = 0";
	/* A probe by any way is a session without a message, of which the log says nothing. */
	static const char sql_mute[] =
		"SELECT coalesce(min(seen_us), 0)"
		" FROM probe"
		" WHERE host = $host AND seen_us > 0 AND logged_us = 0 AND way <> 'any'"
		" AND created_us >"
		"   (SELECT max(created_us) FROM probe WHERE host = $host AND logged_us > 0)";
	const struct db_param *its = DB_PARAMS(
		DB_TEXT("$host", str_empty(host) ? db_host(db) : host));

	if (row_value(db, sql_read, its, &state_r->read_us, err) < 0 ||
		row_value(db, sql_end, its, &state_r->end_us, err) < 0 ||
		row_value(db, sql_mute, its, &state_r->mute_us, err) < 0 ||
		row_value(db, sql_gaps, its, &state_r->gaps, err) < 0)
		return -1;
	if (state_r->end_us < state_r->mute_us + STORE_LOG_END_S * SECOND_US)
		state_r->mute_us = 0;
	return 0;
}

bool log_state_is_current(const struct log_state *state, int64_t now_us)
{
	return state->mute_us == 0 && now_us - state->end_us < STORE_LOG_OLD_S * SECOND_US;
}

int store_log_silence(
	struct db *db, int64_t from_us, int64_t to_us, int64_t *since_us_r, struct err *err)
{
	enum { LOOK_MAX = 1000 };
	static const char sql_open[] =
		"SELECT s.decided_us"
		" FROM (SELECT e.seq, e.decided_us, e.last_event, e.state"
		"   FROM email e"
		"   WHERE e.last_event IN ('sent', 'delivery_delayed')"
		"   AND e.closed = 0"
		"   AND e.decided_us >= $from"
		"   AND e.decided_us < $to"
		"   AND e.host IN ('', $this_host)"
		"   ORDER BY e.decided_us DESC"
		"   LIMIT $max) s"
		" WHERE s.last_event = 'sent'"
		" AND s.state = 'sent'"
		" AND NOT EXISTS (SELECT 1 FROM queue_message h WHERE h.email = s.seq)"
		" LIMIT 1";
	/* Emails that the queue no longer had are closed, so the other statement does not find
	 * them. */
	static const char sql_lost[] =
		"SELECT e.decided_us"
		" FROM event v"
		" CROSS JOIN email e ON e.seq = v.email"
		" WHERE v.seq > (SELECT max(seq) FROM event) - $max"
		" AND v.kind = 'unknown'"
		" AND e.state = 'sent'"
		" AND e.last_event = 'sent'"
		" AND e.decided_us >= $from"
		" AND e.decided_us < $to"
		" AND e.host IN ('', $this_host)"
		" AND NOT EXISTS (SELECT 1 FROM queue_message h WHERE h.email = e.seq)"
		" ORDER BY v.seq DESC"
		" LIMIT 1";
	const struct db_param *params = DB_PARAMS(
		DB_INT("$from", from_us), DB_INT("$to", to_us), DB_INT("$max", LOOK_MAX));
	int found = row_number(db, sql_open, params, since_us_r, err);

	return found != 0 ? found : row_number(db, sql_lost, params, since_us_r, err);
}

int store_gap_add(struct db *db, const char *source, const char *why, int64_t from_us,
	int64_t to_us, struct err *err)
{
	static const char sql_more[] =
		"UPDATE gap"
		" SET to_us = max(to_us, $to), count = count + 1"
		" WHERE host = $this_host AND source = $source AND why = $why AND repaired_us = 0";
	static const char sql_add[] =
		"INSERT INTO gap (host, source, why, from_us, to_us, count)"
		" VALUES ($this_host, $source, $why, $from, $to, 1)";
	int changed = db_change(db, sql_more,
		DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$why", why), DB_INT("$to", to_us)),
		err);

	if (changed != 0)
		return changed < 0 ? -1 : 0;
	return db_execute(db, sql_add,
		DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$why", why),
			DB_INT("$from", from_us), DB_INT("$to", to_us)),
		err);
}

int store_gap_repaired(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_repaired[] =
		"UPDATE gap SET repaired_us = $now WHERE host = $this_host AND repaired_us = 0";

	return db_change(db, sql_repaired, DB_PARAMS(DB_INT("$now", now_us)), err);
}
