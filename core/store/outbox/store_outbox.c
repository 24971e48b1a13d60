/*
 * store_outbox: the rows of the table outbox.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/host/store_log.h"
#include "core/store/outbox/store_outbox.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/store/row.h"
#include "core/store/store_audit.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/company/store_pause.h"

enum {
	/* cleanup(8) writes the queue file within this time, unless the disk does not respond. */
	CLEANUP_US = 10 * 1000 * 1000,
	/* Delay between Postfix logging a line and the line being in the file. */
	LOG_LAG_US = 2 * 1000 * 1000,
	LOOK_AGAIN_US = 1000 * 1000,
	/* Emails looked at in one step of canceling many, for which all who write wait: some
	 * milliseconds. */
	CANCEL_STEP = 32,
	/* Emails that become due at once when a pause has ended. */
	RESUMED_MAX = 256,
	/* Companies that have a turn at once, including those without due emails. */
	TURNS_MAX = 256,
};
#define SQL_PAUSED_WORDS "'it is paused'"

/* The row of the email $id, unless another host has taken it over. */
#define OF_THIS_HOST " WHERE email = (SELECT seq FROM email WHERE id = $id) AND host = $this_host"

/* A due email, with everything that decides what happens to it. */
struct candidate {
	struct outbox_row row;
	int64_t created_us;
	int64_t looked_us;
	int64_t paused_us; /* its due_us while paused; 0: not paused */
	enum email_state state;
	enum email_way way;
	bool ticket_used;
	bool heard; /* the log mentions the message after cleanup(8) */
	bool ended; /* the log says that it ended under its ticket */
	bool joined;
	bool moved; /* it was another host's */
	char *reason;
};

static const char *const ways[] = {"any", "sendmail", "smtp", "spent"};
static const struct row_words way_words = {ways, ARRAY_SIZE(ways), false};

static const struct row_field fields[] = {
	ROW_FIELD_AS(candidate, row.id, ROW_ID, "id"),
	ROW_FIELD_AS(candidate, row.company_id, ROW_ID, "company_id"),
	ROW_FIELD_AS(candidate, row.ticket, ROW_ID, "ticket"),
	ROW_FIELD_AS(candidate, row.sender, ROW_TEXT, "sender"),
	ROW_FIELD_AS(candidate, row.queue_id, ROW_TEXT, "queue_id"),
	ROW_FIELD_AS(candidate, row.decided_us, ROW_INT64, "decided_us"),
	ROW_FIELD_AS(candidate, row.composed_us, ROW_INT64, "composed_us"),
	ROW_FIELD_AS(candidate, row.scheduled_us, ROW_INT64, "scheduled_us"),
	ROW_FIELD_AS(candidate, row.size, ROW_INT64, "size"),
	ROW_FIELD_AS(candidate, row.attempts, ROW_UINT, "attempts"),
	ROW_FIELD_AS(candidate, row.utf8, ROW_BOOL, "utf8"),
	ROW_FIELD_AS(candidate, row.missing, ROW_BOOL, "missing"),
	ROW_FIELD(candidate, created_us, ROW_INT64),
	ROW_FIELD(candidate, looked_us, ROW_INT64),
	ROW_FIELD(candidate, paused_us, ROW_INT64),
	ROW_WORD(candidate, state, ROW_ENUM, "state", &store_email_states),
	ROW_WORD(candidate, way, ROW_ENUM, "way", &way_words),
	ROW_FIELD(candidate, ticket_used, ROW_BOOL),
	ROW_FIELD(candidate, heard, ROW_BOOL),
	ROW_FIELD(candidate, ended, ROW_BOOL),
	ROW_FIELD(candidate, joined, ROW_BOOL),
	ROW_FIELD(candidate, moved, ROW_BOOL),
	ROW_FIELD(candidate, reason, ROW_TEXT),
};
static const struct row_type candidate_type = ROW_TYPE(candidate, fields);

int store_outbox_add(struct db *db, int64_t email, int64_t size, int64_t due_us, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO outbox (email, host, company_id, size, due_us, ticket_used, reason)"
		" SELECT seq, $this_host, company_id, $size, coalesce(paused, $due),"
		"   iif($due = 0 AND paused IS NULL, 1, 0),"
		"   iif(paused IS NULL, NULL, " SQL_PAUSED_WORDS
		")"
		" FROM (SELECT e.seq, e.company_id, iif($due = 0, " SQL_PAUSED_BY
		", NULL) AS paused"
		"   FROM email e"
		"   WHERE e.seq = $email) e"
		" RETURNING due_us";
	/* Mostly nothing is paused, and a server takes long to set the other statement up. */
	static const char sql_any[] = "SELECT 1 FROM outbox_pause LIMIT 1";
	static const char sql_unpaused[] =
		"INSERT INTO outbox (email, host, company_id, size, due_us, ticket_used)"
		" SELECT seq, $this_host, company_id, $size, $due, iif($due = 0, 1, 0)"
		" FROM email"
		" WHERE seq = $email";
	const struct db_param *params = DB_PARAMS(
		DB_INT("$due", due_us), DB_INT("$email", email), DB_INT("$size", size));
	int64_t due = 0;
	int any = due_us == 0 ? row_number(db, sql_any, NULL, &due, err) : 0;

	if (any <= 0)
		return any < 0 ? -1 : db_post(db, sql_unpaused, params, err);
	if (row_number(db, sql_add, params, &due, err) < 0)
		return -1;
	return due > OUTBOX_PAUSED;
}

