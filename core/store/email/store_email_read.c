/*
 * store_email_read: reads emails, one by one and in lists.
 *
 * Every list walks an index in the order of seq, newest first and without content, and stops at its
 * limit: its cost does not depend on the number of emails.
 *
 * A query of a company passes over its own emails only: neither the answer, nor the end of a page,
 * nor the time taken reveals anything about another company. So every index that starts with a
 * value that several companies may have also contains the company.
 */
#include "core/store/email/store_email_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/host/store_held.h"
#include "core/store/company/store_pause.h"

int store_email_get(struct db *db, const char *id, const struct email_scope *scope,
	struct email *email_r, struct err *err)
{
	static const char sql_get[] = "SELECT " EMAIL_COLUMNS
				      ", c.html, c.text, c.tags, c.variables"
				      " FROM email e"
				      " JOIN email_content c ON c.seq = e.seq"
				      " WHERE e.id = $id"
				      " AND" EMAIL_IN_FOLDER
				      " AND ($company IS NULL OR e.company_id = $company)"
				      " AND ($domain IS NULL OR e.domain = $domain)";

	return row_get(db, sql_get,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$all", !scope->sent_only),
			DB_TEXT("$company", scope->company_id), DB_TEXT("$domain", scope->domain)),
		&store_email_type, email_r, err);
}

/* Asking for another company's email takes as long as for none: both are looked up alike. */
static const char sql_with_key[] =
	"SELECT c.seq AS content, r.n AS to_n,"
	" k.id AS caller_id, k.company_id AS caller_company_id, d.name AS caller_domain,"
	" k.name AS caller_name, k.scopes AS caller_scopes, k.created_us AS caller_created_us,"
	" k.last_used_us AS caller_last_used_us, k.revoked_us AS caller_revoked_us, " EMAIL_COLUMNS
	","
	" CASE WHEN r.n = 0 THEN c.html END AS html, CASE WHEN r.n = 0 THEN c.text END AS text,"
	" CASE WHEN r.n = 0 THEN c.tags END AS tags,"
	" CASE WHEN r.n = 0 THEN c.variables END AS variables,"
	" r.kind AS to_kind, r.address AS to_address, r.mailbox AS to_mailbox,"
	" r.state IS NOT NULL AS to_enveloped, coalesce(r.state, 'queued') AS to_status,"
	" r.attempts AS to_attempts, r.changed_us AS to_changed_us, r.relay AS to_relay,"
	" r.dsn AS to_dsn, r.text AS to_text"
	" FROM api_key k"
	" LEFT JOIN domain d ON d.id = k.domain_id"
	" LEFT JOIN email e ON e.company_id = k.company_id"
	"   AND e.id = $id"
	"   AND" EMAIL_IN_FOLDER
	"   AND (k.domain_id IS NULL OR e.domain = d.name)"
	" LEFT JOIN email_content c ON c.seq = e.seq"
	"   AND length(c.html) + length(c.text) + length(c.tags) + length(c.variables) <= $longest"
	" LEFT JOIN email_recipient r ON r.email = c.seq"
	" WHERE k.hash = $hash"
	" AND k.revoked_us = 0"
	" LIMIT $limit";

enum { COLUMN_CONTENT, COLUMN_N };

/* One more row than there may be. */
#define PARAMS_WITH_KEY(ask)                                                                       \
	DB_PARAMS(DB_TEXT("$id", (ask)->id), DB_INT("$all", 0),                                    \
		DB_INT("$longest", (ask)->longest),                                                \
		DB_BLOB("$hash", (ask)->hash, SECRET_HASH_LEN),                                    \
		DB_INT("$limit", (ask)->recipients + 1))

void store_email_with_key_ahead(struct db *db, const struct email_ask_with_key *ask)
{
	db_read_ahead(db, sql_with_key, PARAMS_WITH_KEY(ask));
}

static int by_number(const void *a, const void *b)
{
	const struct recipient *one = a, *other = b;

	return (one->n > other->n) - (one->n < other->n);
}

