/*
 * store_held: the rows of the table held. Invariant: there are never more than STORE_HELD_MAX rows
 * and a few.
 */
#include "core/store/host/store_held.h"

#include <string.h>

#include "core/base/clock.h"

enum {
	PRUNE_EVERY = 16, /* after this many new rows */
	PRUNE_MAX = 32,
	/* Arrival times are in whole seconds. */
	SLACK_US = 2 * SECOND_US,
};

#define FIELDS                                                                                     \
	ROW_FIELD(held, id, ROW_ID), ROW_FIELD(held, queue_id, ROW_TEXT),                          \
		ROW_FIELD(held, host, ROW_TEXT), ROW_FIELD(held, reason, ROW_TEXT),                \
		ROW_FIELD(held, reason_text, ROW_TEXT), ROW_FIELD(held, domain, ROW_TEXT),         \
		ROW_FIELD_AS(held, from, ROW_TEXT, "header_from"),                                 \
		ROW_FIELD(held, held_us, ROW_TIME), ROW_FIELD(held, read_us, ROW_TIME),            \
		ROW_FIELD(held, sender, ROW_TEXT), ROW_FIELD(held, recipients, ROW_LINES),         \
		ROW_FIELD(held, subject, ROW_TEXT), ROW_FIELD(held, size, ROW_INT64),              \
		ROW_FIELD(held, decision, ROW_TEXT), ROW_FIELD(held, decided_us, ROW_TIME),        \
		ROW_FIELD(held, answer, ROW_TEXT)
#define COLUMNS                                                                                    \
	"id, queue_id, host, reason, domain, header_from, held_us, read_us, sender, recipients,"   \
	" subject, size, decision, decided_us, answer"

static const struct row_field held_fields[] = {FIELDS};
static const struct row_field whole_fields[] = {FIELDS, ROW_FIELD(held, header, ROW_TEXT)};
const struct row_type store_held_whole_type = ROW_TYPE(held, whole_fields);
const struct row_type store_held_type = {
	.name = "held",
	.size = sizeof(struct held),
	.fields = held_fields,
	.n = ARRAY_SIZE(held_fields),
	.whole = &store_held_whole_type,
};

static const char *const decision_names[] = {
	[HELD_RECHECK] = "recheck",
	[HELD_RELEASE] = "release",
	[HELD_DROP] = "drop",
};
const struct row_words held_decisions = {decision_names, ARRAY_SIZE(decision_names), true};

int store_held_note(struct db *db, const struct held_note *note, struct err *err)
{
	static const char sql_note[] =
		"INSERT INTO held (id, queue_id, held_us, reason, domain, header_from, host)"
		" VALUES ($id, $queue_id, $held_us, $reason, $domain, $header_from,"
		"   $this_host)" DB_RETURNING_SEQ;
	static const char sql_prune[] =
		"DELETE FROM held"
		" WHERE seq IN (SELECT seq"
		"   FROM held"
		"   WHERE seq <= (SELECT max(seq) FROM held) - $keep"
		"   ORDER BY seq"
		"   LIMIT $max)";
	struct held held = {
		.queue_id = row_bounded(note->queue_id),
		.reason = row_bounded(note->reason),
		.domain = row_bounded(note->domain),
		.from = row_bounded(note->from),
		.held_us = note->now_us,
	};
	int64_t seq = 0;
	/* Postfix reuses queue ids. The new row must be the newest, because pruning goes by seq. */
	int result = store_held_forget(db, held.queue_id, err);

	id_new(held.id);
	if (result == 0)
		result = row_insert(db, sql_note, NULL, &store_held_type, &held, &seq, err);
	store_held_clear(&held);
	if (result < 0)
		return -1;
	if (seq % PRUNE_EVERY != 0)
		return 0;
	return db_execute(db, sql_prune,
		DB_PARAMS(DB_INT("$keep", STORE_HELD_MAX), DB_INT("$max", PRUNE_MAX)), err);
}

int store_held_get(struct db *db, const char *queue_id, int64_t arrival_s, struct held *held_r,
	struct err *err)
{
	static const char sql_held[] = "SELECT " COLUMNS
				       " FROM held"
				       " WHERE queue_id = $queue_id AND held_us >= $arrived"
				       " AND host IN ('', $this_host)"
				       " ORDER BY held_us DESC"
				       " LIMIT 1";

	return row_get(db, sql_held,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id),
			DB_INT("$arrived", arrival_s * SECOND_US - SLACK_US)),
		&store_held_type, held_r, err);
}

int store_held_find(struct db *db, const char *id, struct held *held_r, struct err *err)
{
	static const char sql_held[] = "SELECT " COLUMNS ", header FROM held WHERE id = $id";

	return row_get(
		db, sql_held, DB_PARAMS(DB_TEXT("$id", id)), &store_held_whole_type, held_r, err);
}

