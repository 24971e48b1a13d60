/*
 * store_purge: removes emails, their content and their events.
 *
 * The walk is in the order of seq, in which rows normally get younger. A row that is too recent
 * because the clock was set back does not end it.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/email/store_purge.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/store/row.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_message.h"
#include "core/store/email/store_text_index.h"

enum { STEP_ROWS = 200 };

/* A row that a step looks at. */
struct candidate {
	int64_t seq;
	int64_t created_us;
	int64_t decided_us;
	bool waits;
	bool others; /* it has recipients besides the one to forget */
	bool misfit; /* its domain is another one */
};

static const struct row_field fields[] = {
	ROW_FIELD(candidate, seq, ROW_INT64),
	ROW_FIELD(candidate, created_us, ROW_INT64),
	ROW_FIELD(candidate, decided_us, ROW_INT64),
	ROW_FIELD(candidate, waits, ROW_BOOL),
	ROW_FIELD(candidate, others, ROW_BOOL),
	ROW_FIELD(candidate, misfit, ROW_BOOL),
};
static const struct row_type candidate_type = ROW_TYPE(candidate, fields);

/* A test email has no queue id and no delivery. */
#define WAITS                                                                                      \
	"(e.state = 'staged'"                                                                      \
	"   OR (e.state = 'sent' AND e.queue_id <> '' AND (SELECT 1"                               \
	"       FROM email_recipient o"                                                            \
	"       WHERE o.email = e.seq AND o.state IN ('queued', 'deferred', 'handed_on')"          \
	"       LIMIT 1) IS NOT NULL)) AS waits"
#define OTHERS                                                                                     \
	"(SELECT 1"                                                                                \
	"   FROM email_recipient o"                                                                \
	"   WHERE o.email = e.seq"                                                                 \
	"   AND o.state IS NOT NULL"                                                               \
	"   AND o.address <> $to COLLATE NOCASE"                                                   \
	"   LIMIT 1) IS NOT NULL AS others"
#define EMAIL    "SELECT e.seq, e.created_us, e.decided_us, " WAITS ", "
#define FROM_SEQ " e.seq > $seq ORDER BY e.seq LIMIT $max"

static const char sql_all[] = EMAIL "0 AS others FROM email e WHERE" FROM_SEQ;
static const char sql_domain[] = ROW_WALK(
	"email", "domain = $domain", "seq", "min", ">", "$seq", "$max") EMAIL
	"0 AS others"
	" FROM walk"
	" CROSS JOIN email e ON e.seq = walk.seq"
	" WHERE walk.seq > $seq"
	" ORDER BY e.seq"
	" LIMIT $max";
static const char sql_to[] = ROW_WALK("email_recipient", "address = $to COLLATE NOCASE", "email",
	"min", ">", "$seq", "$max") EMAIL OTHERS
	", ($domain IS NOT NULL AND e.domain <> $domain) AS misfit"
	" FROM walk"
	" CROSS JOIN email e ON e.seq = walk.seq"
	" WHERE walk.seq > $seq"
	" ORDER BY e.seq"
	" LIMIT $max";
static const char sql_content[] =
	"SELECT c.seq, e.created_us, 0 AS decided_us, 0 AS waits, 0 AS others"
	" FROM email_content c"
	" CROSS JOIN email e ON e.seq = c.seq"
	" WHERE c.seq > $seq"
	" ORDER BY c.seq"
	" LIMIT $max";
static const char sql_events[] =
	"SELECT v.seq, v.recorded_us AS created_us, 0 AS decided_us, " WAITS
	", 0 AS others"
	" FROM event v"
	" CROSS JOIN email e ON e.seq = v.email"
	" WHERE v.seq > $seq"
	" ORDER BY v.seq"
	" LIMIT $max";

static int change_purged(struct db *db, const char *sql, int64_t seq, struct err *err)
{
	return db_change(db, sql, DB_PARAMS(DB_INT("$seq", seq)), err);
}

/* Removes the recipient from an email that stays for others. "+" makes SQLite use the recipients of
 * the email. */
