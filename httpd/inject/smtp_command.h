/*
 * smtp_command: the commands of a message's envelope (RFC 5321 4.1).
 */
#ifndef POSTERN_HTTPD_SMTP_COMMAND_H
#define POSTERN_HTTPD_SMTP_COMMAND_H

#include "core/base/buf.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_ehlo.h"

/* How many commands: MAIL, one RCPT for each recipient, DATA. */
size_t smtp_command_count(const struct submission *submission);

/* Appends command number i. MAIL tells what of the message the server offers to
 * hear. */
void smtp_command_add(const struct submission *submission, size_t i,
	const struct smtp_extensions *extensions, struct buf *out);

/* What command number i was about, for people: `the sender <a@example.com>`; a
 * new string. */
char *smtp_command_about(const struct submission *submission, size_t i);

#endif
