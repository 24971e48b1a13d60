/*
 * store_email: the life of an email's row, from staging to the milter's decision.
 *
 * Invariants: a row of the table email has one row of email_content, and at least one of
 * email_recipient. The milter's decision changes staged rows only.
 */
#include "core/store/email/store_email.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/company/store_key.h"

/* Far more emails than are staged while one request is being stored. */
enum { UNFINISHED_MAX = 20000 };

static const char *const states[] = {
	[EMAIL_STAGED] = "staged",
	[EMAIL_SENT] = "sent",
	[EMAIL_REFUSED] = "refused",
};
const struct row_words store_email_states = {states, ARRAY_SIZE(states), false};

static const char *const ways[] = {
	[EMAIL_WAY_ANY] = "any",
	[EMAIL_WAY_SENDMAIL] = "sendmail",
	[EMAIL_WAY_SMTP] = "smtp",
	[EMAIL_WAY_SPENT] = "spent",
	[EMAIL_WAY_AUTH] = "smtp-auth",
};
const struct row_words store_email_ways = {ways, ARRAY_SIZE(ways), false};

static const struct row_field email_fields[] = {
	ROW_FIELD(email, seq, ROW_INT64),
	ROW_FIELD(email, id, ROW_ID),
	ROW_FIELD(email, ticket, ROW_ID),
	ROW_FIELD(email, nonce, ROW_ID),
	ROW_FIELD(email, company_id, ROW_ID),
	ROW_FIELD(email, key_id, ROW_ID),
	ROW_FIELD(email, domain, ROW_TEXT),
	ROW_FIELD(email, sender, ROW_TEXT),
	ROW_FIELD_AS(email, from, ROW_TEXT, "header_from"),
	ROW_FIELD(email, reply_to, ROW_LINES),
	ROW_FIELD(email, subject, ROW_TEXT),
	ROW_FIELD(email, message_id, ROW_TEXT),
	ROW_FIELD(email, created_us, ROW_INT64),
	ROW_WORD(email, state, ROW_ENUM, "state", &store_email_states),
	ROW_FIELD(email, decided_us, ROW_INT64),
	ROW_FIELD(email, queue_id, ROW_TEXT),
	ROW_FIELD(email, host, ROW_TEXT),
	ROW_FIELD(email, last_event, ROW_TEXT),
	ROW_FIELD(email, refusal, ROW_TEXT),
	ROW_WORD(email, way, ROW_ENUM, "way", &store_email_ways),
	ROW_FIELD(email, answered, ROW_BOOL),
	ROW_FIELD(email, scheduled_us, ROW_INT64),
	/* Columns of the table email_content. */
	ROW_FIELD(email, html, ROW_TEXT),
	ROW_FIELD(email, text, ROW_TEXT),
	ROW_FIELD(email, tags, ROW_TEXT),
	ROW_FIELD(email, variables, ROW_TEXT),
};

static int read_recipients(struct db *db, void *item, struct err *err)
{
	struct email *email = item;

	return store_recipients_read(db, email->seq, false, &email->recipients, err);
}

static void clear_recipients(void *item)
{
	recipients_free(&((struct email *)item)->recipients);
}

const struct row_type store_email_type = {
	.size = sizeof(struct email),
	.fields = email_fields,
	.n = ARRAY_SIZE(email_fields),
	.read_rest = read_recipients,
	.clear_rest = clear_recipients,
};

const struct row_type store_email_columns_type = {
	.size = sizeof(struct email),
	.fields = email_fields,
	.n = ARRAY_SIZE(email_fields),
	.whole = &store_email_type,
};

const char *store_email_last_event(const struct email *email, int64_t now_us)
{
	if (email->last_event == NULL)
		return email->scheduled_us > now_us ? "scheduled" : "queued";
	/* The log does not mention a message that was lost before the milter was asked. */
	if (email->state == EMAIL_STAGED && strcmp(email->last_event, "sent") == 0)
		return "failed";
	return email->last_event;
}

