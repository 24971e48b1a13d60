/*
 * store_later_refusal: messages that the milter accepted and Postfix then refused, usually for
 * another milter behind ours.
 *
 * postern-httpd records what SMTP replies said, postern-events what the log says. A message counts
 * once, whoever records it first. Rows are kept for a day; their number stays near
 * LATER_REFUSALS_MAX.
 */
#ifndef POSTERN_STORE_STORE_LATER_REFUSAL_H
#define POSTERN_STORE_STORE_LATER_REFUSAL_H

#include "core/db/db.h"

enum { LATER_REFUSALS_MAX = 1000 };

/* Records the message with this queue id. Returns 0 or -1. */
int store_later_refusal_add(
	struct db *db, const char *queue_id, const char *text, int64_t now_us, struct err *err);
/* The same for the email with this id or ticket, if the milter had accepted it. */
int store_later_refusal_add_email(
	struct db *db, const char *id_or_ticket, const char *text, int64_t now_us, struct err *err);

/* Counts those since since_us, and reads the text of the last one, which the caller frees; NULL if
 * there was none. Returns 0 or -1. */
int store_later_refusal_count(
	struct db *db, int64_t since_us, int64_t *n_r, char **text_r, struct err *err);

#endif