static int forget_recipient(struct db *db, struct purge *purge, int64_t seq, struct err *err)
{
#define FORGET(table, whose) "DELETE FROM " table " WHERE email = $seq AND " whose
#define ITS_NUMBERS                                                                                \
	"n IN (SELECT n"                                                                           \
	"   FROM email_recipient"                                                                  \
	"   WHERE email = $seq AND +address = $to COLLATE NOCASE)"
	static const char *const statements[] = {
		FORGET("event", ITS_NUMBERS),
		FORGET("delivery",
			"(address = $to COLLATE NOCASE OR orig_to = $to COLLATE"
			" NOCASE OR queue_id IN (SELECT queue_id FROM queue_message"
			" WHERE email = $seq AND " ITS_NUMBERS "))"),
		FORGET("queue_message", ITS_NUMBERS),
		FORGET("email_recipient", "+address = $to COLLATE NOCASE"),
	};
#undef FORGET
#undef ITS_NUMBERS

	purge->recipients++;
	/* The message contains the recipient's address. */
	if (!purge->dry && store_message_erase(db, purge->database, seq, err) < 0)
		return -1;
	for (size_t i = 0; !purge->dry && i < ARRAY_SIZE(statements); i++)
		if (db_change(db, statements[i],
			    DB_PARAMS(DB_INT("$seq", seq), DB_TEXT("$to", purge->to)), err) < 0)
			return -1;
	return 0;
}

static int remove_email(struct db *db, struct purge *purge, const struct candidate *email,
	int64_t now_us, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM email WHERE seq = $seq";
	int64_t young_us = now_us - STORE_IDEMPOTENCY_KEEP_S * SECOND_US;

	if (email->waits || (!email->others && (email->created_us > young_us ||
						       email->decided_us > young_us))) {
		purge->left++;
		return 0;
	}
	if (email->others)
		return forget_recipient(db, purge, email->seq, err);
	purge->removed++;
	if (purge->dry)
		return 0;
	if (store_message_erase(db, purge->database, email->seq, err) < 0)
		return -1;
	return change_purged(db, sql_remove, email->seq, err);
}

static int empty_content(struct db *db, struct purge *purge, int64_t seq, struct err *err)
{
	static const char sql_empty[] =
		"UPDATE email_content"
		" SET html = '', text = ''"
		" WHERE seq = $seq AND (html <> '' OR text <> '')";
	static const char sql_waits[] = "SELECT 1 FROM outbox WHERE email = $seq";
	int64_t one;
	int waits = row_number(db, sql_waits, DB_PARAMS(DB_INT("$seq", seq)), &one, err);
	int changed = purge->dry ? 1 : change_purged(db, sql_empty, seq, err);

	if (changed < 0 || waits < 0 ||
		(!purge->dry && !waits && store_message_erase(db, purge->database, seq, err) < 0))
		return -1;
	purge->removed += changed > 0;
	return changed;
}

/* Returns 1 to continue, 0 if the row is too recent, -1 on error. */
static int visit_row(struct db *db, struct purge *purge, const struct candidate *row,
	int64_t now_us, struct err *err)
{
	static const char sql_event[] = "DELETE FROM event WHERE seq = $seq";
	int result = 0;

	if (purge->before_us && row->created_us >= purge->before_us)
		return row->created_us > now_us;
	if (row->misfit)
		return 1;
	switch (purge->kind) {
	case PURGE_EMAILS:
	case PURGE_KINDS:
		result = remove_email(db, purge, row, now_us, err);
		break;
	case PURGE_CONTENT:
		result = empty_content(db, purge, row->seq, err);
		break;
	case PURGE_EVENTS:
		if (row->waits) {
			purge->left++;
			break;
		}
		purge->removed++;
		if (!purge->dry)
			result = change_purged(db, sql_event, row->seq, err);
		break;
	}
	return result < 0 ? -1 : 1;
}

int store_purge_step(
	struct db *db, struct purge *purge, int64_t now_us, int64_t budget_us, struct err *err)
{
	int64_t end_us = clock_monotonic_us() + budget_us;
	const char *sql = sql_all;
	struct candidate *rows;
	size_t n, i = 0;
	int result = 1;

	if (purge->kind == PURGE_CONTENT)
		sql = sql_content;
	else if (purge->kind == PURGE_EVENTS)
		sql = sql_events;
	else if (purge->to)
		sql = sql_to;
	else if (purge->domain)
		sql = sql_domain;
	if (row_list(db,
		    ROW_LIST(.sql = sql,
			    .params = DB_PARAMS(DB_INT("$seq", purge->seq),
				    DB_INT("$max", STEP_ROWS), DB_GIVEN_TEXT("$to", purge->to),
				    {.name = "$domain",
					    .kind = purge->to ? DB_PARAM_TEXT : DB_PARAM_GIVEN_TEXT,
					    .text = purge->domain}),
			    .type = &candidate_type, .items_r = &rows, .n_r = &n),
		    err) < 0)
		return -1;
	do {
		if (i == n) {
			result = n == STEP_ROWS;
			break;
		}
		result = visit_row(db, purge, &rows[i], now_us, err);
		if (result == 1)
			purge->seq = rows[i++].seq;
	} while (result == 1 && clock_monotonic_us() < end_us);
	row_list_free(&candidate_type, rows, n);
	/* The text index loses the purged texts in the same commit. */
	if (result >= 0 && !purge->dry && store_text_index_erase(db, err) < 0)
		return -1;
	return result;
}