int store_outbox_join(struct db *db, int64_t email, int64_t size, int64_t now_us, struct err *err)
{
	static const char sql_join[] =
		"INSERT INTO outbox (email, host, company_id, size, due_us, joined)"
		" SELECT seq, $this_host, company_id, $size, $now, 1"
		" FROM email"
		" WHERE seq = $email";

	return db_change(db, sql_join,
		       DB_PARAMS(DB_INT("$size", size), DB_INT("$now", now_us),
			       DB_INT("$email", email)),
		       err) < 0
		       ? -1
		       : 0;
}

int store_outbox_has(struct db *db, const char *id, struct err *err)
{
	static const char sql_has[] =
		"SELECT 1"
		" FROM email e"
		" JOIN outbox o ON o.email = e.seq"
		" WHERE e.id = $id";
	int64_t one;

	return row_number(db, sql_has, DB_PARAMS(DB_TEXT("$id", id)), &one, err);
}

enum outbox_room store_outbox_room(
	int64_t bytes, int64_t own, int64_t all, int64_t max, int64_t disk_room)
{
	if (all + bytes > max)
		return own > 0 && all - own + bytes <= max ? OUTBOX_SHARE_FULL : OUTBOX_FULL;
	if (disk_room < OUTBOX_DISK_FACTOR * bytes)
		return OUTBOX_DISK_FULL;
	if (own > 0 && (own + bytes > max - all - bytes || own + bytes > disk_room))
		return OUTBOX_SHARE_FULL;
	return OUTBOX_ROOM;
}

static int sum_bytes(struct db *db, const char *sql, const char *company_id, int64_t *all_r,
	int64_t *own_r, struct err *err)
{
	struct db_stmt *stmt;
	int found = db_first(db, sql, DB_PARAMS(DB_TEXT("$company", company_id)), &stmt, err);

	if (found <= 0)
		return -1;
	*all_r = db_int(stmt, 0);
	*own_r = db_int(stmt, 1);
	db_reset(stmt);
	return 0;
}

#define SQL_BYTES                                                                                  \
	"SELECT coalesce(sum(size), 0),"                                                           \
	" coalesce(sum(iif(company_id = $company, size, 0)), 0)"                                   \
	" FROM outbox"

int store_outbox_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err)
{
	static const char sql_bytes[] = SQL_BYTES;

	return sum_bytes(db, sql_bytes, company_id, all_r, own_r, err);
}

int store_outbox_joined_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err)
{
	static const char sql_joined[] = SQL_BYTES " WHERE joined = 1";

	return sum_bytes(db, sql_joined, company_id, all_r, own_r, err);
}

/* Keeps the message of an email that is about to leave the outbox. */
static int post_kept(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_kept[] =
		"INSERT INTO message_kept (left_us, email, size)"
		" SELECT $now, o.email, o.size"
		" FROM email e"
		" JOIN outbox o ON o.email = e.seq"
		" WHERE e.id = $id AND o.host = $this_host"
		" ON CONFLICT DO NOTHING";

	return db_post(db, sql_kept, DB_PARAMS(DB_TEXT("$id", id), DB_INT("$now", now_us)), err);
}

static const char sql_remove[] = "DELETE FROM outbox" OF_THIS_HOST;

int store_outbox_remove(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	if (post_kept(db, id, now_us, err) < 0)
		return -1;
	return db_change(db, sql_remove, DB_PARAMS(DB_TEXT("$id", id)), err);
}

int store_outbox_remove_all(struct db *db, const struct strv *ids, int64_t now_us,
	struct strv *elsewhere_r, struct err *err)
{
	static const char sql_elsewhere[] =
		"SELECT j.value"
		" FROM json_each($ids) j"
		" WHERE (SELECT 1"
		"   FROM email e"
		"   JOIN outbox o ON o.email = e.seq"
		"   WHERE e.id = j.value AND o.host <> $this_host) IS NOT NULL";
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; i < ids->n; i++)
		if (post_kept(db, ids->items[i], now_us, err) < 0 ||
			db_post(db, sql_remove, DB_PARAMS(DB_TEXT("$id", ids->items[i])), err) < 0)
			return -1;
	if (ids->n == 0 || *db_host(db) == '\0')
		return 0;
	list = row_json_array(ids);
	return row_texts(db, sql_elsewhere, DB_PARAMS(DB_TEXT("$ids", list)), elsewhere_r, err);
}

