/*
 * smtp_command: writes MAIL, RCPT and DATA.
 *
 * SMTPUTF8 is asked for where it is needed only: a message with it cannot go to
 * servers that lack it.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_command.h"

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/smtp_data.h"

static bool has_utf8_address(const struct submission *submission)
{
	for (size_t i = 0; i < submission->recipients->n; i++)
		if (!str_is_ascii(submission->recipients->items[i]))
			return true;
	return !str_is_ascii(submission->sender);
}

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
	if (extensions->utf8 &&
		(shape.utf8_header || has_utf8_address(submission)))
		buf_add_str(out, " SMTPUTF8");
	buf_add_str(out, "\r\n");
}

size_t smtp_command_count(const struct submission *submission)
{
	return submission->recipients->n + 2;
}

void smtp_command_add(const struct submission *submission, size_t i,
	const struct smtp_extensions *extensions, struct buf *out)
{
	if (i == 0)
		add_mail(submission, extensions, out);
	else if (i <= submission->recipients->n)
		buf_printf(out, "RCPT TO:<%s>\r\n",
			submission->recipients->items[i - 1]);
	else
		buf_add_str(out, "DATA\r\n");
}

char *smtp_command_about(const struct submission *submission, size_t i)
{
	if (i == 0)
		return mem_printf("the sender <%s>", submission->sender);
	if (i <= submission->recipients->n)
		return mem_printf("the recipient <%s>",
			submission->recipients->items[i - 1]);
	return mem_strdup("the email");
}
