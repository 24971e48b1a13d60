/*
 * return_read: what a message says that came back to a return path: that an email
 * could not be delivered (RFC 3464, and the texts of programs that do not know it),
 * or that its recipient complains (RFC 5965).
 *
 * The bytes come from anyone. What cannot be read is RETURN_UNREAD; nothing fails.
 * Time is linear in the length of the message; parts, recipients and the length of
 * texts are bounded.
 */
#ifndef POSTERN_READ_RETURN_READ_H
#define POSTERN_READ_RETURN_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strv.h"

enum {
	RETURN_RECIPIENTS_MAX = 1000,
	RETURN_TEXT_MAX = 1000, /* bytes of a text, without its NUL */
	RETURN_PATHS_MAX = 50,
};

enum return_kind {
	RETURN_UNREAD,    /* nothing that is known here: it is for a person */
	RETURN_FAILURE,   /* recipients that were not reached, and will not be */
	RETURN_NOTICE,    /* of a program, and of no consequence: it tries again, has
			   * delivered, or its user is away */
	RETURN_COMPLAINT, /* a recipient does not want it */
	RETURN_KINDS
};
const char *return_kind_name(enum return_kind kind);

/* A recipient of whom a message tells; what it does not say is NULL. Texts are
 * UTF-8 in one line. */
struct return_recipient {
	char *original; /* address that was sent to, without <> */
	char *final;    /* address that was not reached, which may be another */
	char *status;   /* RFC 3463, as `5.1.1` */
	char *text;     /* what was said by whom refused it */
	char *remote;   /* who that is */
};

struct return_message {
	enum return_kind kind;
	struct return_recipient *recipients; /* of a failure at least one; of a complaint
					      * often none */
	size_t n;
	char *queue_id; /* of the Postfix that reports (X-Postfix-Queue-ID), NULL */
	char *feedback; /* the type of the complaint: abuse, fraud ...; NULL */
	/* What the message says the email's envelope sender was, and what the email itself
	 * says: the values of Original-Mail-From, Return-Path and List-Unsubscribe. */
	struct strv paths;
	int64_t date_us; /* of the field Date; 0: none */
};

/* has_sender: its envelope sender is not <>. The caller clears message_r. */
void return_read(const char *data, size_t len, bool has_sender, struct return_message *message_r);
void return_message_clear(struct return_message *message);
#define _cleanup_return_message_ __attribute__((cleanup(return_message_clear)))

#endif