int store_outbox_put_off(
	struct db *db, const char *id, const struct outbox_delay *delay, struct err *err)
{
	static const char sql_put_off[] =
		"UPDATE outbox"
		" SET due_us = $due, ticket_used = $used, attempts = attempts + $failed,"
		" reason = $reason, looked_us = 0" OF_THIS_HOST;

	return db_change(db, sql_put_off,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$due", delay->due_us),
			DB_INT("$used", delay->ticket_used), DB_INT("$failed", delay->failed),
			DB_TEXT("$reason", delay->reason)),
		err);
}

int store_outbox_give_back(
	struct db *db, const char *id, int64_t due_us, const char *reason, struct err *err)
{
	static const char sql_give_back[] =
		"UPDATE outbox"
		" SET due_us = $due, reason = coalesce($reason, reason)" OF_THIS_HOST
		" AND due_us = 0";

	return db_change(db, sql_give_back,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$due", due_us), DB_TEXT("$reason", reason)),
		err);
}

int store_outbox_schedule(
	struct db *db, const char *id, int64_t time_us, int64_t now_us, struct err *err)
{
	static const char sql_email[] =
		"UPDATE email"
		" SET scheduled_us = $time"
		" WHERE id = $id AND state = 'staged' AND scheduled_us > $now"
		" AND EXISTS (SELECT 1"
		"   FROM outbox o"
		"   WHERE o.email = email.seq AND o.due_us = email.scheduled_us)";
	static const char sql_outbox[] =
		"UPDATE outbox"
		" SET due_us = $time"
		" WHERE email = (SELECT seq FROM email WHERE id = $id)";
	int found = db_change(db, sql_email,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$time", time_us), DB_INT("$now", now_us)),
		err);

	if (found <= 0)
		return found;
	return db_change(
		db, sql_outbox, DB_PARAMS(DB_TEXT("$id", id), DB_INT("$time", time_us)), err);
}

/* After the email was refused here: whatever ticket its message has is superseded, and each
 * recipient gets an event. */
static int end_unsent(struct db *db, const struct unsent *unsent, struct err *err)
{
	char ticket[SECRET_TICKET_SIZE];

	secret_ticket(ticket);
	if (store_email_replace_ticket(db, unsent->id, ticket, err) < 0)
		return -1;
	return delivery_writer_unsent(db, unsent, err);
}

int store_outbox_cancel(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err)
{
	static const char sql_cancel[] =
		"UPDATE email"
		" SET state = 'refused', decided_us = $now, last_event = 'canceled', answered = 1,"
		" refusal = $refusal"
		" WHERE id = $id AND state = 'staged'"
		" AND (last_event IS NULL OR last_event = 'sent'"
		"   OR EXISTS (SELECT 1 FROM outbox o WHERE o.email = email.seq))";
	static const char sql_due[] =
		"UPDATE outbox"
		" SET due_us = 1"
		" WHERE email = (SELECT seq FROM email WHERE id = $id) AND due_us > 0";
	const struct unsent unsent = {.id = id,
		.kind = EVENT_CANCELED,
		.text = reason ? reason : OUTBOX_CANCELED,
		.now_us = now_us};
	int found = db_change(db, sql_cancel,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$now", now_us),
			DB_TEXT("$refusal", unsent.text)),
		err);

	if (found <= 0)
		return found;
	if (end_unsent(db, &unsent, err) < 0)
		return -1;
	return db_change(db, sql_due, DB_PARAMS(DB_TEXT("$id", id)), err) < 0 ? -1 : 1;
}

int store_outbox_cancel_some(
	struct db *db, struct outbox_cancel *cancel, int64_t now_us, struct err *err)
{
	static const char sql_end[] =
		"SELECT max(email)"
		" FROM (SELECT email"
		"   FROM outbox"
		"   WHERE company_id = $company AND email > $mark"
		"   ORDER BY email"
		"   LIMIT $step) few";
	static const char sql_some[] =
		"SELECT e.id"
		" FROM outbox o"
		" JOIN email e ON e.seq = o.email"
		" WHERE o.company_id = $company AND o.email > $mark AND o.email <= $end"
		" AND e.state = 'staged'"
		" AND ($domain IS NULL OR e.domain = $domain)"
		" AND ($key IS NULL OR e.key_id = $key)";
	int64_t end = 0;
	struct candidate *rows;
	size_t n;
	int found = row_number(db, sql_end,
		DB_PARAMS(DB_TEXT("$company", cancel->company_id), DB_INT("$mark", cancel->mark),
			DB_INT("$step", CANCEL_STEP)),
		&end, err);