const char *store_email_state_shown(const struct email *email, int64_t now_us)
{
	if (email->state == EMAIL_SENT)
		return "sent";
	if (email->state == EMAIL_STAGED && email->last_event)
		return "stopped";
	if (email->state == EMAIL_REFUSED && email->queue_id)
		return "refused";
	return store_email_last_event(email, now_us);
}

const char *store_email_via(const struct email *email)
{
	return email->way == EMAIL_WAY_AUTH ? "smtp" : "http";
}

void store_email_clear(struct email *email)
{
	row_clear(&store_email_type, email);
}

/* Inserts the tags that an email is found by: the tag of the form API, whose tags are named `tag`;
 * `name` and `name:value` of the JSON API. */
static int insert_tags(struct db *db, const struct email *email, struct err *err)
{
	static const char sql_tags[] =
		"INSERT INTO email_tag (email, tag, company_id)"
		" SELECT $email, lower(value), $company"
		" FROM json_each($words)"
		" WHERE TRUE"
		" ON CONFLICT DO NOTHING";
	json_t *tags = json_loads(email->tags, 0, NULL), *tag;
	_cleanup_strv_ struct strv words = STRV_INIT;
	_cleanup_free_ char *list = NULL;
	size_t i;

	json_array_foreach(tags, i, tag) {
		const char *name = row_json_text(tag, "name"), *value = row_json_text(tag, "value");
		bool form = str_eq(name, "tag");

		strv_add(&words, form ? value : name);
		if (!form)
			strv_take(&words, mem_printf("%s:%s", name, value));
	}
	list = row_json_array(&words);
	json_decref(tags);
	return db_post(db, sql_tags,
		DB_PARAMS(DB_INT("$email", email->seq), DB_TEXT("$company", email->company_id),
			DB_TEXT("$words", list)),
		err);
}

/* clang-format off */
#define INSERT_EMAIL(columns, values)                                                             \
	"INSERT INTO email (id, ticket, nonce,"                                                   \
	"   company_id, key_id, domain,"                                                          \
	"   sender, header_from, reply_to, subject, message_id,"                                  \
	"   created_us, way, answered, scheduled_us, host" columns ")"                            \
	" VALUES ($id, $ticket, $nonce,"                                                          \
	"   $company_id, $key_id, $domain,"                                                       \
	"   $sender, $header_from, $reply_to, $subject, $message_id,"                             \
	"   $created_us, $way, $answered, $scheduled_us, $this_host" values ")"                   \
	DB_RETURNING_SEQ
/* clang-format on */

static int insert_email(struct db *db, const char *sql, const struct db_param *params,
	struct email *email, struct err *err)
{
	static const char sql_content[] =
		"INSERT INTO email_content (seq, html, text, tags, variables)"
		" VALUES ($seq, $html, $text, coalesce($tags, '[]'),"
		"   coalesce($variables, '{}'))";

	if (row_insert(db, sql, params, &store_email_type, email, &email->seq, err) < 0 ||
		row_post(db, sql_content, NULL, &store_email_type, email, err) < 0)
		return -1;
	if (email->tags && insert_tags(db, email, err) < 0)
		return -1;
	return store_recipients_insert(db, email->seq, email->company_id, &email->recipients, err);
}

static int insert_staged(struct db *db, void *arg, struct err *err)
{
	static const char sql_stage[] = INSERT_EMAIL("", "");

	return insert_email(db, sql_stage, NULL, arg, err);
}

int store_email_stage(struct db *db, struct email *email, struct err *err)
{
	return db_atomic(db, insert_staged, email, err);
}

int store_email_add_sent(struct db *db, struct email *email, const char *queue_id, struct err *err)
{
	static const char sql_sent[] = INSERT_EMAIL(
		", state, decided_us, queue_id, last_event, closed",
		", 'sent', $created_us, $postfix_id, 'sent', iif($postfix_id = '', 1, 0)");

	return insert_email(db, sql_sent, DB_PARAMS(DB_TEXT("$postfix_id", queue_id)), email, err);
}

