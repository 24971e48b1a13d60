/*
 * store_event: the events of emails, recipient by recipient.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_event.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/store_email.h"

/* Log times may be in whole seconds, and a message may be recorded shortly before or after its
 * line. */
#define SLACK_US INT64_C(5000000)
/* How long a message may be in the queue; Postfix's default is 5 days. */
#define LIFETIME_US (31 * DAY_US)

static const char *const hows[] = {
	[MESSAGE_RECORDED] = "milter",
	[MESSAGE_FORWARDED] = "forwarded",
	[MESSAGE_QUEUED_AS] = "queued_as",
	[MESSAGE_REQUEUED] = "orig_id",
	[MESSAGE_GIVEN_BACK] = "message_id",
};
static const struct row_words how_words = {hows, ARRAY_SIZE(hows), false};

static const struct row_field message_fields[] = {
	ROW_FIELD(queue_message, queue_id, ROW_TEXT),
	ROW_FIELD(queue_message, since_us, ROW_INT64),
	ROW_FIELD(queue_message, email, ROW_INT64),
	ROW_FIELD(queue_message, n, ROW_INT64),
	ROW_FIELD(queue_message, parent, ROW_TEXT),
	ROW_FIELD(queue_message, recipients, ROW_INT64),
	ROW_WORD(queue_message, how, ROW_ENUM, "how", &how_words),
	ROW_FIELD(queue_message, closed_us, ROW_INT64),
	ROW_FIELD(queue_message, has_end, ROW_BOOL),
	ROW_WORD(queue_message, ended, ROW_ENUM, "ended", &delivery_status_words),
	ROW_FIELD(queue_message, ended_us, ROW_INT64),
};
static const struct row_type message_type = ROW_TYPE(queue_message, message_fields);

/* A queue id is unique on its host alone. */
#define ITS_HOST " AND host IN ('', $this_host)"

#define MESSAGE_COLUMNS                                                                            \
	"h.queue_id, h.since_us, h.email, coalesce(h.n, -1) AS n, h.parent, h.recipients,"         \
	" h.how, h.closed_us, h.ended IS NOT NULL AS has_end,"                                     \
	" coalesce(h.ended, 'queued') AS ended, h.ended_us"

void queue_message_clear(struct queue_message *message)
{
	row_clear(&message_type, message);
}

/* Finds the message that the milter recorded under the queue id and that has no row yet. */
static int find_recorded(struct db *db, const struct db_param *params,
	struct queue_message *message_r, struct err *err)
{
	static const char sql_email[] =
		"SELECT queue_id, decided_us AS since_us, seq AS email, -1 AS n, 'milter' AS how"
		" FROM email"
		" WHERE queue_id = $id AND state = 'sent' AND decided_us BETWEEN $from AND $to"
		" AND host IN ('', $this_host)"
		" ORDER BY decided_us DESC"
		" LIMIT 1";
	int found = row_get(db, sql_email, params, &message_type, message_r, err);

	if (found == 1)
		message_r->is_new = true;
	return found;
}