	if (found < 0 || row_list(db,
				 ROW_LIST(.sql = sql_some,
					 .params = DB_PARAMS(DB_INT("$mark", cancel->mark),
						 DB_INT("$end", end),
						 DB_TEXT("$company", cancel->company_id),
						 DB_TEXT("$domain", cancel->domain),
						 DB_TEXT("$key", cancel->key_id)),
					 .type = &candidate_type, .items_r = &rows, .n_r = &n),
				 err) < 0)
		return -1;
	for (size_t i = 0; i < n && found >= 0; i++) {
		found = store_outbox_cancel(db, rows[i].row.id, NULL, now_us, err);
		cancel->canceled += found > 0;
	}
	row_list_free(&candidate_type, rows, n);
	if (found < 0)
		return -1;
	cancel->mark = end;
	return end > 0 ? STORE_MORE : 1;
}

int store_outbox_is_elsewhere(struct db *db, const char *id, struct err *err)
{
	static const char sql_elsewhere[] =
		"SELECT 1"
		" FROM email e"
		" JOIN outbox o ON o.email = e.seq"
		" WHERE e.id = $id AND o.host <> $this_host";
	int64_t one;

	return row_number(db, sql_elsewhere, DB_PARAMS(DB_TEXT("$id", id)), &one, err);
}

int store_outbox_fail(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err)
{
	static const char sql_fail[] =
		"UPDATE email"
		" SET state = 'refused', decided_us = $now, last_event = 'failed',"
		" refusal = $reason"
		" WHERE id = $id AND state <> 'refused'";
	const struct unsent unsent = {
		.id = id, .kind = EVENT_FAILED, .text = reason, .now_us = now_us};
	int found = store_outbox_is_elsewhere(db, id, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	found = db_change(db, sql_fail,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$reason", reason), DB_INT("$now", now_us)),
		err);
	if (found < 0 || (found > 0 && end_unsent(db, &unsent, err) < 0))
		return -1;
	return store_outbox_remove(db, id, now_us, err);
}

int store_outbox_looked(struct db *db, const char *id, bool found, int64_t now_us, struct err *err)
{
	static const char sql_looked[] =
		"UPDATE outbox"
		" SET looked_us = $now, due_us = $now + $again" OF_THIS_HOST;

	if (found)
		return store_outbox_remove(db, id, now_us, err);
	return db_change(db, sql_looked,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$now", now_us),
			DB_INT("$again", LOOK_AGAIN_US)),
		err);
}

/* The first due email of the company of this row of outbox_turn. */
#define SQL_FIRST_DUE                                                                              \
	"(SELECT o.due_us"                                                                         \
	"   FROM outbox o"                                                                         \
	"   WHERE o.host = outbox_turn.host AND o.company_id = outbox_turn.company_id"             \
	"   AND o.due_us > 0"                                                                      \
	"   ORDER BY o.due_us"                                                                     \
	"   LIMIT 1)"
/* The turn of a company without waiting emails. */
#define SQL_NEVER "9223372036854775807"

/* What was put off after a failed attempt, until after this time, is due now. */
static int hurry_after(struct db *db, int64_t until_us, int64_t now_us, struct err *err)
{
	static const char sql_hurry[] =
		"UPDATE outbox INDEXED BY outbox_put_off"
		" SET due_us = $now"
		" WHERE due_us > $until AND due_us < " SQL_PAUSED
		" AND due_us > 0 AND (attempts > 0 OR ticket_used <> 0) AND host = $this_host";

	return db_change(
		db, sql_hurry, DB_PARAMS(DB_INT("$until", until_us), DB_INT("$now", now_us)), err);
}

int store_outbox_hurry(struct db *db, int64_t now_us, struct err *err)
{
	/* Turns in the future are from before the clock was set back. */
	static const char sql_turns[] =
		"UPDATE outbox_turn"
		" SET served_us = 0, turn_us = coalesce(" SQL_FIRST_DUE ", " SQL_NEVER
		")"
		" WHERE served_us > $now AND host = $this_host";

	if (db_change(db, sql_turns, DB_PARAMS(DB_INT("$now", now_us)), err) < 0)
		return -1;
	return hurry_after(db, now_us, now_us, err);
}

int store_outbox_reopen(struct db *db, int64_t now_us, struct err *err)
{
	/* The rows of the time before hosts had names. */
	static const char sql_nameless[] =
		"UPDATE outbox SET host = $this_host WHERE host = '' AND $this_host <> ''";
	static const char sql_reopen[] =
		"UPDATE outbox SET due_us = 1 WHERE due_us = 0 AND host = $this_host";
	static const char sql_forget[] =
		"DELETE FROM outbox_turn WHERE host = $this_host AND " SQL_FIRST_DUE " IS NULL";
	static const char sql_turns[] =
		"UPDATE outbox_turn"
		" SET served_us = 0, turn_us = " SQL_FIRST_DUE " WHERE host = $this_host";
	int nameless = db_change(db, sql_nameless, NULL, err);
	int reopened = nameless < 0 ? -1 : db_change(db, sql_reopen, NULL, err);

	if (reopened < 0 || hurry_after(db, now_us + OUTBOX_PAUSE_MOST_US, now_us, err) < 0 ||
		db_change(db, sql_forget, NULL, err) < 0 || db_change(db, sql_turns, NULL, err) < 0)
		return -1;
	return reopened;
}