int store_email_retract(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_retract[] =
		"DELETE FROM email WHERE ticket = $ticket AND state <> 'refused'";

	return db_change(db, sql_retract, DB_PARAMS(DB_TEXT("$ticket", ticket)), err);
}

int store_email_replace_ticket(struct db *db, const char *id, const char *ticket, struct err *err)
{
	static const char sql_keep[] =
		"INSERT INTO superseded_ticket (ticket, email_id, created_us)"
		" SELECT ticket, id, created_us"
		" FROM email"
		" WHERE id = $id"
		" ON CONFLICT DO NOTHING"; /* earlier builds kept the ticket itself at a cancel */
	static const char sql_replace[] = "UPDATE email SET ticket = $ticket WHERE id = $id";

	if (db_execute(db, sql_keep, DB_PARAMS(DB_TEXT("$id", id)), err) < 0)
		return -1;
	return db_execute(
		db, sql_replace, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$ticket", ticket)), err);
}

/* Log reports about a previous message of a staged email do not count for the one that replaces it.
 */
static int reset_recipients(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_reset[] =
		"UPDATE email_recipient"
		" SET state = 'queued', attempts = 0, changed_us = 0, relay = NULL, dsn = NULL,"
		" text = NULL"
		" WHERE email = (SELECT seq FROM email WHERE ticket = $ticket AND state = 'staged')"
		" AND state <> 'queued'";
	static const char sql_deliveries[] =
		"DELETE FROM delivery"
		" WHERE email = (SELECT seq FROM email WHERE ticket = $ticket AND state = 'staged')";
	static const char sql_messages[] =
		"DELETE FROM queue_message"
		" WHERE email = (SELECT seq FROM email WHERE ticket = $ticket AND state = 'staged')";
	static const char *const statements[] = {sql_reset, sql_deliveries, sql_messages};

	for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
		if (db_change(db, statements[i], DB_PARAMS(DB_TEXT("$ticket", ticket)), err) < 0)
			return -1;
	return 0;
}

int store_email_supersede(struct db *db, const struct email *email, struct err *err)
{
	static const char sql_supersede[] =
		"UPDATE email"
		" SET way = $way, state = 'staged', decided_us = 0, queue_id = NULL,"
		" last_event = NULL, closed = 0, host = $this_host"
		" WHERE id = $id AND state = $state";
	int found = row_write(db, sql_supersede, NULL, &store_email_type, email, err);

	if (found <= 0)
		return found;
	if (store_email_replace_ticket(db, email->id, email->ticket, err) < 0 ||
		reset_recipients(db, email->ticket, err) < 0)
		return -1;
	return 1;
}

int store_email_reissue(struct db *db, const char *id, const char *ticket, struct err *err)
{
	struct email email = {.state = EMAIL_STAGED, .way = EMAIL_WAY_SENDMAIL};

	snprintf(email.id, sizeof(email.id), "%s", id);
	snprintf(email.ticket, sizeof(email.ticket), "%s", ticket);
	return store_email_supersede(db, &email, err);
}

static const struct row_field ticket_fields[] = {
	ROW_FIELD(email_ticket, seq, ROW_INT64),
	ROW_FIELD(email_ticket, ticket, ROW_ID),
	ROW_FIELD(email_ticket, nonce, ROW_ID),
	ROW_FIELD(email_ticket, id, ROW_ID),
	ROW_FIELD(email_ticket, company_id, ROW_ID),
	ROW_FIELD(email_ticket, key_id, ROW_ID),
	ROW_FIELD(email_ticket, domain, ROW_TEXT),
	ROW_FIELD(email_ticket, sender, ROW_TEXT),
	ROW_FIELD_AS(email_ticket, from, ROW_TEXT, "header_from"),
	ROW_FIELD(email_ticket, message_id, ROW_TEXT),
	ROW_WORD(email_ticket, state, ROW_ENUM, "state", &store_email_states),
	ROW_WORD(email_ticket, way, ROW_ENUM, "way", &store_email_ways),
	ROW_FIELD(email_ticket, superseded, ROW_BOOL),
	ROW_FIELD(email_ticket, spent, ROW_BOOL),
	ROW_FIELD(email_ticket, key_valid, ROW_BOOL),
	ROW_FIELD(email_ticket, domain_owned, ROW_BOOL),
	ROW_FIELD(email_ticket, domain_active, ROW_BOOL),
	ROW_FIELD(email_ticket, return_path, ROW_TEXT),
	ROW_FIELD(email_ticket, unsubscribe, ROW_BOOL),
	ROW_FIELD(email_ticket, elsewhere, ROW_BOOL),
	ROW_FIELD(email_ticket, suppresses, ROW_BOOL),
	ROW_FIELD(email_ticket, recipients, ROW_LINES),
};
static const struct row_type ticket_type = ROW_TYPE(email_ticket, ticket_fields);

/* spent: Postfix is known to have the message. By SMTP this is the case when the email has left the
 * outbox, after Postfix's 250 or a log line. By sendmail(1) only the log proves it, because the
 * maildrop presents a message again if cleanup(8) died after the milter's record. Log times are in
 * whole seconds; earlier lines are about another message, which a rule stopped. If Postfix returned
 * a message under its ticket, the bounce shows the ticket to the sender, so it is spent. If all
 * recipients are suppressed, Postfix got no message.
 *
 * d is the domain only if it is registered to the company; k is the key only if it may send as that
 * domain. */
#define SELECT_TICKET(more)                                                                        \
	"SELECT e.seq, e.ticket, e.nonce, e.id, e.company_id, e.key_id, e.domain,"                 \
	" e.sender, e.header_from, e.message_id, e.state, e.way, e.way = 'spent'"                  \
	" OR e.state = 'staged'"                                                                   \
	" AND e.last_event = 'bounced'"                                                            \
	" OR e.state = 'sent'"                                                                     \
	" AND e.last_event = 'suppressed'"                                                         \
	" AND e.closed <> 0"                                                                       \
	" OR e.way = 'smtp'"                                                                       \
	" AND e.state = 'sent'"                                                                    \
	" AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.email = e.seq)"                           \
	" OR e.way <> 'smtp'"                                                                      \
	" AND e.state = 'sent'"                                                                    \
	" AND EXISTS  (SELECT 1"                                                                   \
	"   FROM email_recipient r"                                                                \
	"   WHERE r.email = e.seq "                                                                \
	"   AND r.changed_us >= e.decided_us - e.decided_us % 1000000 "                            \
	"   AND r.state IN ('deferred', 'handed_on', 'delivered', 'bounced',  'expired',"          \
	"     'removed', 'complained')) AS spent,"                                                 \
	" k.id IS NOT NULL AS key_valid, d.id IS NOT NULL AS domain_owned,"                        \
	" coalesce(d.active, 0) AS domain_active, d.return_path,"                                  \
	" coalesce(d.unsubscribe, 'off') = 'on' AS unsubscribe,"                                   \
	" iif(e.host <> '' AND e.host <> $this_host, 1, 0) AS elsewhere,"                          \
	" EXISTS (SELECT 1"                                                                        \
	"   FROM company_count n"                                                                  \
	"   WHERE n.company_id = e.company_id AND n.kind = 'suppressions' AND n.count > 0)"        \
	" AS suppresses" more                                                                      \
	" FROM email e"                                                                            \
	" LEFT JOIN domain d  ON d.name = e.domain"                                                \
	" AND d.company_id = e.company_id "                                                        \
	" AND d.pending = 0"                                                                       \
	" LEFT JOIN api_key k  ON k.id = e.key_id"                                                 \
	" AND k.company_id = e.company_id "                                                        \
	" AND k.revoked_us = 0"                                                                    \
	" AND (k.scopes & $sending) <> 0 "                                                         \
	" AND (k.domain_id IS NULL OR k.domain_id = d.id)"

#define TICKET_PARAMS(what) DB_PARAMS(DB_TEXT("$what", what), DB_INT("$sending", KEY_SENDING))

int store_email_ticket(
	struct db *db, const char *ticket, struct email_ticket *ticket_r, struct err *err)
{
	/* Without the recipients of its envelope, of whom some or all may be suppressed, an email
	 * has no ticket. */
	static const char sql_ticket[] = SELECT_TICKET(
		", (SELECT group_concat(address, '\n')"
		"   FROM (SELECT r.address"
		"     FROM email_recipient r"
		"     WHERE r.email = e.seq AND r.state <> 'suppressed'"
		"     ORDER BY r.n) envelope) AS recipients")
		" WHERE EXISTS (SELECT 1"
		"   FROM email_recipient r"
		"   WHERE r.email = e.seq AND r.state IS NOT NULL)"
		" AND e.ticket = $what";
	/* A superseded ticket never becomes valid again, so a separate statement after the first
	 * one is consistent. */
	static const char sql_superseded[] =
		"SELECT email_id AS id, 1 AS superseded"
		" FROM superseded_ticket"
		" WHERE ticket = $ticket";
	int found = row_get(db, sql_ticket, TICKET_PARAMS(ticket), &ticket_type, ticket_r, err);

	if (found != 0)
		return found;
	return row_get(db, sql_superseded, DB_PARAMS(DB_TEXT("$ticket", ticket)), &ticket_type,
		ticket_r, err);
}

int store_email_ticket_staged(
	struct db *db, const char *id, struct email_ticket *ticket_r, struct err *err)
{
	static const char sql_staged[] = SELECT_TICKET(
		"") " WHERE e.id = $what AND e.state = 'staged'";

	return row_get(db, sql_staged, TICKET_PARAMS(id), &ticket_type, ticket_r, err);
}

void store_email_ticket_clear(struct email_ticket *ticket)
{
	row_clear(&ticket_type, ticket);
}

/* If a statement changed nothing, the row was decided before, or there is no row with the ticket.
 * If a decided row is removed in this moment (store_email_retract()), its ticket is rightly
 * unknown, so no transaction is needed. */
static int decided_before(struct db *db, const char *ticket, const char *but, struct err *err)
{
	static const char sql_decided[] =
		"SELECT 1 FROM email WHERE ticket = $ticket AND state <> $but";
	int64_t one;

	return row_number(db, sql_decided,
		DB_PARAMS(DB_TEXT("$ticket", ticket), DB_TEXT("$but", but)), &one, err);
}

/* forgotten: the last event of an earlier message was dealt with. */
static int mark_sent(struct db *db, const char *ticket, const char *queue_id, int64_t now_us,
	bool forgotten, struct err *err)
{
	static const char sql_record[] =
		"UPDATE email"
		" SET state = 'sent', decided_us = $now, queue_id = $queue_id, host = $this_host,"
		" last_event = 'sent', closed = iif($queue_id = '', 1, 0)"
		" WHERE ticket = $ticket AND state = 'staged'"
		" AND (last_event IS NULL OR $forgotten <> 0)";

	return db_change(db, sql_record,
		DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$queue_id", queue_id),
			DB_TEXT("$ticket", ticket), DB_INT("$forgotten", forgotten)),
		err);
}

