/*
 * store_queue_message: the messages in Postfix's queue that carry emails.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/delivery/store_queue_message.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/store/row.h"

/* The log may have whole seconds, and the milter may record a message shortly before or after its
 * line is written. */
#define SLACK_US INT64_C(5000000)
/* The longest time that a message is assumed to stay in the queue. Postfix's default is 5 days. */
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
	ROW_FIELD(queue_message, is_new, ROW_BOOL),
};
static const struct row_type message_type = ROW_TYPE(queue_message, message_fields);

/* A queue id is unique on its host alone. coalesce(): SQLite would fill a table in memory with the
 * two hosts to look each of them up in the index, which has few rows of a queue id. */
#define ITS_HOST " AND coalesce(host, '') IN ('', $this_host)"

#define MESSAGE_COLUMNS                                                                            \
	"h.queue_id, h.since_us, h.email, coalesce(h.n, -1) AS n, h.parent, h.recipients,"         \
	" h.how, h.closed_us, h.ended IS NOT NULL AS has_end,"                                     \
	" coalesce(h.ended, 'queued') AS ended, h.ended_us"

void queue_message_clear(struct queue_message *message)
{
	row_clear(&message_type, message);
}

void queue_messages_free(struct queue_messages *list)
{
	row_list_free(&message_type, list->items, list->n);
	*list = (struct queue_messages){0};
}

const char *message_how_name(enum message_how how)
{
	return hows[how];
}

static const char sql_find[] =
	"SELECT *"
	" FROM (SELECT " MESSAGE_COLUMNS
	", 0 AS is_new"
	"   FROM queue_message h"
	"   WHERE h.queue_id = $id AND h.since_us BETWEEN $from AND $to"
	"   AND h.host IN ('', $this_host)"
	"   ORDER BY h.since_us DESC"
	"   LIMIT 1) known"
	" UNION ALL SELECT *"
	" FROM (SELECT queue_id, decided_us AS since_us, seq AS email, -1, NULL, 0, 'milter',"
	"   0, FALSE, 'queued', 0, 1"
	"   FROM email"
	"   WHERE queue_id = $id AND state = 'sent' AND decided_us BETWEEN $from AND $to"
	"   AND host IN ('', $this_host)"
	"   ORDER BY decided_us DESC"
	"   LIMIT 1) recorded";
#define FIND_PARAMS(queue_id, time_us, ahead_us)                                                   \
	DB_PARAMS(DB_TEXT("$id", queue_id), DB_INT("$from", (time_us)-LIFETIME_US),                \
		DB_INT("$to", (time_us) + (ahead_us)))

void store_queue_message_find_ahead(struct db *db, const char *queue_id, int64_t time_us)
{
	db_read_ahead(db, sql_find, FIND_PARAMS(queue_id, time_us, SLACK_US));
}

/* Finds the message, and the newest email that the milter has recorded under the queue id. */
static int find_message(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err)
{
	struct queue_messages found = {0};
	struct queue_message *known = NULL, *recorded = NULL, *chosen;

	if (row_list(db,
		    ROW_LIST(.sql = sql_find, .params = FIND_PARAMS(queue_id, time_us, ahead_us),
			    .type = &message_type, ROW_INTO(&found)),
		    err) < 0)
		return -1;
	for (size_t i = 0; i < found.n; i++)
		*(found.items[i].is_new ? &recorded : &known) = &found.items[i];
	/* A message that has left the queue may have left its queue id to another email, or to mail
	 * that is not ours. */
	if (known && known->closed_us != 0 && time_us > known->closed_us + SLACK_US)
		chosen = recorded && recorded->since_us > known->since_us ? recorded : NULL;
	else
		chosen = known ? known : recorded;
	if (chosen) {
		*message_r = *chosen;
		*chosen = (struct queue_message){0};
	}
	queue_messages_free(&found);
	return chosen != NULL;
}

int store_queue_message_find(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err)
{
	int found = find_message(db, queue_id, time_us, SLACK_US, message_r, err);

	return found != 0 || ahead_us <= SLACK_US
		       ? found
		       : find_message(db, queue_id, time_us, ahead_us, message_r, err);
}

