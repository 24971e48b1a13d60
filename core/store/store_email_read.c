/*
 * store_email_read: emails as they are read back.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include <string.h>

#include "core/store/store_email_private.h"
#include "core/store/store_row.h"

enum {
	HTML_COLUMN = EMAIL_COLUMNS_N,
	TEXT_COLUMN,
	TAGS_COLUMN,
	VARIABLES_COLUMN
};

static void read_ids(struct db_stmt *stmt, struct email *email)
{
	store_row_id(stmt, 1, email->id);
	store_row_id(stmt, 2, email->company_id);
	store_row_id(stmt, 3, email->key_id);
	*stpncpy(email->ticket, db_text(stmt, 4), SECRET_TICKET_SIZE - 1) = 0;
}

int store_email_read_row(
	struct db_stmt *stmt, struct email *email, struct err *err)
{
	if (store_email_read_state(stmt, 12, &email->state, err) < 0)
		return -1;
	email->seq = db_int(stmt, 0);
	read_ids(stmt, email);
	email->domain = db_copy(stmt, 5);
	email->sender = db_copy(stmt, 6);
	email->from = db_copy(stmt, 7);
	strv_split(&email->reply_to, db_text(stmt, 8), '\n');
	email->subject = db_copy(stmt, 9);
	email->message_id = db_copy(stmt, 10);
	email->created_us = db_int(stmt, 11);
	email->decided_us = db_int(stmt, 13);
	email->queue_id = db_copy(stmt, 14);
	email->last_event = db_copy(stmt, 15);
	email->refusal = db_copy(stmt, 16);
	return 0;
}

int store_email_get(struct db *db, const char *id,
	const struct email_scope *scope, struct email *email_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT " EMAIL_COLUMNS ", c.html, c.text, c.tags, c.variables"
		" FROM email e JOIN email_content c ON c.seq = e.seq"
		" WHERE e.id = $id AND" EMAIL_IN_FOLDER
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)";
	struct email email = {0};
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_get, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	db_bind_int(stmt, "$all", !scope->sent_only);
	db_bind_text(stmt, "$company", scope->company_id);
	db_bind_text(stmt, "$domain", scope->domain);
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	if (store_email_read_row(stmt, &email, err) < 0)
		return -1;
	email.html = db_copy(stmt, HTML_COLUMN);
	email.text = db_copy(stmt, TEXT_COLUMN);
	email.tags = db_copy(stmt, TAGS_COLUMN);
	email.variables = db_copy(stmt, VARIABLES_COLUMN);
	db_reset(stmt);
	result = store_recipients_read(db, email.seq, &email.recipients, err);
	if (result == 1)
		*email_r = email;
	else
		store_email_clear(&email);
	return result;
}

int store_email_outcome(struct db *db, const char *id,
	enum email_state *state_r, char **refusal_r, struct err *err)
{
	static const char sql_outcome[] =
		"SELECT state, refusal FROM email WHERE id = $id";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_outcome, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	if (store_email_read_state(stmt, 0, state_r, err) < 0)
		return -1;
	*refusal_r = db_copy(stmt, 1);
	db_reset(stmt);
	return 1;
}

int store_email_recall(struct db *db, const char *id,
	struct email_recall *recall_r, struct err *err)
{
	static const char sql_recall[] =
		"SELECT state, ticket, refusal, run FROM email WHERE id = $id";
	struct email_recall recall = {0};
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_recall, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	if (store_email_read_state(stmt, 0, &recall.state, err) < 0)
		return -1;
	*stpncpy(recall.ticket, db_text(stmt, 1), SECRET_TICKET_SIZE - 1) = 0;
	recall.refusal = db_copy(stmt, 2);
	recall.run = db_copy(stmt, 3);
	db_reset(stmt);
	*recall_r = recall;
	return 1;
}

void store_email_recall_clear(struct email_recall *recall)
{
	free(recall->refusal);
	free(recall->run);
	*recall = (struct email_recall){0};
}