int store_email_with_key(struct db *db, const struct email_ask_with_key *ask,
	struct email_with_key *got_r, struct err *err)
{
	struct email_with_key got = {.found = false};
	struct recipients recipients = {NULL, 0};
	struct recipient recipient;
	struct db_stmt *stmt;
	bool first = true;
	int result = db_first(db, sql_with_key, PARAMS_WITH_KEY(ask), &stmt, err);

	if (result != 1)
		return result;
	for (; result == 1; result = db_step(stmt, err)) {
		bool any = db_text(stmt, COLUMN_CONTENT) && db_text(stmt, COLUMN_N);
		/* Its first recipient's row has the content. */
		bool all = any && db_int(stmt, COLUMN_N) == 0;
		const struct row_part parts[] = {
			{&store_key_type, "caller_", first ? &got.key : NULL},
			{&store_email_columns_type, "", all ? &got.email : NULL},
			{&store_recipient_type, "to_", any ? &recipient : NULL},
		};

		if (row_read_parts(stmt, parts, ARRAY_SIZE(parts), err) < 0) {
			result = -1;
			break;
		}
		first = false;
		got.found |= all;
		if (any) {
			recipients.items = mem_append(
				recipients.items, recipients.n, sizeof(recipient));
			recipients.items[recipients.n++] = recipient;
		}
	}
	if (result < 0) {
		store_key_clear(&got.key);
		store_email_clear(&got.email);
		recipients_free(&recipients);
		return -1;
	}
	got.found &= recipients.n <= (size_t)ask->recipients;
	if (got.found) {
		qsort(recipients.items, recipients.n, sizeof(recipient), by_number);
		got.email.recipients = recipients;
	} else {
		store_email_clear(&got.email);
		recipients_free(&recipients);
	}
	*got_r = got;
	return 1;
}
#undef PARAMS_WITH_KEY

int store_email_seq(struct db *db, const char *id, const char *message_id,
	const struct email_scope *scope, int64_t *seq_r, struct err *err)
{
	static const char sql_seq[] =
		"SELECT e.seq"
		" FROM email e"
		" WHERE e.id = $id"
		" AND" EMAIL_IN_FOLDER
		" AND ($message IS NULL OR e.message_id = $message)"
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)";

	return row_number(db, sql_seq,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$message", message_id),
			DB_INT("$all", !scope->sent_only), DB_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain)),
		seq_r, err);
}

int store_email_has_company(struct db *db, const char *id, struct err *err)
{
	static const char sql_has[] =
		"SELECT 1"
		" FROM email e"
		" JOIN company c ON c.id = e.company_id"
		" WHERE e.id = $id";
	int64_t one;

	return row_number(db, sql_has, DB_PARAMS(DB_TEXT("$id", id)), &one, err);
}

static const struct row_field outcome_fields[] = {
	ROW_WORD(email, state, ROW_ENUM, "state", &store_email_states),
	ROW_FIELD(email, refusal, ROW_TEXT),
};
static const struct row_type outcome_type = ROW_TYPE(email, outcome_fields);

int store_email_outcome(
	struct db *db, const char *id, enum email_state *state_r, char **refusal_r, struct err *err)
{
	static const char sql_outcome[] = "SELECT state, refusal FROM email WHERE id = $id";
	struct email email;
	int found = row_get(
		db, sql_outcome, DB_PARAMS(DB_TEXT("$id", id)), &outcome_type, &email, err);

	if (found == 1) {
		*state_r = email.state;
		*refusal_r = email.refusal;
	}
	return found;
}

static int read_list(struct db *db, const char *sql, const struct db_param *params,
	struct email_list *list_r, struct err *err)
{
	return row_list(db,
		ROW_LIST(.sql = sql, .params = params, .type = &store_email_type, ROW_INTO(list_r)),
		err);
}

/* One statement for each kind of scope, so that each walks the index that fits
 * it. */
#define OF_COMPANY " AND e.company_id = $company"
#define OF_DOMAIN  " AND e.domain = $domain"

