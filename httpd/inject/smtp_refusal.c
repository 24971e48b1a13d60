/*
 * smtp_refusal: from an SMTP reply to a result.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_refusal.h"

/* A 5xx is about the email, whatever its digits: access tables, policy services
 * and other milters choose them freely. */
static enum err_code fault_of(int code)
{
	if (code < 500)
		return ERR_TEMPORARY;
	return code == 552 ? ERR_TOO_LARGE : ERR_INVALID;
}

static void one_line(char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

enum inject_result smtp_refusal(
	const struct smtp_reply *reply, const char *about, struct err *err)
{
	err_set(err, fault_of(reply->code),
		"The mail server refuses %s: %d %s%s%s", about, reply->code,
		reply->status, reply->status[0] ? " " : "", reply->text);
	one_line(err->text);
	return reply->code >= 500 ? INJECT_REJECTED : INJECT_TEMPORARY;
}
