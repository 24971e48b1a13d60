/*
 * smtp_refusal: from an SMTP reply to a result.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_refusal.h"

#include "core/base/mem.h"

/* Whose fault a 5xx is; the rest is the email's. */
static const struct {
	int code;
	enum err_code err;
} faults[] = {
	{500, ERR_INTERNAL}, /* commands that we write wrongly */
	{501, ERR_INTERNAL},
	{502, ERR_INTERNAL},
	{503, ERR_INTERNAL},
	{504, ERR_INTERNAL},
	{552, ERR_TOO_LARGE},
	{555, ERR_INTERNAL},
};

static enum err_code fault_of(int code)
{
	if (code < 500)
		return ERR_TEMPORARY;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return faults[i].err;
	return ERR_INVALID;
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
