/*
 * smtp_command: the commands of a message's envelope (RFC 5321 4.1).
 */
#ifndef POSTERN_HTTPD_SMTP_COMMAND_H
#define POSTERN_HTTPD_SMTP_COMMAND_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_ehlo.h"

/* How many commands: MAIL, RCPT twice, DATA. */
size_t smtp_command_count(void);

/* Appends command number i. MAIL tells what of the message the server offers to
 * hear. */
void smtp_command_add(const struct submission *submission, size_t i,
	const struct smtp_extensions *extensions, struct buf *out);

/* What command number i was about, for people: `the sender <a@example.com>`; a
 * new string. */
char *smtp_command_about(const struct submission *submission, size_t i);

/* Whether a refusal of command number i is about the email. One of the
 * recipient is about Postfix, which does not know where it belongs. */
bool smtp_command_is_email(size_t i);

#endif