int store_email_record(
	struct db *db, const char *ticket, const char *queue_id, int64_t now_us, struct err *err)
{
	static const char sql_ended[] =
		"SELECT 1"
		" FROM email"
		" WHERE ticket = $ticket"
		" AND state = 'staged'"
		" AND last_event IS NOT NULL";
	static const char sql_again[] =
		"UPDATE email"
		" SET queue_id = $queue_id, host = $this_host, decided_us = $now"
		" WHERE ticket = $ticket"
		" AND state = 'sent'"
		" AND queue_id <> $queue_id"
		" AND NOT EXISTS (SELECT 1"
		"   FROM queue_message"
		"   WHERE queue_message.email = email.seq)";
	int64_t one;
	int found, changed = mark_sent(db, ticket, queue_id, now_us, false, err);

	if (changed != 0)
		return changed;

	/* A staged email has a last event if its message left Postfix before the milter was asked.
	 * If it reaches the milter after all, a content filter has given it back, and what the log
	 * said of the earlier message no longer holds. */
	found = row_number(db, sql_ended, DB_PARAMS(DB_TEXT("$ticket", ticket)), &one, err);
	if (found < 0 || (found > 0 && reset_recipients(db, ticket, err) < 0))
		return -1;
	if (found > 0)
		changed = mark_sent(db, ticket, queue_id, now_us, true, err);
	if (changed != 0)
		return changed;