static int find_message(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err)
{
	static const char sql_message[] =
		"SELECT " MESSAGE_COLUMNS
		" FROM queue_message h"
		" WHERE h.queue_id = $id AND h.since_us BETWEEN $from AND $to"
		" AND h.host IN ('', $this_host)"
		" ORDER BY h.since_us DESC"
		" LIMIT 1";
	const struct db_param *params = DB_PARAMS(DB_TEXT("$id", queue_id),
		DB_INT("$from", time_us - LIFETIME_US), DB_INT("$to", time_us + ahead_us));
	struct queue_message message, newer;
	int found = row_get(db, sql_message, params, &message_type, &message, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return find_recorded(db, params, message_r, err);
	if (message.closed_us == 0 || time_us <= message.closed_us + SLACK_US) {
		*message_r = message;
		return 1;
	}
	/* The message is gone and its queue id was reused: by an email, or by mail that is not
	 * ours. */
	found = find_recorded(db, params, &newer, err);
	if (found == 1 && newer.since_us > message.since_us)
		*message_r = newer;
	else if (found == 1)
		queue_message_clear(&newer), found = 0;
	queue_message_clear(&message);
	return found;
}

int store_message_find(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err)
{
	int found = find_message(db, queue_id, time_us, SLACK_US, message_r, err);

	return found != 0 || ahead_us <= SLACK_US
		       ? found
		       : find_message(db, queue_id, time_us, ahead_us, message_r, err);
}

int store_message_add(struct db *db, const struct queue_message *message, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO queue_message (host, queue_id, since_us, email, n, parent, how,"
		"   recipients)"
		" VALUES ($this_host, $queue_id, $since_us, $email, nullif($n, -1), $parent, $how,"
		"   $recipients)"
		" ON CONFLICT (queue_id, since_us, host)"
		" DO UPDATE SET n = excluded.n, parent = excluded.parent, how = excluded.how"
		" WHERE queue_message.how = 'message_id' OR excluded.how = 'forwarded'";

	return row_post(db, sql_add, NULL, &message_type, message, err);
}

int store_message_expect(struct db *db, const struct queue_message *message, struct err *err)
{
	static const char sql_expect[] =
		"UPDATE queue_message"
		" SET recipients = $recipients"
		" WHERE queue_id = $queue_id AND since_us = $since_us" ITS_HOST;

	return row_post(db, sql_expect, NULL, &message_type, message, err);
}

int store_message_close(
	struct db *db, const struct queue_message *message, int64_t time_us, struct err *err)
{
	static const char sql_close[] =
		"UPDATE queue_message"
		" SET closed_us = $now"
		" WHERE queue_id = $queue_id AND since_us = $since_us AND closed_us = 0" ITS_HOST;

	return row_post(
		db, sql_close, DB_PARAMS(DB_INT("$now", time_us)), &message_type, message, err);
}

int store_message_end(struct db *db, const struct queue_message *message,
	enum delivery_status ended, int64_t time_us, struct err *err)
{
	static const char sql_end[] =
		"UPDATE queue_message"
		" SET ended = $word, ended_us = $now"
		" WHERE queue_id = $queue_id AND since_us = $since_us AND ended IS NULL" ITS_HOST;

	return row_post(db, sql_end,
		DB_PARAMS(DB_INT("$now", time_us), DB_TEXT("$word", delivery_status_name(ended))),
		&message_type, message, err);
}

/* Most Message-IDs begin with the email's id. */
int store_message_emails(struct db *db, const char *message_id, int64_t time_us, int64_t ahead_us,
	int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err)
{
#define QUEUED_EMAIL                                                                               \
	"SELECT e.seq"                                                                             \
	" FROM email e"                                                                            \
	" WHERE e.message_id = $message_id"                                                        \
	" AND e.state = 'sent'"                                                                    \
	" AND e.host IN ('', $this_host)"                                                          \
	" AND e.decided_us BETWEEN $from AND $to"
	static const char sql_own[] = QUEUED_EMAIL " AND e.id = $id LIMIT $max";
	static const char sql_chosen[] = QUEUED_EMAIL
		" AND substr(e.message_id, 2, 36) <> e.id"
		" ORDER BY e.seq DESC"
		" LIMIT $max";
#undef QUEUED_EMAIL
	char begin[ID_SIZE] = "", id[ID_SIZE];
	const char *sql = sql_chosen;
	struct db_stmt *stmt;
	int n = 0, result;

	if (strlen(message_id) > ID_SIZE)
		*stpncpy(begin, message_id + 1, ID_SIZE - 1) = '\0';
	for (bool own = id_parse(begin, id);; own = false) {
		const struct db_param params[] = {
			DB_TEXT("$message_id", message_id),
			DB_INT("$from", time_us - LIFETIME_US),
			DB_INT("$to", time_us + SLACK_US + ahead_us),
			DB_INT("$max", MESSAGE_EMAILS_MAX),
			{.name = own ? "$id" : NULL, .kind = DB_PARAM_TEXT, .text = id},
			{.name = NULL},
		};

		if (db_start(db, own ? sql_own : sql, params, &stmt, err) != 0)
			return -1;
		while ((result = db_step(stmt, err)) == 1)
			emails_r[n++] = db_int(stmt, 0);
		if (result < 0)
			return -1;
		if (!own || n > 0)
			return n;
	}
}

int store_ticket_message_add(
	struct db *db, const char *queue_id, int64_t since_us, int64_t email, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO ticket_message (host, queue_id, since_us, email)"
		" SELECT $this_host, $queue_id, $since, $email"
		" WHERE NOT EXISTS (SELECT 1"
		"   FROM ticket_message"
		"   WHERE queue_id = $queue_id AND email = $email" ITS_HOST ")";

	return db_change(db, sql_add,
		       DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_INT("$since", since_us),
			       DB_INT("$email", email)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_ticket_message_end(
	struct db *db, const char *queue_id, int64_t time_us, bool left, struct err *err)
{
	static const char sql_end[] =
		"UPDATE ticket_message"
		" SET ended = $word, ended_us = $now"
		" WHERE queue_id = $queue_id AND ended IS NULL" ITS_HOST;

	return db_change(db, sql_end,
		       DB_PARAMS(DB_TEXT("$queue_id", queue_id),
			       DB_TEXT("$word", left ? "left" : "expired"),
			       DB_INT("$now", time_us)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_ticket_ends(struct db *db, const char *company_id, int64_t since_us,
	struct ticket_ends *ends_r, struct err *err)
{
	static const char sql_left[] =
		"SELECT count(*)"
		" FROM ticket_message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.ended = 'left'"
		" AND m.ended_us >= $since"
		" AND ($company IS NULL OR e.company_id = $company)";
	static const char sql_expired[] =
		"SELECT count(*)"
		" FROM ticket_message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.ended = 'expired'"
		" AND m.ended_us >= $since"
		" AND ($company IS NULL OR e.company_id = $company)";
	const struct db_param *params = DB_PARAMS(
		DB_INT("$since", since_us), DB_TEXT("$company", company_id));

	return row_number(db, sql_left, params, &ends_r->left, err) < 0 ||
			       row_number(db, sql_expired, params, &ends_r->expired, err) < 0
		       ? -1
		       : 0;
}

int store_ticket_message_find(
	struct db *db, const char *queue_id, int64_t time_us, char **ticket_r, struct err *err)
{
	static const char sql_ticket[] =
		"SELECT e.ticket"
		" FROM ticket_message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.queue_id = $queue_id AND m.since_us BETWEEN $from AND $to"
		" AND m.host IN ('', $this_host)"
		" AND e.host IN ('', $this_host)"
		" ORDER BY m.since_us DESC"
		" LIMIT 1";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_ticket,
		    DB_PARAMS(DB_TEXT("$queue_id", queue_id),
			    DB_INT("$from", time_us - LIFETIME_US),
			    DB_INT("$to", time_us + SLACK_US)),
		    &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found == 1) {
		*ticket_r = db_copy(stmt, 0);
		db_reset(stmt);
	}
	return found;
}

const char *message_how_name(enum message_how how)
{
	return hows[how];
}

int store_messages_of_email(
	struct db *db, int64_t email, struct queue_messages *list_r, struct err *err)
{
	static const char sql_messages[] = "SELECT " MESSAGE_COLUMNS
					   " FROM queue_message h"
					   " WHERE h.email = $email"
					   " ORDER BY h.since_us, h.queue_id";

	return row_all(db, sql_messages, DB_PARAMS(DB_INT("$email", email)), &message_type,
		&list_r->items, &list_r->n, err);
}

void queue_messages_free(struct queue_messages *list)
{
	row_list_free(&message_type, list->items, list->n);
	*list = (struct queue_messages){0};
}

static const struct row_field event_fields[] = {
	ROW_FIELD(email_event, seq, ROW_INT64),
	ROW_FIELD(email_event, email_id, ROW_ID),
	ROW_FIELD(email_event, n, ROW_INT64),
	ROW_FIELD(email_event, recipient, ROW_TEXT),
	ROW_FIELD(email_event, domain, ROW_TEXT),
	ROW_WORD(email_event, kind, ROW_ENUM, "kind", &event_kind_words),
	ROW_FIELD(email_event, attempt, ROW_INT64),
	ROW_FIELD(email_event, occurred_us, ROW_INT64),
	ROW_FIELD(email_event, recorded_us, ROW_INT64),
	ROW_FIELD(email_event, address, ROW_TEXT),
	ROW_FIELD(email_event, relay, ROW_TEXT),
	ROW_FIELD(email_event, dsn, ROW_TEXT),
	ROW_FIELD(email_event, text, ROW_TEXT),
	ROW_FIELD(email_event, source, ROW_TEXT),
	ROW_FIELD(email_event, id, ROW_ID),
	ROW_FIELD(email_event, message_id, ROW_TEXT),
	ROW_FIELD(email_event, sender, ROW_TEXT),
	ROW_FIELD_AS(email_event, from, ROW_TEXT, "header_from"),
	ROW_FIELD_AS(email_event, to, ROW_TEXT, "header_to"),
	ROW_FIELD(email_event, subject, ROW_TEXT),
	ROW_FIELD(email_event, tags, ROW_TEXT),
	ROW_FIELD(email_event, variables, ROW_TEXT),
	ROW_FIELD(email_event, to_all, ROW_TEXT),
	ROW_FIELD(email_event, email_us, ROW_INT64),
	ROW_FIELD(email_event, is_first, ROW_BOOL),
	ROW_FIELD(email_event, is_repeat, ROW_BOOL),
	ROW_FIELD(email_event, company_id, ROW_ID),
	ROW_FIELD(email_event, company_name, ROW_TEXT),
	ROW_FIELD(email_event, host, ROW_TEXT),
};
static const struct row_type event_type = ROW_TYPE(email_event, event_fields);

/* The key as a UUID: 8-4-4-4-12 digits. */
#define EVENT_COLUMNS                                                                              \
	"v.seq, e.id AS email_id, v.n, r.address AS recipient, v.domain,"                          \
	" v.kind, v.attempt, v.occurred_us, v.recorded_us, v.address, "                            \
	"v.relay,"                                                                                 \
	" v.dsn, v.text, v.source, lower(substr(hex(v.key), 1, 8) || '-' ||"                       \
	" substr(hex(v.key), 9, 4) || '-' || substr(hex(v.key), 13, 4) || '-'"                     \
	" || substr(hex(v.key), 17, 4) || '-' || substr(hex(v.key), 21)) AS "                      \
	"id"
#define EVENT_TABLES                                                                               \
	" FROM event v"                                                                            \
	" JOIN email e ON e.seq = v.email"                                                         \
	" JOIN email_recipient r ON r.email = v.email AND r.n = v.n"

void store_event_list_free(struct event_list *list)
{
	row_list_free(&event_type, list->items, list->n);
	*list = (struct event_list){0};
}

int store_event_of_email(struct db *db, int64_t email, struct event_list *list_r, struct err *err)
{
	static const char sql_list[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
				       " WHERE v.email = $email"
				       " ORDER BY v.seq";
	struct rows rows;

	if (row_list(db, sql_list, DB_PARAMS(DB_INT("$email", email)), &event_type, ROWS_ALL, &rows,
		    err) < 0)
		return -1;
	*list_r = (struct event_list){.items = rows.items, .n = rows.n};
	return 0;
}

/* For one email all seqs are sorted, which an index contains; only rows of the page are read. */
int store_event_after(struct db *db, int64_t after_seq, int64_t email, int limit,
	struct event_list *list_r, struct err *err)
{
	static const char sql_all[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
				      " WHERE v.seq > $seq"
				      " ORDER BY v.seq"
				      " LIMIT $limit";
	static const char sql_email[] = "SELECT " EVENT_COLUMNS EVENT_TABLES
					" WHERE v.seq IN (SELECT seq"
					"   FROM event"
					"   WHERE email = $email AND seq > $seq"
					"   ORDER BY seq"
					"   LIMIT $limit)"
					" ORDER BY v.seq";
	struct db_param params[] = {
		DB_INT("$seq", after_seq),
		DB_INT("$limit", limit + INT64_C(1)),
		DB_INT("$email", email),
		{.name = NULL},
	};
	struct rows rows;

	if (email == 0)
		params[2].name = NULL;
	if (row_list(db, email ? sql_email : sql_all, params, &event_type, (size_t)limit, &rows,
		    err) < 0)
		return -1;
	*list_r = (struct event_list){.items = rows.items, .n = rows.n, .more = rows.more};
	return 0;
}

int store_event_newest(struct db *db, int64_t *seq_r, struct err *err)
{
	static const char sql_newest[] = "SELECT coalesce(max(seq), 0) FROM event";

	return row_number(db, sql_newest, NULL, seq_r, err) < 0 ? -1 : 0;
}

/* Parses a public id. */
static bool read_key(const char *id, uint8_t key_r[static EVENT_KEY_LEN])
{
	char text[ID_SIZE];
	const char *p = text;

	if (!id_parse(id, text))
		return false;
	for (size_t i = 0; i < EVENT_KEY_LEN; i++, p += 2) {
		if (*p == '-')
			p++;
		key_r[i] = (uint8_t)ascii_hex_pair(p);
	}
	return true;
}

int store_event_page_of_email(struct db *db, int64_t email, const char *after, int limit,
	struct event_list *list_r, struct err *err)
{
	static const char sql_seq[] = "SELECT seq FROM event WHERE key = $key AND email = $email";
	uint8_t key[EVENT_KEY_LEN];
	int64_t seq = 0;
	int found = 1;

	if (*after && !read_key(after, key))
		return 0;
	if (*after)
		found = row_number(db, sql_seq,
			DB_PARAMS(DB_BLOB("$key", key, EVENT_KEY_LEN), DB_INT("$email", email)),
			&seq, err);
	if (found != 1)
		return found;
	return store_event_after(db, seq, email, limit, list_r, err) < 0 ? -1 : 1;
}

/* recorded_us and seq increase together, so the time of an event, or of the next one if it was
 * removed, bounds the events on either side. */
static int bound_time(struct db *db, int64_t seq, bool begins, int64_t *begin_us, int64_t *end_us,
	struct err *err)
{
	static const char sql_time[] =
		"SELECT recorded_us FROM event WHERE seq >= $seq ORDER BY seq LIMIT 1";
	int64_t time_us;
	int found = row_number(db, sql_time, DB_PARAMS(DB_INT("$seq", seq)), &time_us, err);

	if (found == 1 && begins && time_us > *begin_us)
		*begin_us = time_us;
	if (found == 1 && !begins && time_us < *end_us)
		*end_us = time_us;
	return found < 0 ? -1 : 0;
}

/* clang-format off */
/* text, number: operators that keep SQLite from using the index of the domain. */
#define BEHIND(text, number, side)                                             \
	" v.company_id" text " = $company AND v.domain" text " = $domain"      \
	" AND v.recorded_us" number " BETWEEN $begin AND $end"                 \
	" AND v.seq" number " " side " $seq"
#define IN_ORDER(order) " ORDER BY v.recorded_us " order ", v.seq " order
#define ANY_OF(array, condition) \
	" AND ($" array " IS NULL OR EXISTS (SELECT 1" \
	"     FROM json_each($" array ") j" \
	"     WHERE " condition "))"
/* "+" makes SQLite use the recipients of the email; the other index has all emails to the address.
 * Conditions on indexed columns come first, so an event of another kind costs no look-up of its
 * row. */
#define FITS                                                                   \
	" AND ($kinds = '' OR instr($kinds, ' ' || v.kind || ' ') > 0)"        \
	ANY_OF("recipients", "r.address = j.value COLLATE NOCASE")             \
	ANY_OF("message_ids", "e.message_id = '<' || j.value || '>'")          \
	ANY_OF("senders", "instr(lower(e.header_from), lower(j.value)) > 0"    \
		" OR e.sender = j.value COLLATE NOCASE")                       \
	ANY_OF("subjects", "instr(lower(e.subject), lower(j.value)) > 0")      \
	ANY_OF("tags", "EXISTS (SELECT 1 FROM email_tag g"                     \
		" WHERE g.email = e.seq AND g.tag = lower(j.value))")          \
	ANY_OF("to", "EXISTS (SELECT 1 FROM email_recipient o"                 \
		" WHERE o.email = e.seq AND +o.address = j.value"              \
		" COLLATE NOCASE)")
#define EMAIL_COLUMNS ", e.message_id, e.sender, e.header_from," \
	" e.subject, c.tags, c.variables, (SELECT group_concat(t.text, ', ')" \
	"   FROM (SELECT coalesce(mailbox, address) AS text" \
	"     FROM email_recipient" \
	"     WHERE email = e.seq AND kind = 'to'" \
	"     ORDER BY n" \
	"     LIMIT 20) t) AS header_to"
#define EMAIL_TABLES(event) " FROM " event \
	" CROSS JOIN email e ON e.seq = v.email" \
	" CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n" \
	" CROSS JOIN email_content c ON c.seq = v.email" \
	" WHERE"
#define WITH_EMAIL(event) "SELECT " EVENT_COLUMNS EMAIL_COLUMNS EMAIL_TABLES(event)
/* clang-format on */

int store_event_get(struct db *db, int64_t seq, struct email_event *event_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT " EVENT_COLUMNS EMAIL_COLUMNS
		", e.created_us AS email_us, (SELECT json_group_array(t.text)"
		"   FROM (SELECT coalesce(mailbox, address) AS text"
		"     FROM email_recipient"
		"     WHERE email = e.seq AND kind = 'to'"
		"     ORDER BY n) t) AS to_all, v.n = (SELECT min(o.n)"
		"   FROM email_recipient o"
		"   WHERE o.email = e.seq AND o.state IS NOT NULL) AS is_first,"
		" EXISTS (SELECT 1"
		"   FROM event o"
		"   WHERE o.email = v.email AND o.n = v.n AND o.kind = v.kind"
		"   AND o.seq < v.seq) AS is_repeat" EMAIL_TABLES("event v") " v.seq = $seq";

	return row_get(db, sql_get, DB_PARAMS(DB_INT("$seq", seq)), &event_type, event_r, err);
}

void store_event_clear(struct email_event *event)
{
	row_clear(&event_type, event);
}

/* For few emails it is faster to read all of their events. */
enum { FEW_EMAILS = 100 };

/* Finds the seqs of the company's emails that can match, if they are few, as a JSON array. Returns
 * 1; 0 if there are many, or no filter leads to them; -1 on error. */
static int find_few(
	struct db *db, const struct event_filter *filter, struct buf *emails, struct err *err)
{
	static const char sql_messages[] =
		"SELECT e.seq"
		" FROM json_each($texts) j"
		" CROSS JOIN email e ON e.id = substr(j.value, 1, 36)"
		" AND e.company_id || '' = $company"
		" WHERE e.message_id = '<' || j.value || '>'"
		" UNION SELECT e.seq"
		" FROM json_each($texts) j"
		" CROSS JOIN email e ON e.message_id = '<' || j.value || '>'"
		" AND e.company_id = $company"
		" AND substr(e.message_id, 2, 36) <> e.id"
		" LIMIT $max";
	static const char sql_recipients[] =
		"SELECT r.email"
		" FROM json_each($texts) j"
		" CROSS JOIN email_recipient r ON r.address = j.value COLLATE NOCASE"
		" AND r.company_id = $company"
		" LIMIT $max";
	static const char sql_tags[] =
		"SELECT g.email"
		" FROM json_each($texts) j"
		" CROSS JOIN email_tag g ON g.tag = lower(j.value) AND g.company_id = $company"
		" LIMIT $max";
	/* The filters that usually match fewest emails come first. */
	const struct {
		const char *texts;
		const char *sql;
	} ways[] = {
		{filter->message_ids, sql_messages},
		{filter->recipients, sql_recipients},
		{filter->to, sql_recipients},
		{filter->tags, sql_tags},
		{NULL, NULL},
	};
	struct db_stmt *stmt;
	size_t way = 0;
	int result, n = 0;

	while (ways[way].sql && ways[way].texts == NULL)
		way++;
	if (ways[way].sql == NULL)
		return 0;
	if (db_start(db, ways[way].sql,
		    DB_PARAMS(DB_TEXT("$texts", ways[way].texts),
			    DB_TEXT("$company", filter->company_id),
			    DB_INT("$max", FEW_EMAILS + 1)),
		    &stmt, err) != 0)
		return -1;
	buf_add_char(emails, '[');
	while ((result = db_step(stmt, err)) == 1)
		buf_printf(emails, "%s%lld", n++ ? "," : "", (long long)db_int(stmt, 0));
	buf_add_char(emails, ']');
	return result < 0 ? -1 : n <= FEW_EMAILS;
}

int store_event_find(struct db *db, const char *company_id, const struct event_cursor *cursor,
	int64_t *seq_r, struct err *err)
{
	static const char sql_event[] =
		"SELECT v.seq"
		" FROM email e"
		" CROSS JOIN event v ON v.email = e.seq AND v.key = $key"
		" WHERE e.id = $email AND ($company IS NULL OR e.company_id || '' = $company)";
	uint8_t key[EVENT_KEY_LEN];

	if (!read_key(cursor->id, key))
		return 0;
	return row_number(db, sql_event,
		DB_PARAMS(DB_BLOB("$key", key, EVENT_KEY_LEN), DB_TEXT("$email", cursor->email_id),
			DB_TEXT("$company", company_id)),
		seq_r, err);
}

int store_event_seq(struct db *db, const struct event_filter *filter,
	const struct event_cursor *cursor, int64_t *seq_r, struct err *err)
{
#define SAME_TIME(side, order)                                                                     \
	"SELECT seq"                                                                               \
	" FROM event"                                                                              \
	" WHERE company_id = $company AND domain = $domain AND recorded_us " side                  \
	" $time"                                                                                   \
	" ORDER BY recorded_us" order ", seq" order " LIMIT 1"
	static const char *const sql_near[] = {SAME_TIME("<=", " DESC"), SAME_TIME(">=", "")};
#undef SAME_TIME
	bool up = filter->ascending;
	int64_t seq = up ? INT64_MAX - 2 : 0;
	int found;

	if (*cursor->email_id == '\0') {
		*seq_r = 0;
		return 0;
	}
	found = store_event_find(db, filter->company_id, cursor, seq_r, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (row_number(db, sql_near[up],
		    DB_PARAMS(DB_TEXT("$company", filter->company_id),
			    DB_TEXT("$domain", filter->domain),
			    DB_INT("$time", cursor->recorded_us)),
		    &seq, err) < 0)
		return -1;
	*seq_r = up ? seq - 1 : seq + 1;
	return 0;
}

/* The kinds as FITS compares them. */
static void add_kinds(struct buf *text, unsigned kinds)
{
	for (unsigned i = 0; i < EVENT_KINDS; i++)
		if (kinds & (1u << i))
			buf_printf(text, " %s ", event_kind_name((enum event_kind)i));
}

/* Read in the order of the index; the events of few emails are sorted. */
int store_event_page(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err)
{
#define LAST(side, order)                                                                          \
	"SELECT v.seq"                                                                             \
	" FROM event v"                                                                            \
	" WHERE" BEHIND("", "", side) IN_ORDER(order) " LIMIT 1 OFFSET $max"
#define PAGE(side, until, order)                                                                   \
	WITH_EMAIL("event v")                                                                      \
	BEHIND("", "", side)                                                                       \
	" AND v.seq " until " $last" FITS IN_ORDER(order) " LIMIT $limit"
#define OF_FEW(side, order)                                                                        \
	WITH_EMAIL(                                                                                \
		"(SELECT DISTINCT CAST(value AS BIGINT) AS seq FROM json_each($emails)) m"         \
		" CROSS JOIN event v ON v.email = m.seq")                                          \
	BEHIND(" || ''", " + 0", side) FITS IN_ORDER(order) " LIMIT $limit"
	static const char *const lasts[] = {LAST("<", "DESC"), LAST(">", "ASC")};
	static const char *const pages[] = {PAGE("<", ">=", "DESC"), PAGE(">", "<=", "ASC")};
	static const char *const of_few[] = {OF_FEW("<", "DESC"), OF_FEW(">", "ASC")};
#undef LAST
#undef PAGE
#undef OF_FEW
	_cleanup_buf_ struct buf kinds = BUF_INIT, emails = BUF_INIT;
	bool up = filter->ascending;
	int64_t begin_us = filter->begin_us, seq = filter->after_seq;
	int64_t end_us = filter->end_us ? filter->end_us : INT64_MAX;
	int64_t last = up ? INT64_MAX : 0;
	struct rows rows;
	int few, cut = 0;

	add_kinds(&kinds, filter->kinds);
	if (seq == 0 && !up)
		seq = INT64_MAX;
	few = find_few(db, filter, &emails, err);
	if (few < 0 || (filter->after_seq && bound_time(db, seq, up, &begin_us, &end_us, err) < 0))
		return -1;
	if (!few)
		cut = row_number(db, lasts[up],
			DB_PARAMS(DB_TEXT("$domain", filter->domain),
				DB_TEXT("$company", filter->company_id), DB_INT("$begin", begin_us),
				DB_INT("$end", end_us), DB_INT("$seq", seq),
				DB_INT("$max", EVENT_PAGE_MAX - 1)),
			&last, err);
	if (cut == 1 && bound_time(db, last, !up, &begin_us, &end_us, err) < 0)
		return -1;
	const struct db_param params[] = {
		DB_TEXT("$domain", filter->domain),
		DB_INT("$begin", begin_us),
		DB_INT("$end", end_us),
		DB_INT("$seq", seq),
		DB_TEXT("$kinds", buf_str(&kinds)),
		DB_TEXT("$company", filter->company_id),
		DB_TEXT("$recipients", filter->recipients),
		DB_TEXT("$message_ids", filter->message_ids),
		DB_TEXT("$senders", filter->senders),
		DB_TEXT("$subjects", filter->subjects),
		DB_TEXT("$tags", filter->tags),
		DB_TEXT("$to", filter->to),
		DB_INT("$limit", filter->limit + INT64_C(1)),
		few ? (struct db_param)DB_TEXT("$emails", buf_str(&emails))
		    : (struct db_param)DB_INT("$last", last),
		{.name = NULL},
	};
	if (cut < 0 || row_list(db, few ? of_few[up] : pages[up], params, &event_type,
			       (size_t)filter->limit, &rows, err) < 0)
		return -1;
	*list_r = (struct event_list){
		rows.items, rows.n, rows.more, cut && !rows.more ? last : 0, 0};
	return 0;
}

int store_event_cursor(struct db *db, int64_t seq, struct event_cursor *cursor_r, struct err *err)
{
	static const char sql_event[] = "SELECT " EVENT_COLUMNS EVENT_TABLES " WHERE v.seq = $seq";
	struct email_event event;
	int found = row_get(
		db, sql_event, DB_PARAMS(DB_INT("$seq", seq)), &event_type, &event, err);

	*cursor_r = (struct event_cursor){0};
	if (found <= 0)
		return found;
	memcpy(cursor_r->email_id, event.email_id, ID_SIZE);
	memcpy(cursor_r->id, event.id, ID_SIZE);
	cursor_r->recorded_us = event.recorded_us;
	row_clear(&event_type, &event);
	return 1;
}

/* Reads an index in its order, up to EVENT_PAGE_MAX entries. */
int store_event_recent(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err)
{
#define OF_ALL     "event v WHERE"
#define OF_COMPANY "event v INDEXED BY event_by_company WHERE v.company_id = $company AND"
#define NEWEST(scope)                                                                              \
	"SELECT v.seq FROM " scope                                                                 \
	" v.seq > 0"                                                                               \
	" ORDER BY v.seq DESC"                                                                     \
	" LIMIT 1"
#define LAST(scope, side, order)                                                                   \
	"SELECT v.seq FROM " scope " v.seq " side                                                  \
	" $seq"                                                                                    \
	" ORDER BY v.seq " order " LIMIT 1 OFFSET $max"
#define PAGE(index, company, side, until, order)                                                   \
	"SELECT " EVENT_COLUMNS                                                                    \
	", e.subject, e.host, v.company_id,"                                                       \
	" (SELECT p.name FROM company p WHERE p.id = v.company_id) AS company_name"                \
	" FROM event v" index                                                                      \
	" CROSS JOIN email e ON e.seq = v.email"                                                   \
	" CROSS JOIN email_recipient r ON r.email = v.email AND r.n = v.n"                         \
	" WHERE " company "v.seq " side " $seq AND v.seq " until                                   \
	" $last"                                                                                   \
	" AND ($domain IS NULL OR v.domain = $domain)"                                             \
	" AND ($kinds = '' OR instr($kinds, ' ' || v.kind || ' ') > 0)" ANY_OF("recipients",       \
		"r.address = j.value COLLATE NOCASE") " ORDER BY v.seq " order " LIMIT $limit"
#define BY_COMPANY " INDEXED BY event_by_company"
#define IN_COMPANY "v.company_id = $company AND "
	static const char *const newest[] = {NEWEST(OF_ALL), NEWEST(OF_COMPANY)};
	static const char *const lasts[2][2] = {
		{LAST(OF_ALL, "<", "DESC"), LAST(OF_ALL, ">", "ASC")},
		{LAST(OF_COMPANY, "<", "DESC"), LAST(OF_COMPANY, ">", "ASC")},
	};
	static const char *const pages[2][2] = {
		{PAGE("", "", "<", ">=", "DESC"), PAGE("", "", ">", "<=", "ASC")},
		{PAGE(BY_COMPANY, IN_COMPANY, "<", ">=", "DESC"),
			PAGE(BY_COMPANY, IN_COMPANY, ">", "<=", "ASC")},
	};
#undef OF_ALL
#undef OF_COMPANY
#undef NEWEST
#undef LAST
#undef PAGE
#undef BY_COMPANY
#undef IN_COMPANY
	_cleanup_buf_ struct buf kinds = BUF_INIT;
	const bool up = filter->ascending, own = filter->company_id != NULL;
	int64_t seq = filter->after_seq, newest_seq = 0, last = 0;
	struct rows rows;
	int cut;

	if (row_number(db, newest[own], DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id)),
		    &newest_seq, err) < 0)
		return -1;
	if (seq == 0 && !up)
		seq = INT64_MAX;
	cut = row_number(db, lasts[own][up],
		DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id), DB_INT("$seq", seq),
			DB_INT("$max", EVENT_PAGE_MAX - 1)),
		&last, err);
	if (cut < 0)
		return -1;
	/* What is stored meanwhile is newer than newest_seq, from which the reader goes on. */
	if (cut == 0)
		last = up ? newest_seq : 0;
	add_kinds(&kinds, filter->kinds);
	if (row_list(db, pages[own][up],
		    DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id), DB_INT("$seq", seq),
			    DB_INT("$last", last), DB_TEXT("$domain", filter->domain),
			    DB_TEXT("$kinds", buf_str(&kinds)),
			    DB_TEXT("$recipients", filter->recipients),
			    DB_INT("$limit", filter->limit + INT64_C(1))),
		    &event_type, (size_t)filter->limit, &rows, err) < 0)
		return -1;
	*list_r = (struct event_list){
		rows.items, rows.n, rows.more, cut && !rows.more ? last : 0, newest_seq};
	return 0;
}

static const struct row_field count_fields[] = {
	ROW_FIELD(event_count, time_us, ROW_INT64),
	ROW_FIELD(event_count, domain, ROW_TEXT),
	ROW_WORD(event_count, kind, ROW_ENUM, "kind", &counted_words),
	ROW_FIELD(event_count, count, ROW_INT64),
};
static const struct row_type count_type = ROW_TYPE(event_count, count_fields);

static int read_counts(struct db *db, const char *sql, const struct db_param *params,
	struct event_counts *counts_r, struct err *err)
{
	*counts_r = (struct event_counts){0};
	return row_all(db, sql, params, &count_type, &counts_r->items, &counts_r->n, err);
}

/* Counts over all domains, from the totals of the company, or of all companies. */
static int count_all(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err)
{
	static const char sql_total[] =
		"SELECT hour_us - hour_us % $step AS time_us, kind, sum(count) AS count"
		" FROM event_total"
		" WHERE company_id = $company AND hour_us >= $begin AND hour_us < $end"
		" GROUP BY time_us, kind"
		" ORDER BY time_us, kind";
	const char *company = filter->company_id;

	return read_counts(db, sql_total,
		DB_PARAMS(DB_INT("$step", filter->step_us),
			DB_TEXT("$company", company ? company : ""),
			DB_INT("$begin", filter->begin_us), DB_INT("$end", filter->end_us)),
		counts_r, err);
}

/* Finds the first and last domain of the page, and if more follow. Returns 1, 0 if there is none,
 * -1 on error. */
static int find_domains(struct db *db, const struct event_count_filter *filter, char **first_r,
	char **last_r, bool *more_r, struct err *err)
{
#define DOMAINS(condition)                                                                         \
	"SELECT f.first, f.last, EXISTS (SELECT 1"                                                 \
	"   FROM event_domain n"                                                                   \
	"   WHERE " condition                                                                      \
	"n.domain > f.last)"                                                                       \
	" FROM (SELECT min(p.domain) AS first, max(p.domain) AS last"                              \
	"   FROM (SELECT n.domain"                                                                 \
	"     FROM event_domain n"                                                                 \
	"     WHERE " condition                                                                    \
	"n.domain > $after"                                                                        \
	"     ORDER BY n.domain"                                                                   \
	"     LIMIT $limit) p) f"
	static const char sql_all[] = DOMAINS("");
	static const char sql_company[] = DOMAINS("n.company_id = $company AND ");
#undef DOMAINS
	struct db_stmt *stmt;
	int found;

	if (db_start(db, filter->company_id ? sql_company : sql_all,
		    DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id),
			    DB_TEXT("$after", filter->after ? filter->after : ""),
			    DB_INT("$limit", filter->limit)),
		    &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found != 1)
		return found;
	found = db_text(stmt, 0) != NULL;
	if (found) {
		*first_r = db_copy(stmt, 0);
		*last_r = db_copy(stmt, 1);
		*more_r = db_int(stmt, 2) != 0;
	}
	db_reset(stmt);
	return found;
}

/* Counts for the domains from first to last, by one look-up for each domain and company. If the
 * time covers whole days, only the hours outside of these are read by the hour. */
static int count_domains(struct db *db, const struct event_count_filter *filter, const char *first,
	const char *last, struct event_counts *counts_r, struct err *err)
{
/* clang-format off */
#define PART(table, time, company, low, high) "SELECT t." time " AS at_us, t.domain, t.kind," \
	" t.count" \
	" FROM event_domain o" \
	" CROSS JOIN " table " t" \
	" INDEXED BY " table "_by_domain ON t.domain = o.domain" \
	" AND t.company_id = o.company_id" \
	" AND t." time " >= " low \
	" AND t." time " < " high \
	" WHERE o.domain BETWEEN $first AND $last" company
#define COUNTS(what, company, group) "SELECT " what ", p.kind, sum(p.count) AS count" \
	" FROM (" PART("event_count", "hour_us", company, "$begin", "$day") \
	"   UNION ALL " PART("event_day", "day_us", company, "$day", "$last_day") \
	"   UNION ALL " PART("event_count", "hour_us", company, "$last_day", "$end") ") p" \
	" GROUP BY " group ", p.kind" \
	" ORDER BY " group ", p.kind"
#define BY_TIME(company)                                                       \
	COUNTS("p.at_us - p.at_us % $step AS time_us", company, "time_us")
#define BY_DOMAIN(company) COUNTS("p.domain", company, "p.domain")
#define OF_COMPANY " AND o.company_id = $company"
	/* clang-format on */
	static const char *const sql[2][2] = {
		{BY_TIME(""), BY_DOMAIN("")},
		{BY_TIME(OF_COMPANY), BY_DOMAIN(OF_COMPANY)},
	};
#undef OF_COMPANY
#undef BY_DOMAIN
#undef BY_TIME
#undef COUNTS
#undef PART
	bool days = filter->by_domain || filter->step_us % DAY_US == 0;
	int64_t day = (filter->begin_us + DAY_US - 1) / DAY_US * DAY_US;
	int64_t last_day = filter->end_us / DAY_US * DAY_US;
	bool whole = days && day < last_day;
	const struct db_param params[] = {
		DB_INT("$begin", filter->begin_us),
		DB_INT("$day", whole ? day : filter->end_us),
		DB_INT("$last_day", whole ? last_day : filter->end_us),
		DB_INT("$end", filter->end_us),
		DB_TEXT("$first", first),
		DB_TEXT("$last", last),
		DB_GIVEN_TEXT("$company", filter->company_id),
		/* The last parameter, because by domain there is no step. */
		{.name = filter->by_domain ? NULL : "$step",
			.kind = DB_PARAM_INT,
			.number = filter->step_us},
		{.name = NULL},
	};

	return read_counts(
		db, sql[filter->company_id != NULL][filter->by_domain], params, counts_r, err);
}

int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err)
{
	_cleanup_free_ char *first = NULL, *last = NULL;
	bool more = false;
	int found;

	if (filter->domain)
		return count_domains(db, filter, filter->domain, filter->domain, counts_r, err);
	if (!filter->by_domain)
		return count_all(db, filter, counts_r, err);
	found = find_domains(db, filter, &first, &last, &more, err);
	if (found == 0)
		*counts_r = (struct event_counts){0};
	if (found <= 0)
		return found;
	if (count_domains(db, filter, first, last, counts_r, err) < 0)
		return -1;
	if (more)
		counts_r->next = TAKE_PTR(last);
	return 0;
}

int store_event_bounces(struct db *db, const char *company_id, int64_t since_us, int limit,
	struct event_counts *counts_r, struct err *err)
{
#define BOUNCES(condition)                                                                         \
	"SELECT t.domain, t.kind, sum(t.count) AS count"                                           \
	" FROM (SELECT DISTINCT w.domain, w.company_id"                                            \
	"   FROM (SELECT domain, company_id"                                                       \
	"     FROM event_day"                                                                      \
	"     WHERE " condition                                                                    \
	"day_us >= $since - $since % 86400000000"                                                  \
	"     AND kind IN ('bounced', 'expired')"                                                  \
	"     AND count > 2"                                                                       \
	"     ORDER BY day_us DESC, count DESC, company_id DESC, domain DESC, kind DESC"           \
	"     LIMIT $limit) w) o"                                                                  \
	" CROSS JOIN event_count t"                                                                \
	" INDEXED BY event_count_by_domain ON t.domain = o.domain"                                 \
	" AND t.company_id = o.company_id"                                                         \
	" AND t.hour_us >= $since"                                                                 \
	" GROUP BY t.domain, t.kind"                                                               \
	" ORDER BY t.domain, t.kind"
	static const char sql_all[] = BOUNCES("");
	static const char sql_company[] = BOUNCES("company_id = $company AND ");
#undef BOUNCES

	return read_counts(db, company_id ? sql_company : sql_all,
		DB_PARAMS(DB_GIVEN_TEXT("$company", company_id), DB_INT("$since", since_us),
			DB_INT("$limit", limit)),
		counts_r, err);
}

void store_event_counts_free(struct event_counts *counts)
{
	row_list_free(&count_type, counts->items, counts->n);
	free(counts->next);
	*counts = (struct event_counts){0};
}

int store_log_cursor(struct db *db, const char *source, char **position_r, struct err *err)
{
	static const char sql_cursor[] =
		"SELECT position FROM log_cursor WHERE host = $this_host AND source = $source";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_cursor, DB_PARAMS(DB_TEXT("$source", source)), &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found == 1) {
		*position_r = db_copy(stmt, 0);
		db_reset(stmt);
	}
	return found;
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

	if (row_number(db, sql_read, its, &state_r->read_us, err) < 0 ||
		row_number(db, sql_end, its, &state_r->end_us, err) < 0 ||
		row_number(db, sql_mute, its, &state_r->mute_us, err) < 0)
		return -1;
	if (state_r->end_us < state_r->mute_us + STORE_LOG_END_S * SECOND_US)
		state_r->mute_us = 0;
	return row_number(db, sql_gaps, its, &state_r->gaps, err) < 0 ? -1 : 0;
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
	return db_change(db, sql_add,
		       DB_PARAMS(DB_TEXT("$source", source), DB_TEXT("$why", why),
			       DB_INT("$from", from_us), DB_INT("$to", to_us)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_gap_repaired(struct db *db, int64_t now_us, struct err *err)
{
	static const char sql_repaired[] =
		"UPDATE gap SET repaired_us = $now WHERE host = $this_host AND repaired_us = 0";

	return db_change(db, sql_repaired, DB_PARAMS(DB_INT("$now", now_us)), err);
}

static const struct row_field open_fields[] = {
	ROW_FIELD(open_recipient, email, ROW_INT64),
	ROW_FIELD(open_recipient, n, ROW_INT64),
	ROW_FIELD(open_recipient, decided_us, ROW_INT64),
	ROW_WORD(open_recipient, status, ROW_ENUM, "state", &delivery_status_words),
	ROW_FIELD(open_recipient, queue_id, ROW_TEXT),
	ROW_FIELD(open_recipient, address, ROW_TEXT),
	ROW_FIELD(open_recipient, seen, ROW_INT64),
};
static const struct row_type open_type = ROW_TYPE(open_recipient, open_fields);

int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us, int limit,
	struct open_recipients *open_r, struct err *err)
{
	static const char sql_open[] =
		"SELECT e.seq AS email, r.n, e.decided_us, r.state, e.queue_id, r.address,"
		" EXISTS (SELECT 1"
		"   FROM queue_message h"
		"   WHERE h.email = e.seq) AS seen"
		" FROM email e"
		" CROSS JOIN email_recipient r ON r.email = e.seq"
		" WHERE e.last_event IN ('sent', 'delivery_delayed')"
		" AND e.closed = 0"
		" AND e.decided_us >= $from"
		" AND e.decided_us < $to"
		" AND e.state = 'sent'"
		" AND e.host IN ('', $this_host)"
		" AND r.state IN ('queued', 'deferred', 'handed_on')"
		" ORDER BY e.decided_us, e.last_event, e.seq, r.n"
		" LIMIT $limit";

	return row_all(db, sql_open,
		DB_PARAMS(DB_INT("$from", from_us), DB_INT("$to", to_us), DB_INT("$limit", limit)),
		&open_type, &open_r->items, &open_r->n, err);
}

int store_staged_recipients(struct db *db, int64_t before_us, int limit,
	struct open_recipients *open_r, struct err *err)
{
	static const char sql_staged[] = STORE_STAGED_OWNERS
		"SELECT e.seq AS email, r.n, e.created_us AS decided_us, r.state,"
		" e.ticket AS queue_id, r.address, 1 AS seen"
		" FROM owner"
		" CROSS JOIN email e ON e.company_id = owner.id"
		" CROSS JOIN email_recipient r ON r.email = e.seq"
		" WHERE e.state = 'staged'"
		" AND e.queue_id IS NULL"
		" AND e.last_event IS NULL"
		" AND max(e.created_us, e.scheduled_us) < $before"
		" AND e.host IN ('', $this_host)"
		" AND NOT EXISTS (SELECT 1"
		"   FROM outbox o"
		"   WHERE o.email = e.seq)"
		" AND r.state = 'queued'"
		" LIMIT $limit";

	return row_all(db, sql_staged,
		DB_PARAMS(DB_INT("$before", before_us), DB_INT("$limit", limit)), &open_type,
		&open_r->items, &open_r->n, err);
}

void store_open_recipients_free(struct open_recipients *open)
{
	row_list_free(&open_type, open->items, open->n);
	*open = (struct open_recipients){0};
}
