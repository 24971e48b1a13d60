/*
 * store_clean: how long each kind of row is kept that goes by its age.
 *
 * A message that comes with a ticket that was removed counts as one without: an
 * exclusive domain refuses it.
 */
#include "core/store/store_clean.h"

/* Each removes at most $max rows, the oldest first, from an index that has no
 * others or few. */
static const char sql_emails[] =
	"DELETE FROM email WHERE seq IN (SELECT seq FROM email"
	" WHERE state = 'staged' AND queue_id IS NULL AND created_us <= $old"
	" ORDER BY created_us LIMIT $max)";
static const char sql_tickets[] =
	"DELETE FROM superseded_ticket WHERE ticket IN"
	" (SELECT ticket FROM superseded_ticket WHERE created_us <= $old"
	" ORDER BY created_us LIMIT $max)";

/* How many rows went, or -1. */
static int clean(struct db *db, const char *sql, int64_t now_us, int max,
	struct err *err)
{
	return db_change(db, sql,
		DB_PARAMS(DB_INT("$old", now_us - STORE_CLEAN_KEEP_S *
							  INT64_C(1000000)),
			DB_INT("$max", max)),
		err);
}

int store_clean(struct db *db, int64_t now_us, int max, struct err *err)
{
	int emails, tickets, keys;

	if ((emails = clean(db, sql_emails, now_us, max, err)) < 0 ||
		(tickets = clean(db, sql_tickets, now_us, max, err)) < 0 ||
		(keys = store_idempotency_clean(db, now_us, max, err)) < 0)
		return -1;
	return emails == max || tickets == max || keys == max;
}
