/*
 * key_email: builds the database row of an email that its client submitted itself over SMTP
 * with a key's login. httpd has not staged it.
 */
#ifndef POSTERN_MILTER_KEY_EMAIL_H
#define POSTERN_MILTER_KEY_EMAIL_H

#include "core/store/email/store_email.h"

struct facts;
struct milter_session;

/* Makes the row of a message that may go out, with a new id and a ticket that nobody learns.
 * Envelope recipients that are named in To or Cc get that kind, the others bcc. Text and HTML
 * are read from the copy. The caller calls store_email_clear(). */
void key_email_make(const struct milter_session *session, const struct facts *facts, int64_t now_us,
	struct email *email_r);

#endif
