/*
 * store_email: staging of emails, the words for their states, and their
 * memory.
 *
 * Invariant: a row of the table email has one of email_content, and at least
 * one of email_recipient.
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_email.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_email_private.h"
#include "core/store/store_row.h"

static const char *const state_names[] = {
	[EMAIL_STAGED] = "staged",
	[EMAIL_SENT] = "sent",
	[EMAIL_REFUSED] = "refused",
};

const char *store_email_state_name(enum email_state state)
{
	assert(state < ARRAY_SIZE(state_names));
	return state_names[state];
}

int store_email_read_state(struct db_stmt *stmt, int column,
	enum email_state *state_r, struct err *err)
{
	size_t state = store_row_word(
		state_names, ARRAY_SIZE(state_names), db_text(stmt, column));

	if (state == ARRAY_SIZE(state_names))
		return store_row_bad_word(stmt, column, err);
	*state_r = (enum email_state)state;
	return 0;
}

/* Returns the number of the new row in *seq_r. */
static int insert_email(struct db *db, const struct email *email,
	const char *reply_to, int64_t *seq_r, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO email (id, ticket, company_id, key_id, domain,"
		" sender, header_from, reply_to, subject, message_id,"
		" created_us, run)"
		" VALUES ($id, $ticket, $company, $key, $domain, $sender,"
		" $from, $reply_to, $subject, $message_id, $created, $run)"
		" RETURNING seq";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", email->id);
	db_bind_text(stmt, "$ticket", email->ticket);
	db_bind_text(stmt, "$company", email->company_id);
	db_bind_text(stmt, "$key", email->key_id);
	db_bind_text(stmt, "$domain", email->domain);
	db_bind_text(stmt, "$sender", email->sender);
	db_bind_text(stmt, "$from", email->from);
	db_bind_text(stmt, "$reply_to", reply_to);
	db_bind_text(stmt, "$subject", email->subject);
	db_bind_text(stmt, "$message_id", email->message_id);
	db_bind_int(stmt, "$created", email->created_us);
	db_bind_text(stmt, "$run", email->run);
	if (db_step(stmt, err) != 1)
		return -1;
	*seq_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

static int insert_content(
	struct db *db, int64_t seq, const struct email *email, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO email_content (seq, html, text, tags, variables)"
		" VALUES ($seq, $html, $text, $tags, $variables)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$seq", seq);
	db_bind_text(stmt, "$html", email->html);
	db_bind_text(stmt, "$text", email->text);
	db_bind_text(stmt, "$tags", email->tags ? email->tags : "[]");
	db_bind_text(
		stmt, "$variables", email->variables ? email->variables : "{}");
	return db_run(stmt, err);
}

static int insert_all(struct db *db, void *arg, struct err *err)
{
	const struct email *email = arg;
	_cleanup_free_ char *reply_to = strv_join(&email->reply_to, "\n");
	int64_t seq;

	if (insert_email(db, email, reply_to, &seq, err) != 0 ||
		insert_content(db, seq, email, err) != 0)
		return -1;
	return store_recipients_insert(db, seq, &email->recipients, err);
}

int store_email_stage(struct db *db, const struct email *email, struct err *err)
{
	if (store_recipients_check(&email->recipients, err) != 0 ||
		store_row_check_lines("reply_to", &email->reply_to, err) != 0)
		return -1;
	return db_atomic(db, insert_all, (void *)email, err);
}

int store_email_unstage(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_unstage[] =
		"DELETE FROM email WHERE ticket = $ticket"
		" AND state = 'staged' AND queue_id IS NULL";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_unstage, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	return store_row_change(db, stmt, err);
}

int store_email_retract(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_retract[] =
		"DELETE FROM email"
		" WHERE ticket = $ticket AND state <> 'refused'";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_retract, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	return store_row_change(db, stmt, err);
}

int store_email_doubt(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_doubt[] =
		"UPDATE email SET state = 'staged', decided_us = 0,"
		" last_event = NULL"
		" WHERE ticket = $ticket AND state = 'sent'";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_doubt, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	return store_row_change(db, stmt, err);
}

int store_email_prove(struct db *db, const char *ticket, struct err *err)
{
	static const char sql_prove[] =
		"UPDATE email SET run = NULL WHERE ticket = $ticket";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_prove, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$ticket", ticket);
	return store_row_change(db, stmt, err);
}

static int remember_ticket(
	struct db *db, const struct email *email, struct err *err)
{
	static const char sql_remember[] =
		"INSERT INTO superseded_ticket (ticket, email_id, created_us)"
		" SELECT ticket, id, created_us FROM email WHERE id = $id"
		" AND company_id = $company AND state = $state";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remember, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", email->id);
	db_bind_text(stmt, "$company", email->company_id);
	db_bind_text(stmt, "$state", store_email_state_name(email->state));
	return store_row_change(db, stmt, err);
}

int store_email_supersede(
	struct db *db, const struct email *email, struct err *err)
{
	static const char sql_supersede[] =
		"UPDATE email SET ticket = $ticket, key_id = $key,"
		" run = CASE state WHEN 'staged' THEN $run ELSE run END"
		" WHERE id = $id";
	struct db_stmt *stmt;
	int found = remember_ticket(db, email, err);

	if (found <= 0)
		return found;
	if (db_prepare(db, sql_supersede, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", email->id);
	db_bind_text(stmt, "$ticket", email->ticket);
	db_bind_text(stmt, "$key", email->key_id);
	db_bind_text(stmt, "$run", email->run);
	return store_row_change(db, stmt, err);
}

void store_email_clear(struct email *email)
{
	free(email->domain);
	free(email->sender);
	free(email->from);
	recipients_free(&email->recipients);
	strv_free(&email->reply_to);
	free(email->subject);
	free(email->html);
	free(email->text);
	free(email->tags);
	free(email->variables);
	free(email->message_id);
	free(email->queue_id);
	free(email->last_event);
	free(email->refusal);
	free(email->run);
	*email = (struct email){0};
}

void store_email_list_free(struct email_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_email_clear(&list->items[i]);
	free(list->items);
	*list = (struct email_list){0};
}

int store_email_find_ticket(struct db *db, const char *ticket,
	char id[static ID_SIZE], struct err *err)
{
	static const char sql_find[] =
		"SELECT id FROM email WHERE ticket = $ticket"
		" UNION ALL"
		" SELECT email_id FROM superseded_ticket WHERE ticket = "
		"$ticket";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_find, DB_PARAMS(DB_TEXT("$ticket", ticket)), &stmt,
		    err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found != 1)
		return found;
	*stpncpy(id, db_text(stmt, 0), ID_SIZE - 1) = '\0';
	db_reset(stmt);
	return 1;
}

/* Mail from sendmail(1) is in the maildrop until its queue file is on the disk:
 * that such an email is sent is proof, whatever run it was staged with. */
int store_email_reissue(
	struct db *db, const char *id, const char *ticket, struct err *err)
{
	static const char sql_remember[] =
		"INSERT INTO superseded_ticket (ticket, email_id, created_us)"
		" SELECT ticket, id, created_us FROM email"
		" WHERE id = $id AND state = 'staged'";
	static const char sql_reissue[] =
		"UPDATE email SET ticket = $ticket, run = NULL"
		" WHERE id = $id AND state = 'staged'";
	int changed = db_change(
		db, sql_remember, DB_PARAMS(DB_TEXT("$id", id)), err);

	if (changed <= 0)
		return changed;
	return db_change(db, sql_reissue,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$ticket", ticket)), err);
}