int store_queue_messages_add(struct db *db, const struct queue_messages *list, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO queue_message (host, queue_id, since_us, email, n, parent, how,"
		"   recipients, closed_us)"
		" VALUES ($this_host, $queue_id, $since_us, $email, nullif($n, -1), $parent, $how,"
		"   $recipients, $closed_us)"
		" ON CONFLICT (queue_id, since_us, host)"
		" DO UPDATE SET n = excluded.n, parent = excluded.parent, how = excluded.how"
		" WHERE queue_message.how = 'message_id' OR excluded.how = 'forwarded'";
	struct db_rows rows = {0};
	int result;

	for (size_t i = 0; i < list->n; i++) {
		const struct queue_message *one = &list->items[i];

		db_rows_add(&rows,
			DB_PARAMS(DB_TEXT("$queue_id", one->queue_id),
				DB_INT("$since_us", one->since_us), DB_INT("$email", one->email),
				DB_INT("$n", one->n), DB_TEXT("$parent", one->parent),
				DB_TEXT("$how", hows[one->how]),
				DB_INT("$recipients", one->recipients),
				DB_INT("$closed_us", one->closed_us)));
	}
	result = db_post_rows(db, sql_add, &rows, err);
	free(rows.items);
	return result;
}

int store_queue_message_add(struct db *db, const struct queue_message *message, struct err *err)
{
	struct queue_message one = *message;

	return store_queue_messages_add(db, &(struct queue_messages){&one, 1}, err);
}

int store_queue_message_expect(struct db *db, const struct queue_message *message, struct err *err)
{
	static const char sql_expect[] =
		"UPDATE queue_message"
		" SET recipients = $recipients"
		" WHERE queue_id = $queue_id AND since_us = $since_us" ITS_HOST;

	return row_post(db, sql_expect, NULL, &message_type, message, err);
}

int store_queue_messages_close(struct db *db, const struct queue_messages *list, struct err *err)
{
	static const char sql_close[] =
		"UPDATE queue_message"
		" SET closed_us = $now"
		" WHERE queue_id = $queue_id AND since_us = $since_us AND closed_us = 0" ITS_HOST;
	struct db_rows rows = {0};
	int result;

	for (size_t i = 0; i < list->n; i++)
		db_rows_add(&rows, DB_PARAMS(DB_INT("$now", list->items[i].closed_us),
					   DB_TEXT("$queue_id", list->items[i].queue_id),
					   DB_INT("$since_us", list->items[i].since_us)));
	result = db_post_rows(db, sql_close, &rows, err);
	free(rows.items);
	return result;
}

int store_queue_message_end(struct db *db, const struct queue_message *message,
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

/* Reads up to MESSAGE_EMAILS_MAX numbers. Returns how many, or -1. */
static int read_emails(struct db *db, const char *sql, const struct db_param *params,
	int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err)
{
	struct db_stmt *stmt;
	int n = 0, result;

	if (db_start(db, sql, params, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		emails_r[n++] = db_int(stmt, 0);
	return result < 0 ? -1 : n;
}

/* A Message-ID that Postern made begins with the id of its email, by which the email is found. Only
 * the others, which clients chose, are in an index. */
int store_queue_message_emails(struct db *db, const char *message_id, int64_t time_us,
	int64_t ahead_us, int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err)
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
	char begin[ID_SIZE] = "", id[ID_SIZE] = "";
	struct db_param params[] = {
		DB_TEXT("$message_id", message_id),
		DB_INT("$from", time_us - LIFETIME_US),
		DB_INT("$to", time_us + SLACK_US + ahead_us),
		DB_INT("$max", MESSAGE_EMAILS_MAX),
		DB_TEXT("$id", id),
		{.name = NULL},
	};
	int n = 0;

	if (strlen(message_id) > ID_SIZE)
		*stpncpy(begin, message_id + 1, ID_SIZE - 1) = '\0';
	if (id_parse(begin, id))
		n = read_emails(db, sql_own, params, emails_r, err);
	if (n != 0)
		return n;
	params[4].name = NULL;
	return read_emails(db, sql_chosen, params, emails_r, err);
}

int store_queue_message_list(
	struct db *db, int64_t email, struct queue_messages *list_r, struct err *err)
{
	static const char sql_messages[] = "SELECT " MESSAGE_COLUMNS
					   " FROM queue_message h"
					   " WHERE h.email = $email"
					   " ORDER BY h.since_us, h.queue_id";

	return row_list(db,
		ROW_LIST(.sql = sql_messages, .params = DB_PARAMS(DB_INT("$email", email)),
			.type = &message_type, ROW_INTO(list_r)),
		err);
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

	return db_execute(db, sql_add,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_INT("$since", since_us),
			DB_INT("$email", email)),
		err);
}

int store_ticket_message_end(
	struct db *db, const char *queue_id, int64_t time_us, bool left, struct err *err)
{
	static const char sql_end[] =
		"UPDATE ticket_message"
		" SET ended = $word, ended_us = $now"
		" WHERE queue_id = $queue_id AND ended IS NULL" ITS_HOST;

	return db_execute(db, sql_end,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id),
			DB_TEXT("$word", left ? "left" : "expired"), DB_INT("$now", time_us)),
		err);
}

int store_ticket_ends(struct db *db, const char *company_id, int64_t since_us,
	struct ticket_ends *ends_r, struct err *err)
{
	static const char sql_ends[] =
		"SELECT count(*)"
		" FROM ticket_message m"
		" JOIN email e ON e.seq = m.email"
		" WHERE m.ended = $ended"
		" AND m.ended_us >= $since"
		" AND ($company IS NULL OR e.company_id = $company)";
	struct db_param params[] = {
		DB_TEXT("$ended", "left"),
		DB_INT("$since", since_us),
		DB_TEXT("$company", company_id),
		{.name = NULL},
	};

	if (row_number(db, sql_ends, params, &ends_r->left, err) < 0)
		return -1;
	params[0].text = "expired";
	return row_value(db, sql_ends, params, &ends_r->expired, err);
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

	return row_text(db, sql_ticket,
		DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_INT("$from", time_us - LIFETIME_US),
			DB_INT("$to", time_us + SLACK_US)),
		ticket_r, err);
}