/* What a host that is lost leaves to others: all but what its milter has recorded and its Postfix
 * may have. */
#define OF_LOST                                                                                    \
	"(SELECT o.email"                                                                          \
	"   FROM outbox o"                                                                         \
	"   JOIN email e ON e.seq = o.email"                                                       \
	"   WHERE o.host = $lost AND o.host <> '' AND o.email > $mark"                             \
	"   AND ($all <> 0 OR e.state <> 'sent' OR e.way <> 'smtp')"                               \
	"   ORDER BY o.email"                                                                      \
	"   LIMIT $max)"

int store_outbox_take_over(
	struct db *db, struct outbox_takeover *takeover, int max, struct err *err)
{
	static const char sql_alive[] =
		"SELECT beat FROM host_part WHERE host = $lost AND part = 'httpd'";
	/* What was put off waited for the Postfix of that host. */
	static const char sql_take[] =
		"UPDATE outbox"
		" SET host = $this_host, due_us = iif(due_us = 0 OR due_us < " SQL_PAUSED
		"   AND (attempts > 0 OR ticket_used <> 0), 1, due_us)"
		" WHERE email IN " OF_LOST " RETURNING email, company_id, size, joined";
	static const char sql_taken[] =
		"UPDATE host_part SET taken = taken + 1 WHERE host = $lost AND part = 'httpd'";
	const struct db_param *lost = DB_PARAMS(DB_TEXT("$lost", takeover->host));
	int64_t beat = 0;
	int known = row_number(db, sql_alive, lost, &beat, err), found;
	struct db_stmt *stmt;

	takeover->moved = 0;
	if (known < 0 || (known > 0 && beat != takeover->beat))
		return known < 0 ? -1 : 0;
	if (db_start(db, sql_take,
		    DB_PARAMS(DB_TEXT("$lost", takeover->host), DB_INT("$mark", takeover->mark),
			    DB_INT("$all", known == 0), DB_INT("$max", max)),
		    &stmt, err) < 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1) {
		struct outbox_joined *one;

		takeover->moved++;
		if (db_int(stmt, 0) > takeover->mark)
			takeover->mark = db_int(stmt, 0);
		if (db_int(stmt, 3) != 0)
			continue;
		takeover->counted = mem_append(
			takeover->counted, takeover->counted_n, sizeof(*takeover->counted));
		one = &takeover->counted[takeover->counted_n++];
		snprintf(one->company_id, ID_SIZE, "%s", db_text(stmt, 1));
		one->size = db_int(stmt, 2);
	}
	if (found < 0 || (takeover->moved > 0 && db_change(db, sql_taken, lost, err) < 0))
		return -1;
	return takeover->moved == max ? STORE_MORE : 1;
}
#undef OF_LOST

void store_outbox_takeover_clear(struct outbox_takeover *takeover)
{
	free(takeover->counted);
	takeover->counted = NULL;
	takeover->counted_n = 0;
}

int store_outbox_hosts(struct db *db, struct strv *hosts_r, struct err *err)
{
	/* One look-up for each host. */
	static const char sql_hosts[] =
		"WITH RECURSIVE other (name) AS (SELECT min(host)"
		"   FROM outbox"
		"   WHERE host <> ''"
		"   UNION ALL SELECT (SELECT min(o.host)"
		"     FROM outbox o"
		"     WHERE o.host > other.name AND o.host <> '')"
		"   FROM other"
		"   WHERE other.name IS NOT NULL)"
		" SELECT name FROM other WHERE name IS NOT NULL AND name <> $this_host";

	return row_texts(db, sql_hosts, NULL, hosts_r, err);
}

static void give_candidate(
	struct outbox_taken *taken, struct candidate *candidate, enum outbox_task task)
{
	taken->items = mem_append(taken->items, taken->n, sizeof(*taken->items));
	taken->items[taken->n] = candidate->row;
	taken->items[taken->n++].task = task;
	candidate->row.sender = candidate->row.queue_id = NULL;
}

static int leave_candidate(struct db *db, const struct outbox_terms *terms,
	struct candidate *candidate, struct outbox_taken *taken, struct err *err)
{
	if (store_outbox_remove(db, candidate->row.id, terms->now_us, err) < 0)
		return -1;
	give_candidate(taken, candidate, OUTBOX_GONE);
	return 0;
}

static int delay_row(struct db *db, const char *id, int64_t due_us, struct err *err)
{
	static const char sql_delay[] =
		"UPDATE outbox"
		" SET due_us = $due"
		" WHERE email = (SELECT seq FROM email WHERE id = $id)";

	return db_execute(
		db, sql_delay, DB_PARAMS(DB_TEXT("$id", id), DB_INT("$due", due_us)), err);
}

