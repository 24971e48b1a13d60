/*
 * key_email: a message that its client submitted itself over SMTP, with a key's login, becomes an
 * email. httpd has not staged it.
 */
#ifndef POSTERN_MILTER_KEY_EMAIL_H
#define POSTERN_MILTER_KEY_EMAIL_H

#include "core/base/secret.h"
#include "core/store/email/store_email.h"

struct facts;
struct milter_session;
struct session_message;

/* Makes the row of a message that may go out, with a new id and a ticket that nobody learns.
 * Envelope recipients that are named in To or Cc get that kind, the others bcc. Text and HTML
 * are read from the copy. The caller calls store_email_clear(). */
void key_email_make(const struct milter_session *session, const struct facts *facts, int64_t now_us,
	struct email *email_r);

/* Hashes the content and the addresses of the message, for its Idempotency-Key. Date,
 * Message-ID and MIME boundaries do not count, because a program that builds the message again
 * changes them. tags and variables are those of the message's fields, as in struct email. */
void key_email_hash(const struct session_message *message, const char *tags, const char *variables,
	uint8_t payload_r[static SECRET_HASH_LEN]);

#endif
