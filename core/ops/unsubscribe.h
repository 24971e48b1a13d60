/*
 * unsubscribe: a recipient wants no more of what a domain sends, and says so by the token that its
 * email has: by the link (RFC 8058), or by mail to the return path (RFC 2369).
 *
 * A token is of an email with one recipient, which is who asks.
 */
#ifndef POSTERN_OPS_UNSUBSCRIBE_H
#define POSTERN_OPS_UNSUBSCRIBE_H

#include "core/db/db.h"
#include "core/store/delivery_writer.h"
#include "core/store/store_return.h"

/* The email whose token it is: 1, 0 when it is none of ours or the email is gone, -1. The caller
 * clears it with store_return_email_clear(). */
int unsubscribe_find(
	struct db *db, const char *token, struct return_email *email_r, struct err *err);

/* Puts the recipient into the list of the company for the domain, with an event, unless it is
 * there. source: `link` or `mail`. In a transaction, on the writer's handle; the caller flushes
 * the writer. 1 when it was not there, 0, -1. */
int unsubscribe_store(struct db *db, struct delivery_writer *writer,
	const struct return_email *email, const char *source, int64_t now_us, struct err *err);

#endif
