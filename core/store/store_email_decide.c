/*
 * store_email_decide: the milter's side of an email: what its ticket says, and
 * what was decided.
 *
 * Invariant: nothing here changes a row that is sent or refused; it keeps the
 * queue id and the time of its first record. doc/ARCHITECTURE.md has all steps.
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_email_private.h"
#include "core/store/store_key.h"
#include "core/store/store_row.h"

static int read_ticket(struct db_stmt *stmt, struct email_ticket *ticket,
	int64_t *seq_r, struct err *err)
{
	if (store_email_read_state(stmt, 6, &ticket->state, err) < 0)
		return -1;
	store_row_id(stmt, 0, ticket->id);
	store_row_id(stmt, 1, ticket->company_id);
	store_row_id(stmt, 2, ticket->key_id);
	ticket->domain = db_copy(stmt, 3);
	ticket->sender = db_copy(stmt, 4);
	ticket->from = db_copy(stmt, 5);
	ticket->message_id = db_copy(stmt, 11);
	ticket->recipients = STRV_INIT;
	ticket->superseded = false;
	ticket->key_valid = db_int(stmt, 7) != 0;
	ticket->domain_owned = db_int(stmt, 8) != 0;
	ticket->domain_active = db_int(stmt, 9) != 0;
	*seq_r = db_int(stmt, 10);
	db_reset(stmt);
	return 1;
}

/* No ticket ever comes back once it was superseded, so a statement of its own
 * after the one that did not find it tells the truth. */
static int find_superseded(struct db *db, const char *ticket,
	struct email_ticket *ticket_r, struct err *err)
{
	static const char sql_superseded[] =
		"SELECT email_id FROM superseded_ticket WHERE ticket = $ticket";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_superseded, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	result = db_step(stmt, err);
	if (result == 1) {
		*ticket_r = (struct email_ticket){.superseded = true};
		store_row_id(stmt, 0, ticket_r->id);
		db_reset(stmt);
	}
	return result;
}

int store_email_ticket(struct db *db, const char *ticket,
	struct email_ticket *ticket_r, struct err *err)
{
	/* d is the domain only if it is registered to the company, k the key
	 * only if it may send as that domain. */
	static const char sql_ticket[] =
		"SELECT e.id, e.company_id, e.key_id, e.domain, e.sender,"
		" e.header_from, e.state, k.id IS NOT NULL, d.id IS NOT NULL,"
		" coalesce(d.active, 0), e.seq, e.message_id"
		" FROM email e"
		" LEFT JOIN domain d"
		"  ON d.name = e.domain AND d.company_id = e.company_id"
		"  AND d.pending = 0"
		" LEFT JOIN api_key k"
		"  ON k.id = e.key_id AND k.company_id = e.company_id"
		"  AND k.revoked_us = 0 AND (k.scopes & $sending) <> 0"
		"  AND (k.domain_id IS NULL OR k.domain_id = d.id)"
		" WHERE e.ticket = $ticket";
	struct db_stmt *stmt;
	int64_t seq;
	int result;

	if (db_prepare(db, sql_ticket, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	db_bind_int(stmt, "$sending", KEY_SENDING);
	result = db_step(stmt, err);
	if (result == 0)
		return find_superseded(db, ticket, ticket_r, err);
	if (result < 0 || read_ticket(stmt, ticket_r, &seq, err) < 0)
		return -1;
	result = store_recipients_envelope(db, seq, &ticket_r->recipients, err);
	if (result <= 0)
		store_email_ticket_clear(ticket_r);
	return result;
}

void store_email_ticket_clear(struct email_ticket *ticket)
{
	free(ticket->domain);
	free(ticket->sender);
	strv_free(&ticket->recipients);
	free(ticket->from);
	free(ticket->message_id);
	*ticket = (struct email_ticket){0};
}

/* Whether a decision about the ticket holds that is not this one. */
static int is_decided(
	struct db *db, const char *ticket, const char *unlike, struct err *err)
{
	static const char sql_decided[] =
		"SELECT 1 FROM email"
		" WHERE ticket = $ticket AND state <> $unlike";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_decided, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	db_bind_text(stmt, "$unlike", unlike);
	result = db_step(stmt, err);
	if (result == 1)
		db_reset(stmt);
	return result;
}

/* What changed nothing was either decided before or has no such ticket. Should
 * a decided row go away just then (store_email_retract), its ticket is unknown
 * rightly; so it needs no transaction to tell which. */
static int decide(struct db *db, struct db_stmt *stmt, const char *ticket,
	const char *unlike, struct err *err)
{
	int changed;

	db_bind_text(stmt, "$ticket", ticket);
	changed = store_row_change(db, stmt, err);
	return changed == 0 ? is_decided(db, ticket, unlike, err) : changed;
}

int store_email_record(struct db *db, const char *ticket, const char *queue_id,
	int64_t now_us, struct err *err)
{
	static const char sql_record[] =
		"UPDATE email SET state = 'sent', decided_us = $now,"
		" queue_id = $queue_id, last_event = 'sent'"
		" WHERE ticket = $ticket AND state = 'staged'";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_record, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$now", now_us);
	db_bind_text(stmt, "$queue_id", queue_id);
	return decide(db, stmt, ticket, "refused", err);
}

int store_email_refuse(struct db *db, const char *ticket, const char *queue_id,
	const char *refusal, int64_t now_us, struct err *err)
{
	static const char sql_refuse[] =
		"UPDATE email SET state = 'refused', decided_us = $now,"
		" queue_id = $queue_id, last_event = 'failed',"
		" refusal = $refusal"
		" WHERE ticket = $ticket AND state = 'staged'";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_refuse, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$now", now_us);
	db_bind_text(stmt, "$queue_id", queue_id);
	db_bind_text(stmt, "$refusal", refusal);
	return decide(db, stmt, ticket, "", err);
}
