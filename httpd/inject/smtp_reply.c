/*
 * smtp_reply: reads replies of an SMTP server.
 *
 * All lines of a reply have the same code; the last one has a blank, or
 * nothing, behind it. A bare LF ends a line too.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_reply.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/base/str.h"

enum { CODE_LEN = 3 };

struct line {
	const char *text; /* behind the code */
	size_t len;
	int code;
	bool last;
};

static int read_code(const char *data, size_t len)
{
	if (len < CODE_LEN || data[0] < '2' || data[0] > '5' ||
		!ascii_is_digit(data[1]) || !ascii_is_digit(data[2]))
		return -1;
	return (data[0] - '0') * 100 + (data[1] - '0') * 10 + data[2] - '0';
}

/* A line without its end. */
static int read_line(const char *data, size_t len, struct line *line)
{
	line->code = read_code(data, len);
	line->last = len == CODE_LEN || (len > CODE_LEN && data[CODE_LEN] == ' ');
	if (line->code < 0 || (!line->last && data[CODE_LEN] != '-'))
		return -1;
	line->text = data + (len > CODE_LEN ? CODE_LEN + 1 : CODE_LEN);
	line->len = len > CODE_LEN ? len - CODE_LEN - 1 : 0;
	return 0;
}

/* The digits of one part of a status, at most three: how many. */
static size_t digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && ascii_is_digit(text[n]))
		n++;
	return n;
}

/* How many bytes the text's status has, 0 without. RFC 3463 2: class "."
 * subject "." detail; the class is that of the code. */
static size_t status_len(const struct line *line)
{
	const char *text = line->text;
	size_t subject, detail, len;

	if (line->len < 5 || text[0] - '0' != line->code / 100 || text[1] != '.')
		return 0;
	subject = digits(text + 2, line->len - 2);
	len = 2 + subject;
	if (subject == 0 || len >= line->len || text[len] != '.')
		return 0;
	len++;
	detail = digits(text + len, line->len - len);
	len += detail;
	if (detail == 0 || (len < line->len && text[len] != ' '))
		return 0;
	return len;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void add_text(struct smtp_reply *reply, const char *text, size_t len)
{
	size_t at = strlen(reply->text);
	size_t room = sizeof(reply->text) - 1 - at;

	if (at > 0 && len > 0 && room > 0) {
		reply->text[at++] = '\n';
		room--;
	}
	if (len > room)
		len = room;
	for (size_t i = 0; i < len; i++)
		reply->text[at + i] = is_control(text[i]) ? '?' : text[i];
	reply->text[at + len] = '\0';
}

static void add_line(struct smtp_reply *reply, const struct line *line)
{
	size_t status = status_len(line);
	size_t skip = status < line->len && status > 0 ? status + 1 : status;

	memcpy(reply->status, line->text, status);
	reply->status[status] = '\0';
	reply->code = line->code;
	add_text(reply, line->text + skip, line->len - skip);
}

int smtp_reply_read(const char *data, size_t len, struct smtp_reply *reply_r,
	size_t *used_r)
{
	struct smtp_reply reply = {0};
	size_t limit = len < SMTP_REPLY_MAX ? len : SMTP_REPLY_MAX;
	struct line line = {0};
	const char *end;

	for (size_t at = 0; (end = memchr(data + at, '\n', limit - at));
		at = (size_t)(end - data) + 1) {
		size_t n = (size_t)(end - data) - at;

		if (n > 0 && end[-1] == '\r')
			n--;
		if (read_line(data + at, n, &line) < 0 ||
			(reply.code && reply.code != line.code))
			return -1;
		add_line(&reply, &line);
		if (!line.last)
			continue;
		str_utf8_mend(reply.text);
		*reply_r = reply;
		*used_r = (size_t)(end - data) + 1;
		return 1;
	}
	return len < SMTP_REPLY_MAX ? 0 : -1;
}