/* Walks only the refused emails, however many others there are. */
int store_email_list_refused(struct db *db, const struct email_scope *scope, int limit,
	struct email_list *list_r, struct err *err)
{
#define REFUSED(condition)                                                                         \
	"SELECT " EMAIL_COLUMNS                                                                    \
	" FROM email e"                                                                            \
	" WHERE e.state = 'refused'"                                                               \
	" AND e.last_event IS DISTINCT FROM 'canceled'" condition                                  \
	" AND ($domain IS NULL OR e.domain = $domain)"                                             \
	" ORDER BY e.decided_us DESC, e.seq DESC"                                                  \
	" LIMIT $limit"
	static const char sql_all[] = REFUSED("");
	static const char sql_company[] = REFUSED(OF_COMPANY);
#undef REFUSED

	return read_list(db, scope->company_id ? sql_company : sql_all,
		DB_PARAMS(DB_GIVEN_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain), DB_INT("$limit", limit > 0 ? limit : 0)),
		list_r, err);
}

enum email_name store_email_name_of(const char *text)
{
	enum { SHORTEST = 5, LONGEST = 25 };
	size_t len = strlen(text);

	/* Postfix's queue ids: letters and digits. */
	if (len >= SHORTEST && len <= LONGEST &&
		strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
			len)
		return EMAIL_NAME_QUEUE_ID;
	return strchr(text, '@') ? EMAIL_NAME_MESSAGE_ID : EMAIL_NAME_ID;
}

/* Postern's own Message-IDs begin with the id; the index contains only the others, by its
 * condition. */
int store_email_named(struct db *db, const struct email_scope *scope, const char *text, int limit,
	struct email_list *list_r, struct err *err)
{
#define NAMED(from, condition, order)                                                              \
	"SELECT " EMAIL_COLUMNS " FROM " from " WHERE " condition " AND" EMAIL_IN_FOLDER           \
	" AND ($company IS NULL OR e.company_id || '' = $company)"                                 \
	" AND ($domain IS NULL OR e.domain || '' = $domain)" order " LIMIT $limit"
#define CHOSEN  "message_id = $name AND substr(message_id, 2, 36) <> id"
#define NEWEST  " ORDER BY e.seq DESC"
#define HIGHEST "9223372036854775807"
/* The most emails looked at over all companies. */
#define CHOSEN_MAX "1000"
	static const char sql_id[] = NAMED("email e", "e.id = $name", NEWEST);
	static const char sql_company_chosen[] = NAMED("email e", CHOSEN OF_COMPANY, NEWEST);
	static const char sql_chosen[] = ROW_WALK("email", CHOSEN, "seq", "max", "<", HIGHEST,
		CHOSEN_MAX) NAMED("walk CROSS JOIN email e ON e.seq = walk.seq", "TRUE", NEWEST);
	static const char sql_queue_id[] = NAMED("email e",
		"e.seq IN (SELECT seq FROM email WHERE queue_id = $name"
		" UNION ALL SELECT email FROM queue_message WHERE queue_id = $name)",
		NEWEST);
#undef CHOSEN
#undef CHOSEN_MAX
#undef NEWEST
#undef HIGHEST
	enum email_name kind = store_email_name_of(text);
	_cleanup_free_ char *message_id = *text == '<' ? mem_strdup(text)
						       : mem_printf("<%s>", text);
	_cleanup_free_ char *local = mem_dup(message_id + 1, strcspn(message_id + 1, "@>"));
	const char *name = kind == EMAIL_NAME_QUEUE_ID ? text : message_id;
	const char *sql = scope->company_id ? sql_company_chosen : sql_chosen;
	char id[ID_SIZE];
	int64_t seq;
	int found;

	if (kind == EMAIL_NAME_QUEUE_ID)
		sql = sql_queue_id;
	else if (id_parse(local, id)) {
		found = store_email_seq(db, id, NULL, scope, &seq, err);
		if (found < 0)
			return -1;
		if (found > 0 || kind == EMAIL_NAME_ID) {
			name = id;
			sql = sql_id;
		}
	}
	return read_list(db, sql,
		DB_PARAMS(DB_TEXT("$name", name), DB_INT("$all", !scope->sent_only),
			DB_TEXT("$company", scope->company_id), DB_TEXT("$domain", scope->domain),
			DB_INT("$limit", limit > 0 ? limit : 0)),
		list_r, err);
}

