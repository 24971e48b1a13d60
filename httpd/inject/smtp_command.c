/*
 * smtp_command: writes MAIL, RCPT and DATA.
 *
 * SMTPUTF8 is asked for where it is needed only: a message with it cannot go to
 * servers that lack it. The recipient is said twice: of one alone, smtpd would
 * write the address into the field Received.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_command.h"

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/smtp_data.h"

enum { MAIL, RCPT, RCPT_AGAIN, DATA, COMMANDS };

static void add_mail(const struct submission *submission,
	const struct smtp_extensions *extensions, struct buf *out)
{
	struct smtp_shape shape;

	smtp_shape_read(submission->message, &shape);
	buf_printf(out, "MAIL FROM:<%s>", submission->sender);
	if (extensions->size)
		buf_printf(out, " SIZE=%zu", shape.size);
	if (extensions->eight_bit && shape.eight_bit)
		buf_add_str(out, " BODY=8BITMIME");
	if (extensions->utf8 && (shape.utf8_header || submission->utf8 ||
					!str_is_ascii(submission->sender)))
		buf_add_str(out, " SMTPUTF8");
	buf_add_str(out, "\r\n");
}

size_t smtp_command_count(void)
{
	return COMMANDS;
}

void smtp_command_add(const struct submission *submission, size_t i,
	const struct smtp_extensions *extensions, struct buf *out)
{
	if (i == MAIL)
		add_mail(submission, extensions, out);
	else if (i == DATA)
		buf_add_str(out, "DATA\r\n");
	else
		buf_printf(out, "RCPT TO:<%s>\r\n", submission->recipient);
}

char *smtp_command_about(const struct submission *submission, size_t i)
{
	if (i == MAIL)
		return mem_printf("the sender <%s>", submission->sender);
	return mem_strdup(i == DATA ? "the email" : "the recipient");
}

bool smtp_command_is_email(size_t i)
{
	return i == MAIL || i == DATA;
}
