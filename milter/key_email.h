/*
 * key_email: the row of an email whose client has submitted the message itself,
 * over SMTP with the login of its key. httpd has staged nothing of it.
 */
#ifndef POSTERN_MILTER_KEY_EMAIL_H
#define POSTERN_MILTER_KEY_EMAIL_H

#include "core/store/store_email.h"
#include "milter/facts.h"
#include "milter/session.h"

/* A hash of what the message says and to whom, for its Idempotency-Key: a program that composes
 * a message once more gives it another Date, Message-ID and boundaries. Of the facts it reads tags
 * and variables. */
void key_email_payload(const struct session_message *message, const struct facts *facts,
	uint8_t payload_r[static SECRET_HASH_LEN]);

/* Makes the row of a message that may go out, with an id of its own and a ticket
 * that nobody is told. Of the recipients of the envelope those that a field To
 * or Cc names are of that kind, the others bcc. Text and html are read from the copy. The caller
 * clears the email with store_email_clear(). */
void key_email_make(const struct milter_session *session, const struct facts *facts, int64_t now_us,
	struct email *email_r);

#endif