int store_email_by_message_id(struct db *db, const struct email_scope *scope,
	const char *message_id, char id[static ID_SIZE], struct err *err)
{
	struct email_list list;
	bool found;

	if (store_email_named(db, scope, message_id, 1, &list, err) < 0)
		return -1;
	/* The email was found by the id at the begin of the Message-ID; the domain may still
	 * differ. */
	found = list.n > 0 && list.items[0].message_id &&
		str_eq(list.items[0].message_id, message_id);
	if (found)
		memcpy(id, list.items[0].id, ID_SIZE);
	store_email_list_free(&list);
	return found;
}

int store_email_page(struct db *db, const struct email_scope *scope, const struct page *page,
	struct email_list *list_r, bool *more_r, struct err *err)
{
#define PAGE(condition, side)                                                                      \
	"SELECT " EMAIL_COLUMNS                                                                    \
	" FROM email e"                                                                            \
	" WHERE" EMAIL_IN_FOLDER condition " AND e.seq " side " LIMIT $limit"
#define OLDER "< $seq ORDER BY e.seq DESC"
#define NEWER "> $seq ORDER BY e.seq"
	static const char sql_company_older[] = PAGE(OF_COMPANY, OLDER);
	static const char sql_company_newer[] = PAGE(OF_COMPANY, NEWER);
	static const char sql_both_older[] = PAGE(OF_COMPANY OF_DOMAIN, OLDER);
	static const char sql_both_newer[] = PAGE(OF_COMPANY OF_DOMAIN, NEWER);
#undef PAGE
	const char *older = scope->domain ? sql_both_older : sql_company_older;
	const char *newer = scope->domain ? sql_both_newer : sql_company_newer;
	const char *cursor = page_cursor(page);
	int64_t seq = INT64_MAX;
	struct page_end end;
	int found = cursor ? store_email_seq(db, cursor, NULL, scope, &seq, err) : 1;

	if (found != 1)
		return found;
	if (row_list(db,
		    ROW_LIST(.sql = page_backwards(page) ? newer : older,
			    .params = DB_PARAMS(DB_INT("$all", !scope->sent_only),
				    DB_INT("$seq", seq), DB_TEXT("$company", scope->company_id),
				    DB_GIVEN_TEXT("$domain", scope->domain)),
			    .type = &store_email_type, .page = page, ROW_INTO(list_r),
			    .end_r = &end),
		    err) < 0)
		return -1;
	*more_r = end.more;
	return 1;
}

int store_email_queue(struct db *db, struct email_queue *queue_r, struct err *err)
{
	static const char sql_open[] = "SELECT count FROM open_count WHERE last_event = $event";

	if (row_number(db, sql_open, DB_PARAMS(DB_TEXT("$event", "staged")), &queue_r->staged,
		    err) < 0 ||
		row_number(db, sql_open, DB_PARAMS(DB_TEXT("$event", "sent")), &queue_r->queued,
			err) < 0 ||
		row_number(db, sql_open, DB_PARAMS(DB_TEXT("$event", "delivery_delayed")),
			&queue_r->deferred, err) < 0)
		return -1;
	return store_held_count(db, &queue_r->held, err);
}

void store_email_list_free(struct email_list *list)
{
	row_list_free(&store_email_type, list->items, list->n);
	*list = (struct email_list){0};
}

/* clang-format off */
#define STAGED(from, company, condition)                                        \
	"SELECT e.seq"                                                          \
	" FROM " from "email e"                                                 \
	" WHERE e.company_id = " company                                        \
	" AND e.state = 'staged'"                                               \
	" AND e.queue_id IS NULL" condition                                     \
	" LIMIT $max"