static int keep_in_hand(struct db *db, const char *id, struct err *err)
{
	static const char sql_hold[] =
		"UPDATE outbox"
		" SET due_us = 0, ticket_used = 1, looked_us = 0"
		" WHERE email = (SELECT seq FROM email WHERE id = $id)";

	return db_execute(db, sql_hold, DB_PARAMS(DB_TEXT("$id", id)), err);
}

static int submit_candidate(struct db *db, const struct outbox_terms *terms,
	struct candidate *candidate, struct outbox_taken *taken, struct err *err)
{
	struct outbox_row *row = &candidate->row;

	if (candidate->state == EMAIL_SENT || candidate->ticket_used ||
		candidate->way != terms->way || candidate->moved) {
		struct email email = {.state = candidate->state, .way = terms->way};

		secret_ticket(row->ticket);
		memcpy(email.id, row->id, sizeof(email.id));
		memcpy(email.ticket, row->ticket, sizeof(email.ticket));
		if (store_email_supersede(db, &email, err) < 0)
			return -1;
		taken->renewed++;
	}
	if (keep_in_hand(db, row->id, err) < 0)
		return -1;
	give_candidate(taken, candidate, OUTBOX_SUBMIT);
	return 0;
}

/* The milter of another host has recorded the email after this host had taken it over. Only that
 * host can ask its Postfix for the message. If it is known no more, nobody can. */
static int return_to_host(struct db *db, const struct outbox_terms *terms,
	struct candidate *candidate, struct outbox_taken *taken, struct err *err)
{
	static const char sql_return[] =
		"UPDATE outbox"
		" SET host = (SELECT e.host FROM email e WHERE e.seq = outbox.email), due_us = 1,"
		"   joined = 1"
		" WHERE email = (SELECT e.seq"
		"   FROM email e"
		"   JOIN host_part h ON h.host = e.host AND h.part = 'httpd'"
		"   WHERE e.id = $id)";
	int returned = db_change(db, sql_return, DB_PARAMS(DB_TEXT("$id", candidate->row.id)), err);

	if (returned == 0)
		return leave_candidate(db, terms, candidate, taken, err);
	if (returned > 0)
		give_candidate(taken, candidate, OUTBOX_GONE);
	return returned < 0 ? -1 : 0;
}

/* Counts an email that a caller without a dispatcher has added. */
static int count_joined(
	struct db *db, const struct outbox_row *row, struct outbox_taken *taken, struct err *err)
{
	static const char sql_count[] =
		"UPDATE outbox"
		" SET joined = 0"
		" WHERE email = (SELECT seq FROM email WHERE id = $id)";
	struct outbox_joined *joined;

	taken->joined = mem_append(taken->joined, taken->joined_n, sizeof(*taken->joined));
	joined = &taken->joined[taken->joined_n++];
	memcpy(joined->company_id, row->company_id, ID_SIZE);
	joined->size = row->size;
	return db_execute(db, sql_count, DB_PARAMS(DB_TEXT("$id", row->id)), err);
}

/* Decides by the table of store_outbox.h, from its first line to the last. */
static int take_due(struct db *db, const struct outbox_terms *terms, int64_t log_end_us,
	struct candidate *candidate, struct outbox_taken *taken, struct err *err)
{
	static const char sql_pause[] =
		"UPDATE outbox"
		" SET due_us = $due, reason = " SQL_PAUSED_WORDS
		" WHERE email = (SELECT seq FROM email WHERE id = $id)";
	const struct outbox_row *row = &candidate->row;
	int64_t ready_us = row->decided_us + CLEANUP_US;

	if (candidate->joined && count_joined(db, row, taken, err) < 0)
		return -1;
	switch (candidate->state) {
	case EMAIL_REFUSED:
		return leave_candidate(db, terms, candidate, taken, err);
	case EMAIL_SENT:
		if (candidate->way != EMAIL_WAY_SMTP || candidate->heard ||
			str_empty(row->queue_id))
			return leave_candidate(db, terms, candidate, taken, err);
		if (candidate->moved)
			return return_to_host(db, terms, candidate, taken, err);
		if (ready_us > terms->now_us && ready_us - terms->now_us <= CLEANUP_US)
			return delay_row(db, row->id, ready_us, err);
		if (candidate->looked_us > 0 && log_end_us > candidate->looked_us + LOG_LAG_US)
			return submit_candidate(db, terms, candidate, taken, err);
		if (candidate->looked_us > 0)
			return delay_row(db, row->id, terms->now_us + LOOK_AGAIN_US, err);
		if (keep_in_hand(db, row->id, err) < 0)
			return -1;
		give_candidate(taken, candidate, OUTBOX_LOOK);
		return 0;
	case EMAIL_STAGED:
		break;
	}
	if (candidate->ended)
		return leave_candidate(db, terms, candidate, taken, err);
	if (candidate->paused_us > 0)
		return db_execute(db, sql_pause,
			DB_PARAMS(DB_TEXT("$id", row->id), DB_INT("$due", candidate->paused_us)),
			err);
	if (candidate->created_us + terms->lifetime_us <= terms->now_us) {
		_cleanup_free_ char *reason = mem_printf(
			"The mail server did not take the email in time%s%s",
			candidate->reason ? ": " : ".", candidate->reason ? candidate->reason : "");

		if (store_outbox_fail(db, row->id, reason, terms->now_us, err) < 0)
			return -1;
		give_candidate(taken, candidate, OUTBOX_GONE);
		return 0;
	}
	return submit_candidate(db, terms, candidate, taken, err);
}

