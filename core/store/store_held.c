/*
 * store_held: the rows of the table held.
 *
 * Invariant: there are never more than STORE_HELD_MAX rows and a few.
 */
#include "core/store/store_held.h"

#include "core/base/clock.h"
#include "core/store/row.h"

enum {
	PRUNE_EVERY = 16, /* new rows */
	PRUNE_MAX = 32,
	/* Arrival times are in whole seconds. */
	SLACK_US = 2 * SECOND_US,
};

static const struct row_field held_fields[] = {
	ROW_FIELD(held, queue_id, ROW_TEXT),
	ROW_FIELD(held, reason, ROW_TEXT),
	ROW_FIELD(held, domain, ROW_TEXT),
	ROW_FIELD_AS(held, from, ROW_TEXT, "header_from"),
	ROW_FIELD(held, held_us, ROW_INT64),
};
static const struct row_type held_type = ROW_TYPE(held, held_fields);

static int prune(struct db *db, struct err *err)
{
	static const char sql_prune[] =
		"DELETE FROM held"
		" WHERE seq IN (SELECT seq"
		"   FROM held"
		"   WHERE seq <= (SELECT max(seq) FROM held) - $keep"
		"   ORDER BY seq"
		"   LIMIT $max)";

	return db_change(db, sql_prune,
		       DB_PARAMS(DB_INT("$keep", STORE_HELD_MAX), DB_INT("$max", PRUNE_MAX)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_held_note(struct db *db, const struct held_note *note, struct err *err)
{
	static const char sql_note[] =
		"INSERT INTO held (queue_id, held_us, reason, domain, header_from)"
		" VALUES ($queue_id, $held_us, $reason, $domain, $header_from)"
		" RETURNING seq";
	struct held held = {
		.queue_id = row_bounded(note->queue_id),
		.reason = row_bounded(note->reason),
		.domain = row_bounded(note->domain),
		.from = row_bounded(note->from),
		.held_us = note->now_us,
	};
	int64_t seq = 0;
	/* Postfix uses queue ids again. The new row is the newest: prune() goes by seq. */
	int result = store_held_forget(db, held.queue_id, err);

	if (result == 0)
		result = row_write_returning(db, sql_note, NULL, &held_type, &held, &seq, err);
	store_held_clear(&held);
	if (result == 0)
		return err_set(err, ERR_INTERNAL, "no row was written");
	if (result < 0)
		return -1;
	return seq % PRUNE_EVERY == 0 ? prune(db, err) : 0;
}

int store_held_get(struct db *db, const char *queue_id, int64_t arrival_s, struct held *held_r,
	struct err *err)
{
	static const char sql_held[] =
		"SELECT queue_id, reason, domain, header_from, held_us"
		" FROM held"
		" WHERE queue_id = $queue_id AND held_us >= $arrived";

	return row_get(db, sql_held,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id),
			DB_INT("$arrived", arrival_s * SECOND_US - SLACK_US)),
		&held_type, held_r, err);
}

void store_held_clear(struct held *held)
{
	row_clear(&held_type, held);
}

int store_held_count(struct db *db, int64_t *count_r, struct err *err)
{
	static const char sql_count[] = "SELECT count(*) FROM held";

	return row_number(db, sql_count, NULL, count_r, err) < 0 ? -1 : 0;
}

int store_held_queue_ids(
	struct db *db, int64_t before_us, int max, struct strv *ids_r, struct err *err)
{
	static const char sql_ids[] =
		"SELECT queue_id"
		" FROM held"
		" WHERE held_us < $before"
		" ORDER BY seq"
		" LIMIT $max";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_ids, DB_PARAMS(DB_INT("$before", before_us), DB_INT("$max", max)),
		    &stmt, err) != 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1) {
		_cleanup_free_ char *id = db_copy(stmt, 0);

		strv_add(ids_r, id);
	}
	return found;
}

int store_held_forget(struct db *db, const char *queue_id, struct err *err)
{
	static const char sql_forget[] = "DELETE FROM held WHERE queue_id = $queue_id";

	return db_change(db, sql_forget, DB_PARAMS(DB_TEXT("$queue_id", queue_id)), err) < 0 ? -1
											     : 0;
}
