/*
 * store_later_refusal: messages that the milter let pass and that Postfix refused afterwards: for
 * another milter behind ours, as a rule.
 *
 * postern-httpd notes what it was told by SMTP, postern-events what the log says. A message counts
 * once, whoever notes it first. Rows are kept for a day, and there are not many more than
 * LATER_REFUSALS_MAX.
 */
#ifndef POSTERN_STORE_STORE_LATER_REFUSAL_H
#define POSTERN_STORE_STORE_LATER_REFUSAL_H

#include "core/db/db.h"

enum { LATER_REFUSALS_MAX = 1000 };

/* Notes the message with the queue id. 0 or -1. */
int store_later_refusal_add(
	struct db *db, const char *queue_id, const char *text, int64_t now_us, struct err *err);
/* The same for the email with this id or ticket, if the milter had let it pass. */
int store_later_refusal_add_email(
	struct db *db, const char *id_or_ticket, const char *text, int64_t now_us, struct err *err);

/* How many there were since then, and what the last one said, which the caller frees; NULL if there
 * was none. 0 or -1. */
int store_later_refusal_count(
	struct db *db, int64_t since_us, int64_t *n_r, char **text_r, struct err *err);

#endif