/* Finds the due emails of one company, with everything that decides what happens to them. */
static int find_due(struct db *db, const struct outbox_terms *terms, const char *company_id,
	int max, struct candidate **rows_r, size_t *n_r, struct err *err)
{
	static const char sql_due[] =
		"SELECT e.id, e.company_id, e.ticket, e.sender, e.queue_id, e.decided_us,"
		" e.created_us AS composed_us, e.scheduled_us,"
		" o.size, o.attempts, max(e.created_us, e.scheduled_us, o.resumed_us) AS created_us,"
		" o.looked_us, o.joined, iif(e.host <> o.host, 1, 0) AS moved, e.state, e.way,"
		" o.ticket_used, o.reason, iif(o.reason = '" OUTBOX_MISSING
		"', 1, 0) AS missing,"
		" iif(e.state = 'staged', " SQL_PAUSED_BY
		", NULL) AS paused_us,"
		" e.state = 'staged' AND e.queue_id IS NULL AND e.last_event IS NOT NULL AS ended,"
		" (SELECT 1"
		"   FROM email_recipient r"
		"   WHERE r.email = e.seq AND length(hex(r.address)) <> 2 * length(r.address)"
		"   LIMIT 1) IS NOT NULL AS utf8,"
		" e.state = 'sent' AND (e.closed <> 0 AND e.last_event = 'suppressed'"
		"   OR (SELECT 1"
		"     FROM email_recipient r"
		"     WHERE r.email = e.seq"
		"     AND r.changed_us >= e.decided_us - e.decided_us % 1000000"
		"     AND r.state NOT IN ('queued', 'unknown', 'suppressed')"
		"     LIMIT 1) IS NOT NULL) AS heard"
		" FROM outbox o"
		" JOIN email e ON e.seq = o.email"
		" WHERE o.host = $this_host AND o.company_id = $company AND o.due_us > 0"
		" AND o.due_us <= $now"
		" ORDER BY o.due_us, o.email"
		" LIMIT $max";

	return row_list(db,
		ROW_LIST(.sql = sql_due,
			.params = DB_PARAMS(DB_TEXT("$company", company_id),
				DB_INT("$now", terms->now_us), DB_INT("$max", max)),
			.type = &candidate_type, .items_r = rows_r, .n_r = n_r),
		err);
}

/* The company has had its turn: its next one comes after the companies that wait now. */
static int end_turn(struct db *db, const char *company_id, int64_t now_us, struct err *err)
{
	static const char sql_served[] =
		"UPDATE outbox_turn"
		" SET served_us = $now, turn_us = max($now, coalesce(" SQL_FIRST_DUE ", " SQL_NEVER
		"))"
		" WHERE host = $this_host AND company_id = $company";

	return db_change(db, sql_served,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_INT("$now", now_us)), err);
}

/* Removes emails by sendmail(1) whose record came after they were put off: the maildrop has kept
 * the message. Among those that are put off it looks at the ones that are due first. */
static int take_recorded(struct db *db, const struct outbox_terms *terms,
	struct outbox_taken *taken, struct err *err)
{
	static const char sql_recorded[] =
		"SELECT e.id, e.company_id, o.size"
		" FROM (SELECT email, size"
		"   FROM outbox INDEXED BY outbox_put_off"
		"   WHERE due_us > $now AND due_us < " SQL_PAUSED
		"   AND due_us > 0 AND (attempts > 0 OR ticket_used <> 0) AND host = $this_host"
		"   AND joined = 0"
		"   ORDER BY due_us"
		"   LIMIT $max) o"
		" JOIN email e ON e.seq = o.email"
		" WHERE e.state = 'sent' AND e.way = 'sendmail'";
	static const struct row_field columns[] = {
		ROW_FIELD_AS(candidate, row.id, ROW_ID, "id"),
		ROW_FIELD_AS(candidate, row.company_id, ROW_ID, "company_id"),
		ROW_FIELD_AS(candidate, row.size, ROW_INT64, "size"),
	};
	static const struct row_type type = ROW_TYPE(candidate, columns);
	struct candidate *rows;
	size_t n;
	int result = 0;