	/* Postfix presents the message of a sent email again: its new queue id and time count,
	 * unless the log has mentioned the one that was recorded first. */
	found = decided_before(db, ticket, "refused", err);
	if (found <= 0)
		return found;
	return db_change(db, sql_again,
		       DB_PARAMS(DB_TEXT("$queue_id", queue_id), DB_INT("$now", now_us),
			       DB_TEXT("$ticket", ticket)),
		       err) < 0
		       ? -1
		       : STORE_EMAIL_RECORDED;
}

/* Adds the event of a refusal once the email is both refused and answered. Whoever makes it the
 * second of the two calls this in the same transaction. The refusal itself was counted by a
 * trigger. id or ticket: NULL if not known. Returns 0 or -1. */
static int add_refusal_event(struct db *db, const char *id, const char *ticket, struct err *err)
{
	static const char sql_refused[] =
		"SELECT id, refusal, decided_us"
		" FROM email"
		" WHERE (id = $id OR ticket = $ticket)"
		" AND state = 'refused' AND last_event = 'failed' AND answered = 1";
	_cleanup_free_ char *refused_id = NULL, *refusal = NULL;
	struct unsent unsent = {.kind = EVENT_FAILED, .is_counted = true};
	struct db_stmt *stmt;
	int found = db_first(db, sql_refused,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$ticket", ticket)), &stmt, err);

	if (found <= 0)
		return found;
	unsent.id = refused_id = db_copy(stmt, 0);
	unsent.text = refusal = db_copy(stmt, 1);
	unsent.now_us = db_int(stmt, 2);
	db_reset(stmt);
	return delivery_writer_unsent(db, &unsent, err);
}

int store_email_refuse(struct db *db, const char *ticket, const char *queue_id, const char *refusal,
	int64_t now_us, struct err *err)
{
	static const char sql_refuse[] =
		"UPDATE email"
		" SET state = 'refused', decided_us = $now, queue_id = $queue_id, host = $this_host,"
		" last_event = 'failed', refusal = $refusal"
		" WHERE ticket = $ticket AND state = 'staged'";
	int changed = db_change(db, sql_refuse,
		DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$queue_id", queue_id),
			DB_TEXT("$refusal", refusal), DB_TEXT("$ticket", ticket)),
		err);

	if (changed == 0)
		return decided_before(db, ticket, "", err);
	return changed > 0 && add_refusal_event(db, NULL, ticket, err) < 0 ? -1 : changed;
}

