/*
 * return_read: reads a message that came to a return path: a bounce (RFC 3464, and the texts of
 * programs that do not write it) or a complaint (RFC 5965).
 *
 * The bytes are untrusted. A message that is not understood is RETURN_UNREAD; nothing fails.
 * Time is linear in the length of the message. The number of parts and recipients, and the
 * length of texts, are bounded.
 */
#ifndef POSTERN_READ_RETURN_READ_H
#define POSTERN_READ_RETURN_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strv.h"

enum {
	RETURN_RECIPIENTS_MAX = 1000,
	RETURN_TEXT_MAX = 1000, /* bytes of a text without NUL */
	RETURN_PATHS_MAX = 50,
};

enum return_kind {
	RETURN_UNREAD,    /* not understood; a person has to read it */
	RETURN_FAILURE,   /* delivery failed permanently */
	RETURN_NOTICE,    /* automatic and without consequence: a delay, a delivery, an
			   * out-of-office reply */
	RETURN_COMPLAINT, /* a recipient reported the email */
	RETURN_KINDS
};
const char *return_kind_name(enum return_kind kind);

/* A recipient that the message reports about. Unknown members are NULL. Texts are UTF-8 on one
 * line. */
struct return_recipient {
	char *original; /* the address that the email was sent to, without <> */
	char *final;    /* the address that failed, which may be another one */
	char *status;   /* RFC 3463, such as `5.1.1` */
	char *text;     /* the reply of the server that refused it */
	char *remote;   /* the name of that server */
};

struct return_message {
	enum return_kind kind;
	struct return_recipient *recipients; /* at least one for a failure, often none for a
					      * complaint */
	size_t n;
	char *queue_id; /* at the reporting Postfix (X-Postfix-Queue-ID); NULL if none */
	char *feedback; /* type of the complaint: abuse, fraud ...; NULL if none */
	/* Texts that may contain a return token: Original-Mail-From of the report, and
	 * Return-Path and List-Unsubscribe of the quoted email. */
	struct strv paths;
	int64_t date_us; /* of the Date field; 0 if none */
};

/* has_sender: the envelope sender is not <>. The caller calls return_message_clear(). */
void return_read(const char *data, size_t len, bool has_sender, struct return_message *message_r);
void return_message_clear(struct return_message *message);
#define _cleanup_return_message_ __attribute__((cleanup(return_message_clear)))

#endif