#define IN_OUTBOX(index, condition)                                             \
	"SELECT email"                                                          \
	" FROM outbox INDEXED BY " index                                        \
	" WHERE " condition                                                     \
	" ORDER BY due_us, email"                                               \
	" LIMIT $max"
#define WAITING(owners, from, company, due, put_off)                            \
	owners "SELECT count(*)"                                                \
	" FROM (SELECT s.email"                                                 \
	"   FROM (SELECT email FROM (" due ") due"                              \
	"     UNION ALL SELECT email FROM (" put_off ") late) s"                \
	"   CROSS JOIN email e ON e.seq = s.email"                              \
	"   WHERE e.state = 'staged'"                                           \
	"   AND e.queue_id IS NULL" WAITS                                       \
	"   UNION ALL SELECT o.seq"                                             \
	"   FROM (" STAGED(from, company, WAITS) ") o"                          \
	"   WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE email = o.seq)"        \
	"   LIMIT $max) few"
#define DELAYED(condition)                                                      \
	"SELECT count(*)"                                                       \
	" FROM (SELECT 1"                                                       \
	"   FROM email e"                                                       \
	"   WHERE e.last_event = 'delivery_delayed'" condition                  \
	"   LIMIT $max) few"
#define COUNT(rows) "SELECT count(*) FROM (" rows ") few"
#define WAITS                                                                   \
	" AND e.last_event IS NULL AND max(e.created_us, e.scheduled_us) < $before"
#define LOST                                                                    \
	" AND e.last_event = 'sent' AND max(e.created_us, e.scheduled_us) >= $after"
#define SOON "min($before, " SQL_PAUSED " - 1)"
#define DUE  "due_us > 0 AND due_us <= " SOON
#define PUT_OFF                                                                 \
	"due_us > " SOON " AND due_us < " SQL_PAUSED                            \
	" AND (attempts > 0 OR ticket_used <> 0)"                               \
	" AND due_us > 0"
/* clang-format on */

/* Emails of the companies (owner) that the milter has not decided about and that are overdue: they
 * are due in the outbox, or put off there after an attempt; or they are not in the outbox, which no
 * program causes. Paused and scheduled emails do not count. At most $max rows of each kind are
 * read. */
int store_email_waiting(struct db *db, const char *company_id, int64_t staged_before_us,
	int64_t lost_after_us, struct email_waiting *waiting_r, struct err *err)
{
	static const char *const sql_staged[] = {
		WAITING(STORE_STAGED_OWNERS, "owner CROSS JOIN ", "owner.id",
			IN_OUTBOX("outbox_due", DUE), IN_OUTBOX("outbox_put_off", PUT_OFF)),
		WAITING("", "", "$company",
			IN_OUTBOX("outbox_due_of_company", "company_id = $company AND " DUE),
			IN_OUTBOX("outbox_put_off_of_company",
				"company_id = $company AND " PUT_OFF))};
	static const char *const sql_lost[] = {
		STORE_STAGED_OWNERS COUNT(STAGED("owner CROSS JOIN ", "owner.id", LOST)),
		COUNT(STAGED("", "$company", LOST))};
	static const char *const sql_delayed[] = {DELAYED(""), DELAYED(OF_COMPANY)};
	bool one = company_id != NULL;

	if (row_number(db, sql_staged[one],
		    DB_PARAMS(DB_INT("$before", staged_before_us),
			    DB_GIVEN_TEXT("$company", company_id),
			    DB_INT("$max", EMAIL_WAITING_MAX)),
		    &waiting_r->staged, err) < 0 ||
		row_number(db, sql_lost[one],
			DB_PARAMS(DB_INT("$after", lost_after_us),
				DB_GIVEN_TEXT("$company", company_id),
				DB_INT("$max", EMAIL_WAITING_MAX)),
			&waiting_r->lost, err) < 0)
		return -1;
	return row_value(db, sql_delayed[one],
		DB_PARAMS(DB_GIVEN_TEXT("$company", company_id), DB_INT("$max", EMAIL_WAITING_MAX)),
		&waiting_r->delayed, err);
}
