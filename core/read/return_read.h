/*
 * return_read: reads a message that came to a return path: a bounce (RFC 3464, and the texts of
 * programs that do not write it) or a complaint (RFC 5965).
 *
 * The bytes come from anyone. What is not understood is RETURN_UNREAD; nothing fails. Time is
 * linear in the length of the message. The number of parts and recipients, and the length of texts,
 * are bounded.
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
	RETURN_UNREAD,    /* not understood: it is for a person */
	RETURN_FAILURE,   /* delivery failed for good */
	RETURN_NOTICE,    /* automatic, without consequence: a delay, a delivery, an absence */
	RETURN_COMPLAINT, /* a recipient reported the email */
	RETURN_KINDS
};
const char *return_kind_name(enum return_kind kind);

/* A recipient that the message reports on; what it does not say is NULL. Texts are UTF-8 in one
 * line. */
struct return_recipient {
	char *original; /* the address that the email was sent to, without <> */
	char *final;    /* the address that failed, which may be another one */
	char *status;   /* RFC 3463, as `5.1.1` */
	char *text;     /* the answer of the server that refused it */
	char *remote;   /* that server */
};

struct return_message {
	enum return_kind kind;
	struct return_recipient *recipients; /* a failure has at least one, a complaint often
					      * none */
	size_t n;
	char *queue_id; /* at the Postfix that reports (X-Postfix-Queue-ID), NULL */
	char *feedback; /* the type of the complaint: abuse, fraud ...; NULL */
	/* Where a token may be: the values of Original-Mail-From in the report, and of Return-Path
	 * and List-Unsubscribe in the email that it quotes. */
	struct strv paths;
	int64_t date_us; /* of the field Date; 0: none */
};

/* has_sender: the envelope sender is not <>. The caller clears message_r. */
void return_read(const char *data, size_t len, bool has_sender, struct return_message *message_r);
void return_message_clear(struct return_message *message);
#define _cleanup_return_message_ __attribute__((cleanup(return_message_clear)))

#endif