	if (row_list(db,
		    ROW_LIST(.sql = sql_recorded,
			    .params = DB_PARAMS(DB_INT("$now", terms->now_us),
				    DB_INT("$max", OUTBOX_RECORDED_MAX)),
			    .type = &type, .items_r = &rows, .n_r = &n),
		    err) < 0)
		return -1;
	for (size_t i = 0; i < n && result == 0; i++)
		result = leave_candidate(db, terms, &rows[i], taken, err);
	row_list_free(&type, rows, n);
	return result;
}

int store_outbox_take(struct db *db, const struct outbox_terms *terms, struct outbox_taken *taken_r,
	struct err *err)
{
	/* Makes emails due that wait for a pause that has ended. */
	static const char sql_resume[] = SQL_PAUSES_ENDED
		" UPDATE outbox"
		" SET due_us = $now, resumed_us = $now, reason = NULL"
		" WHERE email IN (SELECT o.email"
		"   FROM ended"
		"   CROSS JOIN outbox o ON o.due_us > 0 AND o.due_us = ended.due"
		"   LIMIT $max)";
	/* The companies that have a turn, the longest waiting first. */
	static const char sql_turns[] =
		"SELECT company_id"
		" FROM outbox_turn"
		" WHERE host = $this_host AND turn_us <= $now AND instr($but, company_id) = 0"
		" ORDER BY turn_us, company_id"
		" LIMIT $max";
	_cleanup_strv_ struct strv companies = STRV_INIT;
	struct log_state log;
	int64_t bytes = 0, gone = 0;
	bool full = terms->rows == 0;
	int result = 0;

	*taken_r = (struct outbox_taken){0};
	if (db_change(db, sql_resume,
		    DB_PARAMS(DB_INT("$now", terms->now_us), DB_INT("$max", RESUMED_MAX)),
		    err) < 0 ||
		store_log_state(db, NULL, &log, err) < 0 ||
		row_texts(db, sql_turns,
			DB_PARAMS(DB_INT("$now", terms->now_us), DB_TEXT("$but", terms->but),
				DB_INT("$max", TURNS_MAX)),
			&companies, err) < 0)
		return -1;
	for (size_t c = 0; c < companies.n && result == 0 && !full; c++) {
		int left = terms->rows - (int)taken_r->looked;
		struct candidate *items;
		size_t n, i = 0;

		if (find_due(db, terms, companies.items[c],
			    left < terms->rows_each ? left : terms->rows_each, &items, &n,
			    err) < 0) {
			result = -1;
			break;
		}
		for (; i < n && result == 0; i++) {
			full = taken_r->looked > 0 && bytes + items[i].row.size > terms->bytes;
			if (full)
				break;
			taken_r->looked++;
			bytes += items[i].row.size;
			result = take_due(db, terms, log.end_us, &items[i], taken_r, err);
		}
		/* A company whose emails did not fit keeps its turn. */
		if (result == 0 && (i > 0 || n == 0) &&
			end_turn(db, companies.items[c], terms->now_us, err) < 0)
			result = -1;
		row_list_free(&candidate_type, items, n);
		full |= taken_r->looked >= (size_t)terms->rows;
	}
	if (result == 0 && terms->recorded)
		result = take_recorded(db, terms, taken_r, err);
	for (size_t i = 0; i < taken_r->n; i++)
		gone += taken_r->items[i].task == OUTBOX_GONE;
	if (result == 0 && gone > 0)
		result = store_outbox_flow(db, gone, terms->now_us, err);
	if (result < 0)
		store_outbox_taken_clear(taken_r);
	return result;
}

void store_outbox_taken_clear(struct outbox_taken *taken)
{
	for (size_t i = 0; i < taken->n; i++) {
		free(taken->items[i].sender);
		free(taken->items[i].queue_id);
	}
	free(taken->items);
	free(taken->joined);
	*taken = (struct outbox_taken){0};
}

int store_outbox_next(struct db *db, int64_t *due_us_r, struct err *err)
{
	static const char sql_next[] = SQL_PAUSES_ENDED
		" SELECT 1 AS due_us FROM ended"
		" UNION ALL SELECT *"
		" FROM (SELECT due_us"
		"   FROM outbox"
		"   WHERE host = $this_host AND due_us > 0"
		"   ORDER BY due_us"
		"   LIMIT 1) first"
		" LIMIT 1";

	return row_number(db, sql_next, NULL, due_us_r, err);
}

int store_outbox_sizes(struct db *db,
	void (*each)(void *arg, const char *company_id, int64_t bytes, int64_t emails), void *arg,
	struct err *err)
{
	static const char sql_sizes[] =
		"SELECT company_id, size FROM outbox WHERE joined = 0 AND host = $this_host";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_sizes, NULL, &stmt, err) < 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1)
		each(arg, db_text(stmt, 0), db_int(stmt, 1), 1);
	return found;
}