/*
 * clean: removes rows by age alone.
 *
 * A message whose ticket was removed counts as one without: an exclusive domain refuses it.
 */

/* Staged emails are found by company, since their index begins with it. `owner` has the next
 * companies with staged emails behind $after, up to $owners, the last of them perhaps NULL. */
#define STAGED_ID "state = 'staged' AND queue_id IS NULL AND company_id >"
/* clang-format off */
#define NEXT_OWNERS                                                             \
	"WITH RECURSIVE owner (id, n) AS (SELECT (SELECT min(company_id)"       \
	"   FROM email"                                                         \
	"   WHERE " STAGED_ID " $after), 1"                                     \
	"   UNION ALL SELECT (SELECT min(company_id)"                           \
	"     FROM email"                                                       \
	"     WHERE " STAGED_ID " owner.id), owner.n + 1"                       \
	"   FROM owner"                                                         \
	"   WHERE owner.id IS NOT NULL AND owner.n < $owners) "
/* clang-format on */
static const char sql_owners[] = NEXT_OWNERS
	"SELECT coalesce(max(id), '') AS last, count(id) AS n FROM owner";

/* Removes up to $max rows. They are not sorted, since all that are found are too old: with SQLite
 * the oldest of a company go first. `ended` has the last events of staged emails that have ended
 * (delivery_last_event()). */
static const char sql_staged[] = "DELETE FROM email WHERE seq IN (" NEXT_OWNERS
				 ", ended (word) AS (VALUES (NULL), ('sent'),"
				 "   ('delivered'), ('complained'), ('failed'), ('bounced')) "
				 "SELECT e.seq"
				 " FROM owner"
				 " CROSS JOIN ended"
				 " CROSS JOIN email e ON e.company_id = owner.id"
				 " AND e.state = 'staged'"
				 " AND e.queue_id IS NULL"
				 " AND e.last_event IS NOT DISTINCT FROM ended.word"
				 " AND max(e.created_us, e.scheduled_us) <= $old"
				 " AND NOT EXISTS (SELECT 1"
				 "   FROM outbox o"
				 "   WHERE o.email = e.seq)"
				 " LIMIT $max)";

/* The companies of a step. */
struct owners {
	char last[ID_SIZE];
	int64_t n;
};
static const struct row_field owners_fields[] = {
	ROW_FIELD(owners, last, ROW_ID),
	ROW_FIELD(owners, n, ROW_INT64),
};
static const struct row_type owners_type = ROW_TYPE(owners, owners_fields);

/* One step of the walk over the companies with staged emails. Returns 1 if there may be more, 0 at
 * the end, -1 on error. */
static int clean_staged(
	struct db *db, struct clean *clean, int64_t now_us, int max, struct err *err)
{
	const struct db_param after = DB_TEXT("$after", clean->after);
	const struct db_param max_owners = DB_INT("$owners", STORE_CLEAN_OWNERS);
	struct owners owners;
	int removed;

	if (row_get(db, sql_owners, DB_PARAMS(after, max_owners), &owners_type, &owners, err) < 0)
		return -1;
	removed = db_change(db, sql_staged,
		DB_PARAMS(after, max_owners,
			DB_INT("$old", now_us - STORE_CLEAN_KEEP_S * SECOND_US),
			DB_INT("$max", max)),
		err);
	if (removed < 0 || removed == max)
		return removed < 0 ? -1 : 1;
	memset(clean, 0, sizeof(*clean));
	if (owners.n < STORE_CLEAN_OWNERS)
		return 0;
	memcpy(clean->after, owners.last, ID_SIZE);
	return 1;
}

int store_clean(struct db *db, struct clean *clean, int64_t now_us, int max, struct err *err)
{
	/* Along the index by time, not from end to end. */
	static const char sql_tickets[] =
		"DELETE FROM superseded_ticket"
		" WHERE ticket IN (SELECT ticket"
		"   FROM superseded_ticket"
		"   WHERE created_us <= $old"
		"   ORDER BY created_us"
		"   LIMIT $max)";
	int tickets = db_change(db, sql_tickets,
		DB_PARAMS(DB_INT("$old", now_us - STORE_CLEAN_KEEP_S * SECOND_US),
			DB_INT("$max", max)),
		err);
	int keys = tickets < 0 ? -1 : store_idempotency_clean(db, now_us, max, err);

	if (keys < 0)
		return -1;
	if (tickets == max || keys == max)
		return 1;
	return clean_staged(db, clean, now_us, max, err);
}
