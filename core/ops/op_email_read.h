/*
 * op_email_read: reading one email: by any of its names, with its message, and what happens to it
 * as it happens.
 *
 * These are functions, not rows of an interface: each interface shows an email in its own way. The
 * email is an input or a result of theirs, and nothing is written.
 */
#ifndef POSTERN_OPS_OP_EMAIL_READ_H
#define POSTERN_OPS_OP_EMAIL_READ_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/db/db.h"
#include "core/store/email/store_email.h"
#include "core/store/event/store_event.h"

/* Finds an email by its id; by the id in a Message-ID, as in answers of the form API; by the
 * Message-ID that its client chose; or by a queue id, which Postfix reuses if it is short. Several
 * matches are an error that lists their ids. Returns 0, and the caller clears the email, or -1:
 * ERR_NOT_FOUND, ERR_INVALID, or an error of the store. */
int op_email_find(struct db *db, const char *name, struct email *email_r, struct err *err);

/* Appends the message as it was submitted to Postfix, without the fields for the milter. database
 * is the name of the store. Returns 1, 0 if the message is not kept, -1 on error. */
int op_email_message(struct db *db, const char *database, const struct email *email,
	struct buf *message, struct err *err);

/* Following the events of one email, or of all. */
struct op_email_watch {
	char id[ID_SIZE]; /* "": all emails */
	int64_t seq;      /* seq of the last event that was read */
	int64_t version;  /* version of the database at that time */
};

/* Begins with the first event of the email of this name, or, for NULL, after the newest event of
 * all. Returns 0 or -1. */
int op_email_watch_begin(
	struct db *db, const char *name, struct op_email_watch *watch_r, struct err *err);

/* Reads the next events, which may be none; the caller frees them if the result is not negative.
 * Returns 1 while more may come, 0 after the last event of the email, with the answer whether it
 * went out (the caller frees it; NULL if the email is gone), or -1 on error. */
int op_email_watch_next(struct db *db, struct op_email_watch *watch, int64_t now_us,
	struct event_list *events_r, char **answer_r, struct err *err);

#endif
