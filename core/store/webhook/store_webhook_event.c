/*
 * store_webhook_event: the rows of the tables webhook_event, webhook_attempt and webhook_cursor.
 */
#include "core/store/webhook/store_webhook_event.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"

static const char *const statuses[] = {
	[WEBHOOK_PENDING] = "pending",
	[WEBHOOK_ATTEMPTING] = "attempting",
	[WEBHOOK_SUCCESS] = "success",
	[WEBHOOK_FAILED] = "failed",
};
const struct row_words store_webhook_statuses = {statuses, WEBHOOK_STATUSES, false};

static const struct row_field event_fields[] = {
	ROW_FIELD(webhook_event, seq, ROW_INT64),
	ROW_FIELD(webhook_event, id, ROW_ID),
	ROW_FIELD(webhook_event, webhook_id, ROW_ID),
	ROW_FIELD(webhook_event, type, ROW_TEXT),
	ROW_FIELD(webhook_event, body, ROW_TEXT),
	ROW_WORD(webhook_event, status, ROW_ENUM, "status", &store_webhook_statuses),
	ROW_FIELD(webhook_event, attempts, ROW_INT64),
	ROW_FIELD(webhook_event, due_us, ROW_INT64),
	ROW_FIELD(webhook_event, then_us, ROW_INT64),
	ROW_FIELD(webhook_event, created_us, ROW_TIME),
};
static const struct row_type event_type = ROW_TYPE(webhook_event, event_fields);

/* The members that answers show. */
static const struct row_field shown_fields[] = {
	ROW_FIELD(webhook_event, id, ROW_ID),
	ROW_FIELD(webhook_event, webhook_id, ROW_ID),
	ROW_FIELD(webhook_event, type, ROW_TEXT),
	ROW_WORD(webhook_event, status, ROW_ENUM, "status", &store_webhook_statuses),
	ROW_FIELD(webhook_event, attempts, ROW_INT64),
	ROW_FIELD_AS(webhook_event, due_us, ROW_TIME, "next_attempt_us"),
	ROW_FIELD(webhook_event, created_us, ROW_TIME),
	ROW_FIELD_AS(webhook_event, body, ROW_JSON, "payload"),
};
const struct row_type store_webhook_event_type = {.name = "webhook_event",
	.size = sizeof(struct webhook_event),
	.fields = shown_fields,
	.n = ARRAY_SIZE(shown_fields),
	.whole = &event_type};

static const struct row_field attempt_fields[] = {
	ROW_FIELD(webhook_attempt, id, ROW_ID),
	ROW_FIELD_AS(webhook_attempt, http_status, ROW_INT64, "http_status"),
	ROW_FIELD(webhook_attempt, response, ROW_TEXT),
	ROW_FIELD(webhook_attempt, error, ROW_TEXT),
	ROW_FIELD(webhook_attempt, sent_us, ROW_TIME),
	ROW_FIELD(webhook_attempt, took_us, ROW_INT64),
};
const struct row_type store_webhook_attempt_type = ROW_TYPE(webhook_attempt, attempt_fields);

static const struct row_field match_fields[] = {
	ROW_FIELD(webhook_match, event, ROW_INT64),
	ROW_FIELD(webhook_match, webhook_id, ROW_ID),
	ROW_WORD(webhook_match, dialect, ROW_ENUM, "dialect", &store_webhook_dialects),
	ROW_FIELD(webhook_match, events, ROW_TEXT),
};
static const struct row_type match_type = ROW_TYPE(webhook_match, match_fields);

#define EVENT_SELECT                                                                               \
	"SELECT m.seq, m.id, m.webhook_id, m.type, m.body, m.status, m.attempts, m.due_us,"        \
	" m.then_us, m.created_us"                                                                 \
	" FROM webhook_event m"

/* 27 letters and digits: 160 bits. */
static void make_id(const char *prefix, char id[static ID_SIZE])
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint8_t random[2 * 27];
	char *to = stpcpy(id, prefix);

	secret_random(random, sizeof(random));
	for (size_t i = 0; i < 27; i++)
		*to++ = digits[(random[2 * i] << 8 | random[2 * i + 1]) % 62];
	*to = '\0';
}

void store_webhook_event_id(char id[static ID_SIZE])
{
	make_id("msg_", id);
}

