/*
 * store_email_private: what the files of store_email share.
 */
#ifndef POSTERN_STORE_STORE_EMAIL_PRIVATE_H
#define POSTERN_STORE_STORE_EMAIL_PRIVATE_H

#include "core/store/store_email.h"

/* The word of a column: 0; or -1, with the statement at its end, for one that
 * the table rules out. */
int store_email_read_state(struct db_stmt *stmt, int column,
	enum email_state *state_r, struct err *err);

/* The columns of a row, of `email e`, without its content. */
#define EMAIL_COLUMNS                                                          \
	"e.seq, e.id, e.company_id, e.key_id, e.ticket, e.domain, e.sender,"   \
	" e.header_from, e.reply_to, e.subject, e.message_id, e.created_us,"   \
	" e.state, e.decided_us, e.queue_id, e.last_event, e.refusal"
enum { EMAIL_COLUMNS_N = 17 };

/* Whether the row is in the folder: $all is 1 for every row, 0 for the sent. */
#define EMAIL_IN_FOLDER " (e.state = 'sent' OR $all = 1)"

/* Reads a row of EMAIL_COLUMNS: 0; or -1 as above, the email as it was. Its
 * recipients are read afterwards. */
int store_email_read_row(
	struct db_stmt *stmt, struct email *email, struct err *err);

/* The recipients of the email with this seq: 1, or 0 when there are none, for
 * it has gone since its row was read, or -1. */
int store_recipients_read(struct db *db, int64_t seq,
	struct recipients *recipients_r, struct err *err);
/* The same of those in the envelope, their addresses alone. */
int store_recipients_envelope(
	struct db *db, int64_t seq, struct strv *addresses_r, struct err *err);

/* ERR_INVALID for what cannot be kept. */
int store_recipients_check(const struct recipients *recipients, struct err *err);
/* In the caller's transaction. */
int store_recipients_insert(struct db *db, int64_t seq,
	const struct recipients *recipients, struct err *err);

#endif
