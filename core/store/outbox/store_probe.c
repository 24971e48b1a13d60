/*
 * store_probe: the rows of the table probe: the probes of one day, some 2,880 by postern-httpd.
 */
#include "core/store/outbox/store_probe.h"

#include <string.h>

#include "core/store/row.h"

static const struct row_field probe_fields[] = {
	ROW_FIELD(probe, ticket, ROW_ID),
	ROW_FIELD(probe, nonce, ROW_ID),
	ROW_FIELD(probe, created_us, ROW_INT64),
	ROW_FIELD(probe, seen_us, ROW_INT64),
	ROW_FIELD(probe, queue_id, ROW_TEXT),
	ROW_WORD(probe, way, ROW_ENUM, "way", &store_email_ways),
	ROW_FIELD(probe, through, ROW_BOOL),
	ROW_FIELD(probe, changed, ROW_INT64),
	ROW_FIELD(probe, logged_us, ROW_INT64),
	ROW_FIELD(probe, taken_us, ROW_INT64),
	ROW_FIELD(probe, refusal, ROW_TEXT),
};
static const struct row_type probe_type = ROW_TYPE(probe, probe_fields);

int store_probe_add(struct db *db, int64_t now_us, enum email_way way, bool through,
	struct probe_secrets *secrets_r, struct err *err)
{
	static const char sql_prune[] = "DELETE FROM probe WHERE created_us < $before";
	static const char sql_add[] =
		"INSERT INTO probe (ticket, nonce, created_us, way, through, host)"
		" VALUES ($ticket, $nonce, $now, $way, $through, $this_host)";
	struct probe_secrets secrets;

	secret_ticket(secrets.ticket);
	secret_ticket(secrets.nonce);
	if (db_change(db, sql_prune,
		    DB_PARAMS(DB_INT("$before", now_us - STORE_PROBE_KEEP_S * INT64_C(1000000))),
		    err) < 0 ||
		db_change(db, sql_add,
			DB_PARAMS(DB_TEXT("$ticket", secrets.ticket),
				DB_TEXT("$nonce", secrets.nonce), DB_INT("$now", now_us),
				DB_TEXT("$way", store_email_ways.names[way]),
				DB_INT("$through", through)),
			err) < 0)
		return -1;
	*secrets_r = secrets;
	return 0;
}

int store_probe_get(struct db *db, const char *ticket, struct probe *probe_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT ticket, nonce, created_us, seen_us, queue_id, way, through, changed,"
		"   logged_us, taken_us, refusal"
		" FROM probe"
		" WHERE ticket = $ticket";

	return row_get(
		db, sql_get, DB_PARAMS(DB_TEXT("$ticket", ticket)), &probe_type, probe_r, err);
}

int store_probe_newest(struct db *db, int64_t *created_us_r, struct err *err)
{
	static const char sql_newest[] =
		"SELECT created_us"
		" FROM probe"
		" WHERE host = $this_host"
		" ORDER BY created_us DESC"
		" LIMIT 1";

	return row_number(db, sql_newest, NULL, created_us_r, err);
}

void store_probe_clear(struct probe *probe)
{
	row_clear(&probe_type, probe);
}

int store_probe_see(struct db *db, const char *ticket, const char *queue_id,
	enum probe_change changed, int64_t now_us, struct err *err)
{
	static const char sql_see[] =
		"UPDATE probe"
		" SET seen_us = $now, queue_id = $queue_id, changed = $changed"
		" WHERE ticket = $ticket AND seen_us = 0";

	return db_change(db, sql_see,
		DB_PARAMS(DB_TEXT("$ticket", ticket), DB_INT("$now", now_us),
			DB_TEXT("$queue_id", queue_id), DB_INT("$changed", changed)),
		err);
}

int store_probe_logged(struct db *db, const char *ticket, int64_t now_us, struct err *err)
{
	static const char sql_logged[] =
		"UPDATE probe"
		" SET logged_us = $now"
		" WHERE ticket = $ticket";

	return db_change(
		db, sql_logged, DB_PARAMS(DB_TEXT("$ticket", ticket), DB_INT("$now", now_us)), err);
}

int store_probe_taken(struct db *db, const char *ticket, int64_t now_us, struct err *err)
{
	static const char sql_taken[] =
		"UPDATE probe"
		" SET taken_us = $now"
		" WHERE ticket = $ticket";

	return db_change(
		db, sql_taken, DB_PARAMS(DB_TEXT("$ticket", ticket), DB_INT("$now", now_us)), err);
}

int store_probe_refused(struct db *db, const char *ticket, const char *refusal, struct err *err)
{
	static const char sql_refused[] =
		"UPDATE probe"
		" SET refusal = $refusal"
		" WHERE ticket = $ticket AND (through <> 0 OR seen_us = 0)";

	return db_change(db, sql_refused,
		DB_PARAMS(DB_TEXT("$ticket", ticket), DB_TEXT("$refusal", refusal)), err);
}

static const struct row_field notes_fields[] = {
	ROW_FIELD(postfix_notes, reloaded_us, ROW_INT64),
	ROW_FIELD(postfix_notes, taken_us, ROW_INT64),
};
static const struct row_type notes_type = ROW_TYPE(postfix_notes, notes_fields);

int store_postfix_notes_get(struct db *db, struct postfix_notes *notes_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT reloaded_us, taken_us FROM postfix_notes WHERE host = $this_host";

	return row_get(db, sql_get, NULL, &notes_type, notes_r, err);
}

int store_postfix_notes_set(struct db *db, const struct postfix_notes *notes, struct err *err)
{
	static const char sql_set[] =
		"INSERT INTO postfix_notes (host, reloaded_us, taken_us)"
		" VALUES ($this_host, $reloaded, $taken)"
		" ON CONFLICT (host)"
		" DO UPDATE SET reloaded_us = excluded.reloaded_us, taken_us = excluded.taken_us";

	return db_change(db, sql_set,
		DB_PARAMS(
			DB_INT("$reloaded", notes->reloaded_us), DB_INT("$taken", notes->taken_us)),
		err);
}