int store_webhook_event_add(
	struct db *db, const struct webhook_event *event, int64_t event_seq, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO webhook_event (id, webhook_id, event, type, body, status, due_us,"
		"   created_us)"
		" VALUES ($id, $webhook, nullif($event, 0), $type, $body, 'pending', $now, $now)";

	return db_execute(db, sql_add,
		DB_PARAMS(DB_TEXT("$id", event->id), DB_TEXT("$webhook", event->webhook_id),
			DB_INT("$event", event_seq), DB_TEXT("$type", event->type),
			DB_TEXT("$body", event->body), DB_INT("$now", event->created_us)),
		err);
}

int store_webhook_event_find(struct db *db, const char *webhook_id, const char *id,
	struct webhook_event *event_r, struct err *err)
{
	static const char sql_find[] = EVENT_SELECT " WHERE m.id = $id AND m.webhook_id = $webhook";

	return row_get(db, sql_find, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$webhook", webhook_id)),
		&event_type, event_r, err);
}

int store_webhook_event_list(struct db *db, const char *webhook_id, const struct page *page,
	struct webhook_event_list *list_r, struct page_end *end_r, struct err *err)
{
	static const struct row_pager pager = {
		.cursor = "SELECT seq FROM webhook_event WHERE id = $id AND webhook_id = $webhook",
		.older = EVENT_SELECT
		" WHERE m.webhook_id = $webhook AND m.seq < $seq"
		" ORDER BY m.seq DESC"
		" LIMIT $limit",
		.order = ROW_BY_SEQ,
	};

	return row_page(db,
		ROW_LIST(.pager = &pager, .params = DB_PARAMS(DB_TEXT("$webhook", webhook_id)),
			.type = &event_type, .page = page, ROW_INTO(list_r), .end_r = end_r),
		err);
}

int store_webhook_attempt_list(struct db *db, int64_t event, const struct page *page,
	struct webhook_attempt_list *list_r, struct page_end *end_r, struct err *err)
{
	static const struct row_pager pager = {
		.cursor = "SELECT seq FROM webhook_attempt WHERE event = $event AND id = $id",
		.older = "SELECT id, http_status, response, error, sent_us, took_us"
			 " FROM webhook_attempt"
			 " WHERE event = $event AND seq < $seq"
			 " ORDER BY seq DESC"
			 " LIMIT $limit",
		.order = ROW_BY_SEQ,
	};

	return row_page(db,
		ROW_LIST(.pager = &pager, .params = DB_PARAMS(DB_INT("$event", event)),
			.type = &store_webhook_attempt_type, .page = page, ROW_INTO(list_r),
			.end_r = end_r),
		err);
}

int store_webhook_event_replay(struct db *db, const char *webhook_id, const char *id,
	int64_t since_us, int64_t until_us, struct err *err)
{
#define REPLAY                                                                                     \
	"UPDATE webhook_event"                                                                     \
	" SET then_us = iif(due_us = 1, then_us, due_us), due_us = 1"
	static const char sql_one[] = REPLAY " WHERE id = $id AND webhook_id = $webhook";
	static const char sql_span[] = REPLAY
		" WHERE seq IN (SELECT m.seq"
		"   FROM webhook_event m"
		"   WHERE m.webhook_id = $webhook"
		"   AND m.created_us >= $since AND m.created_us < $until"
		"   ORDER BY m.seq"
		"   LIMIT $limit)";
#undef REPLAY

	return id ? db_change(db, sql_one,
			    DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$webhook", webhook_id)), err)
		  : db_change(db, sql_span,
			    DB_PARAMS(DB_TEXT("$webhook", webhook_id), DB_INT("$since", since_us),
				    DB_INT("$until", until_us ? until_us : INT64_MAX),
				    DB_INT("$limit", WEBHOOK_REPLAY_MAX)),
			    err);
}

int store_webhook_event_due(struct db *db, const char *webhook_id, int64_t now_us, size_t limit,
	int64_t **seqs_r, size_t *n_r, struct err *err)
{
	static const char sql_due[] =
		"SELECT seq"
		" FROM webhook_event"
		" WHERE webhook_id = $webhook AND due_us > 0 AND due_us <= $now"
		" ORDER BY due_us, seq"
		" LIMIT $limit";
	struct seq {
		int64_t seq;
	};
	static const struct row_field fields[] = {ROW_FIELD(seq, seq, ROW_INT64)};
	static const struct row_type type = ROW_TYPE(seq, fields);

	return row_list(db,
		ROW_LIST(.sql = sql_due,
			.params = DB_PARAMS(DB_TEXT("$webhook", webhook_id), DB_INT("$now", now_us),
				DB_INT("$limit", (int64_t)limit)),
			.type = &type, .items_r = seqs_r, .n_r = n_r),
		err);
}

int store_webhook_event_hurry(struct db *db, int64_t latest_us, int64_t now_us, struct err *err)
{
	static const char sql_hurry[] =
		"UPDATE webhook_event"
		" SET due_us = iif(due_us > $latest, $now, due_us),"
		"   then_us = iif(then_us > $latest, $now, then_us)"
		" WHERE seq IN (SELECT m.seq"
		"   FROM webhook_event m"
		"   WHERE m.due_us > 0"
		"   AND (m.due_us > $latest OR (m.due_us = 1 AND m.then_us > $latest))"
		"   LIMIT $limit)";

	return db_change(db, sql_hurry,
		DB_PARAMS(DB_INT("$now", now_us), DB_INT("$latest", latest_us),
			DB_INT("$limit", WEBHOOK_EVENT_HURRY_MAX)),
		err);
}

int store_webhook_event_get(
	struct db *db, int64_t seq, struct webhook_event *event_r, struct err *err)
{
	static const char sql_get[] = EVENT_SELECT " WHERE m.seq = $seq AND m.due_us > 0";

	return row_get(db, sql_get, DB_PARAMS(DB_INT("$seq", seq)), &event_type, event_r, err);
}

int store_webhook_event_settle(struct db *db, const struct webhook_event *event, int64_t was_due_us,
	const struct webhook_attempt *attempt, struct err *err)
{
	static const char sql_settle[] =
		"UPDATE webhook_event"
		" SET attempts = attempts + 1, status = $status,"
		"   then_us = iif(due_us <> $was, $due, 0),"
		"   due_us = iif(due_us <> $was, due_us, $due)"
		" WHERE seq = $seq";
	static const char sql_attempt[] =
		"INSERT INTO webhook_attempt (id, event, http_status, response, error, sent_us,"
		"   took_us)"
		" VALUES ($id, $event, $status, $response, $error, $sent, $took)";
	char id[ID_SIZE];
	int changed = db_change(db, sql_settle,
		DB_PARAMS(DB_TEXT("$status", statuses[event->status]), DB_INT("$was", was_due_us),
			DB_INT("$due", event->due_us), DB_INT("$seq", event->seq)),
		err);

	/* An event that was removed meanwhile has no attempts. */
	if (changed <= 0)
		return changed;
	make_id("atmpt_", id);
	return db_execute(db, sql_attempt,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$event", event->seq),
			DB_INT("$status", attempt->http_status),
			DB_TEXT("$response", attempt->response), DB_TEXT("$error", attempt->error),
			DB_INT("$sent", attempt->sent_us), DB_INT("$took", attempt->took_us)),
		err);
}

int store_webhook_cursor_get(struct db *db, int64_t *seq_r, struct err *err)
{
	static const char sql_get[] = "SELECT seq FROM webhook_cursor";

	return row_value(db, sql_get, NULL, seq_r, err);
}

int store_webhook_match(struct db *db, int events, struct webhook_match_list *list_r,
	int64_t *cursor_r, int64_t *upto_r, struct err *err)
{
	static const char sql_upto[] =
		"SELECT max(seq) FROM (SELECT seq FROM event WHERE seq > $seq ORDER BY seq LIMIT "
		"$limit) few";
	static const char sql_match[] =
		"SELECT v.seq AS event, w.id AS webhook_id, w.dialect, w.events"
		" FROM event v"
		" CROSS JOIN webhook w ON w.company_id = v.company_id AND w.enabled = 1"
		"   AND w.from_seq < v.seq AND (w.domain IS NULL OR w.domain = v.domain)"
		" WHERE v.seq > $seq AND v.seq <= $upto"
		" ORDER BY v.seq, w.created_us, w.id";
	int64_t upto = 0;

	*list_r = (struct webhook_match_list){0};
	if (store_webhook_cursor_get(db, cursor_r, err) < 0 ||
		row_number(db, sql_upto,
			DB_PARAMS(DB_INT("$seq", *cursor_r), DB_INT("$limit", events)), &upto,
			err) < 0)
		return -1;
	*upto_r = upto > *cursor_r ? upto : *cursor_r;
	if (*upto_r == *cursor_r)
		return 0;
	return row_list(db,
		ROW_LIST(.sql = sql_match,
			.params = DB_PARAMS(DB_INT("$seq", *cursor_r), DB_INT("$upto", *upto_r)),
			.type = &match_type, ROW_INTO(list_r)),
		err);
}

void store_webhook_match_list_free(struct webhook_match_list *list)
{
	row_list_free(&match_type, list->items, list->n);
	*list = (struct webhook_match_list){0};
}

int store_webhook_cursor_set(struct db *db, int64_t seq, struct err *err)
{
	static const char sql_set[] = "UPDATE webhook_cursor SET seq = $seq";

	return db_execute(db, sql_set, DB_PARAMS(DB_INT("$seq", seq)), err);
}

int store_webhook_lease_get(struct db *db, const char *webhook_id, char **host_r, struct err *err)
{
	static const char sql_holder[] =
		"SELECT host FROM webhook_lease WHERE webhook_id = $webhook";

	return row_text(db, sql_holder, DB_PARAMS(DB_TEXT("$webhook", webhook_id)), host_r, err);
}

int store_webhook_lease_take(
	struct db *db, const char *webhook_id, const char *holder, int64_t beat, struct err *err)
{
	static const char sql_take[] =
		"INSERT INTO webhook_lease (webhook_id, host)"
		" VALUES ($webhook, $this_host)"
		" ON CONFLICT (webhook_id) DO UPDATE SET host = excluded.host"
		" WHERE webhook_lease.host = $holder"
		" AND NOT EXISTS (SELECT 1"
		"   FROM host_part p"
		"   WHERE p.host = $holder AND p.part = 'webhook' AND p.beat <> $beat)";

	return db_change(db, sql_take,
		DB_PARAMS(DB_TEXT("$webhook", webhook_id), DB_TEXT("$holder", holder),
			DB_INT("$beat", beat)),
		err);
}

int store_webhook_lease_end(struct db *db, struct err *err)
{
	static const char sql_end[] =
		"DELETE FROM webhook_lease"
		" WHERE host = $this_host"
		" AND NOT EXISTS (SELECT 1"
		"   FROM webhook_event m"
		"   WHERE m.webhook_id = webhook_lease.webhook_id AND m.due_us > 0)";

	return *db_host(db) ? db_change(db, sql_end, NULL, err) : 0;
}

int store_webhook_clean(struct db *db, int64_t before_us, int max, struct err *err)
{
	/* Events that wait for a disabled endpoint are removed at their time, too. */
	static const char sql_old[] =
		"DELETE FROM webhook_event"
		" WHERE seq IN (SELECT m.seq"
		"   FROM webhook_event m"
		"   LEFT JOIN webhook w ON w.id = m.webhook_id"
		"   WHERE m.created_us < $before AND (m.due_us = 0 OR w.enabled = 0)"
		"   ORDER BY m.created_us"
		"   LIMIT $max)";
	static const char sql_left[] =
		"DELETE FROM webhook_event"
		" WHERE seq IN (SELECT m.seq"
		"   FROM webhook_event m"
		"   WHERE m.webhook_id = (SELECT webhook_id FROM webhook_gone LIMIT 1)"
		"   LIMIT $max)";
	static const char sql_gone[] =
		"DELETE FROM webhook_gone"
		" WHERE webhook_id = (SELECT webhook_id FROM webhook_gone LIMIT 1)";
	int old = db_change(
		db, sql_old, DB_PARAMS(DB_INT("$max", max), DB_INT("$before", before_us)), err);
	int left = old < 0 ? -1 : db_change(db, sql_left, DB_PARAMS(DB_INT("$max", max)), err);
	int gone = left == 0 ? db_change(db, sql_gone, NULL, err) : left;

	return gone < 0 ? -1 : old == max || gone > 0;
}

int store_webhook_event_count(struct db *db, int64_t *waiting_r, struct err *err)
{
	static const char sql_count[] =
		"SELECT count(*) FROM (SELECT 1 FROM webhook_event WHERE due_us > 0 LIMIT 100000) few";

	return row_value(db, sql_count, NULL, waiting_r, err);
}

int store_webhook_stands_still(struct db *db, bool runs, int64_t now_us,
	char words_r[static ERR_TEXT_MAX], struct err *err)
{
	static const char sql_any[] = "SELECT 1 FROM webhook WHERE enabled = 1 LIMIT 1";
	/* The first event that was not matched yet. */
	static const char sql_behind[] =
		"SELECT recorded_us"
		" FROM event"
		" WHERE seq > (SELECT seq FROM webhook_cursor)"
		" ORDER BY seq"
		" LIMIT 1";
	int64_t since_us = 0, one;
	int found = row_number(db, sql_any, NULL, &one, err);

	if (found <= 0)
		return found;
	found = row_number(db, sql_behind, NULL, &since_us, err);
	if (found < 0)
		return -1;
	if (found > 0 && now_us - since_us > WEBHOOK_STILL_S * SECOND_US) {
		snprintf(words_r, ERR_TEXT_MAX,
			"Webhooks were told nothing of what happened in the last %lld minutes",
			(long long)((now_us - since_us) / (60 * SECOND_US)));
		return 1;
	}
	if (runs)
		return 0;
	snprintf(words_r, ERR_TEXT_MAX,
		"postern-webhook does not run, or cannot use the store, and there are webhooks");
	return 1;
}

void store_webhook_event_clear(struct webhook_event *event)
{
	row_clear(&event_type, event);
}