int store_held_page(struct db *db, const char *company_id, const struct page *page,
	struct held_list *list_r, struct page_end *end_r, struct err *err)
{
#define OF_COMPANY "domain IN (SELECT d.name FROM domain d WHERE d.company_id = $company) AND "
/* clang-format off */
#define PAGER(condition) {                                                      \
	.cursor = "SELECT seq FROM held WHERE " condition "id = $id",           \
	.older = "SELECT " COLUMNS                                              \
		" FROM held"                                                    \
		" WHERE " condition "seq < $seq"                                \
		" ORDER BY seq DESC"                                            \
		" LIMIT $limit",                                                \
	.order = ROW_BY_SEQ                                                     \
}
	/* clang-format on */
	static const struct row_pager pagers[] = {PAGER(""), PAGER(OF_COMPANY)};
#undef PAGER
#undef OF_COMPANY

	return row_page(db,
		ROW_LIST(.pager = &pagers[company_id != NULL],
			.params = company_id ? DB_PARAMS(DB_TEXT("$company", company_id)) : NULL,
			.type = &store_held_type, .page = page, ROW_INTO(list_r), .end_r = end_r),
		err);
}

void store_held_list_free(struct held_list *list)
{
	row_list_free(&store_held_whole_type, list->items, list->n);
	*list = (struct held_list){0};
}

int store_held_decide(
	struct db *db, const char *id, enum held_decision decision, int64_t now_us, struct err *err)
{
	static const char sql_decide[] =
		"UPDATE held"
		" SET decision = $decision, decided_us = $now, answer = ''"
		" WHERE id = $id";

	return db_change(db, sql_decide,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$decision", decision_names[decision]),
			DB_INT("$now", now_us)),
		err);
}

int store_held_open(struct db *db, int max, struct held_list *list_r, struct err *err)
{
	static const char sql_open[] = "SELECT " COLUMNS
				       " FROM held"
				       " WHERE (decision IS NOT NULL OR read_us = 0)"
				       " AND host IN ('', $this_host)"
				       " ORDER BY seq"
				       " LIMIT $max";

	return row_list(db,
		ROW_LIST(.sql = sql_open, .params = DB_PARAMS(DB_INT("$max", max)),
			.type = &store_held_type, ROW_INTO(list_r)),
		err);
}

int store_held_late(struct db *db, int64_t before_us, int64_t *count_r, struct err *err)
{
	static const char sql_late[] =
		"SELECT count(*)"
		" FROM held"
		" WHERE decision IS NOT NULL"
		"   AND decided_us < $before";

	return row_value(db, sql_late, DB_PARAMS(DB_INT("$before", before_us)), count_r, err);
}

int store_held_set_read(struct db *db, const struct held *held, struct err *err)
{
	static const char sql_read[] =
		"UPDATE held"
		" SET read_us = $read_us, sender = $sender, recipients = $recipients,"
		"   subject = $subject, size = $size, header = $header"
		" WHERE queue_id = $queue_id AND host IN ('', $this_host)";

	return row_write(db, sql_read, NULL, &store_held_whole_type, held, err) < 0 ? -1 : 0;
}

int store_held_set_answer(struct db *db, const char *queue_id, const char *answer, struct err *err)
{
	static const char sql_answer[] =
		"UPDATE held"
		" SET decision = NULL, answer = $answer"
		" WHERE queue_id = $queue_id AND host IN ('', $this_host)";

	return db_execute(db, sql_answer,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_TEXT("$answer", answer)), err);
}

void store_held_clear(struct held *held)
{
	row_clear(&store_held_whole_type, held);
}

int store_held_count(struct db *db, int64_t *count_r, struct err *err)
{
	static const char sql_count[] = "SELECT count(*) FROM held";

	return row_value(db, sql_count, NULL, count_r, err);
}

int store_held_elsewhere(struct db *db, int64_t *count_r, char **host_r, struct err *err)
{
	static const char sql_others[] =
		"SELECT count(*), min(host) FROM held WHERE host NOT IN ('', $this_host)";
	struct db_stmt *stmt;
	int found;

	*host_r = NULL;
	found = db_first(db, sql_others, NULL, &stmt, err);
	if (found < 0)
		return -1;
	*count_r = db_int(stmt, 0);
	*host_r = db_copy(stmt, 1);
	db_reset(stmt);
	return 0;
}

int store_held_queue_ids(
	struct db *db, int64_t before_us, int max, struct strv *ids_r, struct err *err)
{
	static const char sql_ids[] =
		"SELECT queue_id"
		" FROM held"
		" WHERE held_us < $before AND host IN ('', $this_host)"
		" ORDER BY seq"
		" LIMIT $max";

	return row_texts(db, sql_ids, DB_PARAMS(DB_INT("$before", before_us), DB_INT("$max", max)),
		ids_r, err);
}

int store_held_forget(struct db *db, const char *queue_id, struct err *err)
{
	static const char sql_forget[] =
		"DELETE FROM held WHERE queue_id = $queue_id AND host IN ('', $this_host)";

	return db_execute(db, sql_forget, DB_PARAMS(DB_TEXT("$queue_id", queue_id)), err);
}