int store_email_answered(struct db *db, const char *id, struct err *err)
{
	static const char sql_answered[] = "UPDATE email SET answered = 1 WHERE id = $id";

	int changed = db_change(db, sql_answered, DB_PARAMS(DB_TEXT("$id", id)), err);

	return changed > 0 && add_refusal_event(db, id, NULL, err) < 0 ? -1 : changed;
}

int store_email_publish(struct db *db, const struct email *email, struct err *err)
{
	static const char sql_publish[] =
		"UPDATE email SET answered = $answered WHERE seq = $seq AND id = $id";

	return db_change(db, sql_publish,
		DB_PARAMS(DB_INT("$answered", email->answered), DB_INT("$seq", email->seq),
			DB_TEXT("$id", email->id)),
		err);
}

int store_email_remove_unfinished(struct db *db, struct err *err)
{
	/* The newest emails contain what was being staged in the last seconds. */
	static const char sql_remove[] =
		"DELETE FROM email"
		" WHERE seq IN (SELECT seq"
		"   FROM (SELECT seq, state, answered, queue_id, last_event, host"
		"     FROM email"
		"     ORDER BY seq DESC"
		"     LIMIT $max) newest"
		"   WHERE state = 'staged' AND answered = 0 AND queue_id IS NULL"
		"   AND last_event IS NULL AND host = $this_host"
		"   AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.email = newest.seq))";

	return db_change(db, sql_remove, DB_PARAMS(DB_INT("$max", UNFINISHED_MAX)), err);
}

