/*
 * unsubscribe: a recipient unsubscribes from a domain with the token in an email: by the link (RFC
 * 8058), or by mail to the return path (RFC 2369).
 *
 * A token belongs to an email with a single recipient, who is the one to unsubscribe.
 */
#ifndef POSTERN_OPS_UNSUBSCRIBE_H
#define POSTERN_OPS_UNSUBSCRIBE_H

#include "core/db/db.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/email/store_return.h"

/* Finds the email of a token. Returns 1; 0 if the token is not ours or the email is gone; -1 on
 * error. The caller clears it with store_return_email_clear(). */
int unsubscribe_find(
	struct db *db, const char *token, struct return_email *email_r, struct err *err);

/* Adds the recipient to the company's suppression list for the domain, with an event, unless it is
 * there. source: `link` or `mail`. In a transaction, on the writer's handle; the caller flushes the
 * writer. Returns 1 if it was added, 0 if it was there, -1 on error. */
int unsubscribe_store(struct db *db, struct delivery_writer *writer,
	const struct return_email *email, const char *source, int64_t now_us, struct err *err);

#endif
