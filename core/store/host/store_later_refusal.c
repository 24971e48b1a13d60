/*
 * store_later_refusal: the rows of the table later_refusal.
 */
#include "core/store/host/store_later_refusal.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/row.h"

struct later_refusal {
	char *queue_id;
	char *text;
	int64_t n;
};

static const struct row_field fields[] = {
	ROW_FIELD(later_refusal, queue_id, ROW_TEXT),
	ROW_FIELD(later_refusal, text, ROW_TEXT),
	ROW_FIELD(later_refusal, n, ROW_INT64),
};
static const struct row_type type = ROW_TYPE(later_refusal, fields);

int store_later_refusal_add(
	struct db *db, const char *queue_id, const char *text, int64_t now_us, struct err *err)
{
	static const char sql_prune[] = "DELETE FROM later_refusal WHERE refused_us < $old";
	static const char sql_add[] =
		"INSERT INTO later_refusal (host, queue_id, refused_us, text)"
		" SELECT $this_host, $queue_id, $now, $text"
		" WHERE (SELECT count(*) FROM later_refusal) < $max"
		" ON CONFLICT (host, queue_id) DO NOTHING";
	_cleanup_free_ char *shown = row_bounded(text);

	if (db_change(db, sql_prune, DB_PARAMS(DB_INT("$old", now_us - DAY_US)), err) < 0)
		return -1;
	return db_execute(db, sql_add,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_INT("$now", now_us),
			DB_TEXT("$text", shown), DB_INT("$max", LATER_REFUSALS_MAX)),
		err);
}

int store_later_refusal_add_email(
	struct db *db, const char *id_or_ticket, const char *text, int64_t now_us, struct err *err)
{
	static const char sql_sent[] =
		"SELECT queue_id"
		" FROM email"
		" WHERE (id = $which OR ticket = $which)"
		" AND state = 'sent'"
		" AND queue_id <> ''";
	struct later_refusal sent;
	int found = row_get(
		db, sql_sent, DB_PARAMS(DB_TEXT("$which", id_or_ticket)), &type, &sent, err);

	if (found <= 0)
		return found;
	found = store_later_refusal_add(db, sent.queue_id, text, now_us, err);
	row_clear(&type, &sent);
	return found;
}

int store_later_refusal_count(
	struct db *db, int64_t since_us, int64_t *n_r, char **text_r, struct err *err)
{
	static const char sql_count[] =
		"SELECT text,"
		" (SELECT count(*) FROM later_refusal WHERE refused_us >= $since) AS n"
		" FROM later_refusal"
		" WHERE refused_us >= $since"
		" ORDER BY refused_us DESC"
		" LIMIT 1";
	struct later_refusal last = {0};
	int found = row_get(
		db, sql_count, DB_PARAMS(DB_INT("$since", since_us)), &type, &last, err);

	if (found < 0)
		return -1;
	*n_r = last.n;
	*text_r = last.text;
	return 0;
}