int store_email_is_auth(struct db *db, int64_t seq, struct err *err)
{
	static const char sql_is[] = "SELECT 1 FROM email WHERE seq = $seq AND way = 'smtp-auth'";
	int64_t one;

	return row_number(db, sql_is, DB_PARAMS(DB_INT("$seq", seq)), &one, err);
}

int store_email_arrival(
	struct db *db, const char *id, enum email_arrival *arrival_r, struct err *err)
{
	/* A suppressed recipient proves nothing about the others. */
	static const char sql_arrival[] =
		"SELECT CASE"
		"   WHEN e.state <> 'sent' OR e.last_event = 'suppressed' OR EXISTS (SELECT 1"
		"     FROM email_recipient r"
		"     WHERE r.email = e.seq AND r.state NOT IN ('queued', 'suppressed', 'unknown')"
		"     AND NOT (r.state = 'discarded' AND r.text LIKE '" DELIVERY_REFUSED
		"%')"
		"   ) THEN $arrived"
		"   WHEN EXISTS (SELECT 1"
		"     FROM email_recipient r"
		"     WHERE r.email = e.seq AND r.state IN ('unknown', 'discarded')) THEN $lost"
		"   ELSE $open END"
		" FROM email e"
		" WHERE e.id = $id";
	int64_t arrival = EMAIL_ARRIVED;
	int found = row_number(db, sql_arrival,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$arrived", EMAIL_ARRIVED),
			DB_INT("$lost", EMAIL_ARRIVAL_LOST), DB_INT("$open", EMAIL_ARRIVAL_OPEN)),
		&arrival, err);

	*arrival_r = (enum email_arrival)arrival;
	return found;
}

int store_email_find_ticket(
	struct db *db, const char *ticket, char id[static ID_SIZE], struct err *err)
{
	static const char sql_find[] =
		"SELECT id"
		" FROM email"
		" WHERE ticket = $ticket"
		" UNION ALL SELECT email_id"
		" FROM superseded_ticket"
		" WHERE ticket = $ticket";
	struct email_ticket row;
	int found = row_get(
		db, sql_find, DB_PARAMS(DB_TEXT("$ticket", ticket)), &ticket_type, &row, err);

	if (found == 1)
		memcpy(id, row.id, ID_SIZE);
	return found;
}

int store_email_newest(struct db *db, int64_t *created_us_r, struct err *err)
{
	static const char sql_newest[] =
		"SELECT created_us"
		" FROM (SELECT created_us FROM email ORDER BY seq DESC LIMIT 100) few"
		" ORDER BY created_us DESC LIMIT 1";

	return row_number(db, sql_newest, NULL, created_us_r, err);
}
