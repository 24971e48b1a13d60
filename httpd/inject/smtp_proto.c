/*
 * smtp_proto: the client side of SMTP, without I/O.
 */
#include "httpd/inject/smtp_proto.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"

/* Replies. All lines of a reply have the same code. The last line has a blank,
 * or nothing, after it. A bare LF ends a line too. */

enum { CODE_LEN = 3 };

struct line {
	const char *text; /* after the code */
	size_t len;
	int code;
	bool last;
};

/* A line without its end. */
static int read_reply_line(const char *data, size_t len, struct line *line)
{
	if (len < CODE_LEN || data[0] < '2' || data[0] > '5' || !ascii_is_digit(data[1]) ||
		!ascii_is_digit(data[2]))
		return -1;
	line->code = (data[0] - '0') * 100 + (data[1] - '0') * 10 + data[2] - '0';
	line->last = len == CODE_LEN || data[CODE_LEN] == ' ';
	if (!line->last && data[CODE_LEN] != '-')
		return -1;
	line->text = data + (len > CODE_LEN ? CODE_LEN + 1 : CODE_LEN);
	line->len = len > CODE_LEN ? len - CODE_LEN - 1 : 0;
	return 0;
}

/* The number of digits of one part of a status, at most three. */
static size_t digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && ascii_is_digit(text[n]))
		n++;
	return n;
}

/* The length of the enhanced status code that the text begins with, or 0. RFC
 * 3463 2: class "." subject "." detail; the class is that of the reply code. */
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

static void add_reply_text(struct smtp_reply *reply, const char *text, size_t len)
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
		reply->text[at + i] = ascii_is_control(text[i]) ? '?' : text[i];
	reply->text[at + len] = '\0';
}

int smtp_reply_read(const char *data, size_t len, struct smtp_reply *reply_r, size_t *used_r)
{
	struct smtp_reply reply = {0};
	size_t limit = len < SMTP_REPLY_MAX ? len : SMTP_REPLY_MAX;
	struct line line = {0};
	const char *end;

	for (size_t at = 0; (end = memchr(data + at, '\n', limit - at));
		at = (size_t)(end - data) + 1) {
		size_t n = (size_t)(end - data) - at, status, skip;

		if (n > 0 && end[-1] == '\r')
			n--;
		if (read_reply_line(data + at, n, &line) < 0 ||
			(reply.code && reply.code != line.code))
			return -1;
		reply.code = line.code;
		status = status_len(&line);
		*(char *)mempcpy(reply.status, line.text, status) = '\0';
		skip = status < line.len && status > 0 ? status + 1 : status;
		add_reply_text(&reply, line.text + skip, line.len - skip);
		if (!line.last)
			continue;
		str_utf8_mend(reply.text);
		*reply_r = reply;
		*used_r = (size_t)(end - data) + 1;
		return 1;
	}
	return len < SMTP_REPLY_MAX ? 0 : -1;
}

static const struct {
	const char *keyword;
	size_t offset;
} keywords[] = {
	{"PIPELINING", offsetof(struct smtp_extensions, pipelining)},
	{"SIZE", offsetof(struct smtp_extensions, size)},
	{"8BITMIME", offsetof(struct smtp_extensions, eight_bit)},
	{"SMTPUTF8", offsetof(struct smtp_extensions, utf8)},
	{"CHUNKING", offsetof(struct smtp_extensions, chunking)},
};

struct smtp_extensions smtp_ehlo_read(const char *text)
{
	struct smtp_extensions found = {0};
	struct span rest = {text, strlen(text)};

	span_cut(&rest, '\n'); /* the server's name */
	while (rest.len > 0) {
		struct span line = span_cut(&rest, '\n'), keyword = span_cut(&line, ' ');

		for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
			if (span_is_nocase(keyword, keywords[i].keyword))
				*(bool *)((char *)&found + keywords[i].offset) = true;
	}
	return found;
}

/* The length of the header, up to the first empty line. */
static size_t header_len(const struct buf *message)
{
	const char *end;

	if (message->len > 0 && message->data[0] == '\n')
		return 0;
	end = memmem(message->data, message->len, "\n\n", 2);
	return end ? (size_t)(end - message->data) : message->len;
}

/* Adds the number of lines, and whether there are bytes above 127. By blocks that stay in the
 * processor's cache, so that each loop is short and memory is read once. */
static void scan(const char *data, size_t len, size_t *lines, bool *eight_bit)
{
	enum { BLOCK = 4096 };

	while (len > 0) {
		size_t n = len < BLOCK ? len : BLOCK, ends = 0;
		unsigned char seen = 0;

		for (size_t i = 0; i < n; i++)
			ends += data[i] == '\n';
		for (size_t i = 0; i < n; i++)
			seen |= (unsigned char)data[i];
		*lines += ends;
		*eight_bit |= (seen & 0x80) != 0;
		data += n;
		len -= n;
	}
}

void smtp_shape_read(const struct buf *message, struct smtp_shape *shape_r)
{
	struct smtp_shape shape = {0};
	size_t header, lines = 0;

	*shape_r = shape;
	if (message->len == 0)
		return;
	header = header_len(message);
	scan(message->data, header, &lines, &shape.utf8_header);
	shape.eight_bit = shape.utf8_header;
	scan(message->data + header, message->len - header, &lines, &shape.eight_bit);
	shape.size = message->len + lines;
	shape.unfinished = message->data[message->len - 1] != '\n';
	*shape_r = shape;
}

bool smtp_is_chunked(const struct smtp_extensions *extensions)
{
	return extensions->pipelining && extensions->chunking;
}

void smtp_command_add(const struct submission *submission, const struct smtp_shape *shape,
	enum smtp_command command, const struct smtp_extensions *extensions, struct buf *out)
{
	if (command == SMTP_MAIL) {
		buf_printf(out, "MAIL FROM:<%s>", submission->sender);
		if (extensions->size)
			buf_printf(out, " SIZE=%zu", shape->size);
		if (extensions->eight_bit && shape->eight_bit)
			buf_add_str(out, " BODY=8BITMIME");
		/* Only if needed: a message with it cannot go to servers without it. */
		if (extensions->utf8 && (shape->utf8_header || submission->utf8 ||
						!str_is_ascii(submission->sender)))
			buf_add_str(out, " SMTPUTF8");
	} else if (command != SMTP_CONTENT) {
		buf_printf(out, "RCPT TO:<%s>", submission->recipient);
	} else if (smtp_is_chunked(extensions)) {
		buf_printf(out, "BDAT %zu LAST", shape->size + (shape->unfinished ? 2 : 0));
	} else {
		buf_add_str(out, "DATA");
	}
	buf_add_str(out, "\r\n");
}

char *smtp_command_about(const struct submission *submission, enum smtp_command command)
{
	if (command == SMTP_MAIL)
		return mem_printf("the sender <%s>", submission->sender);
	return mem_strdup(command == SMTP_CONTENT ? "the email" : "the recipient");
}

bool smtp_command_is_email(enum smtp_command command)
{
	return command == SMTP_MAIL || command == SMTP_CONTENT;
}

/* The message. A line is copied in as few pieces as fit. Only LF ends a line,
 * here as in Postfix: a CR in the middle stays. */

void smtp_data_init(struct smtp_data *data, const struct buf *message, bool chunked)
{
	*data = (struct smtp_data){
		.at = message->data,
		.end = message->data + message->len,
		.chunked = chunked,
	};
}

/* Copies bytes to out and returns their number. */
static size_t put(char *out, const void *bytes, size_t len)
{
	memcpy(out, bytes, len);
	return len;
}

/* Copies the rest of a line, or as much as fits. If the line ends here but not
 * both bytes of CRLF fit, the next piece starts with the CRLF. */
static size_t put_line(struct smtp_data *data, char *out, size_t size)
{
	size_t left = (size_t)(data->end - data->at), n = 0, text;
	const char *lf = memchr(data->at, '\n', left < size ? left : size);

	if (!data->in_line && !data->chunked && *data->at == '.')
		out[n++] = '.';
	data->in_line = true;
	text = lf ? (size_t)(lf - data->at) : left;
	if (text > size - n)
		text = size - n;
	n += put(out + n, data->at, text);
	data->at += text;
	if (data->at != lf || size - n < 2)
		return n;
	data->at++;
	data->in_line = false;
	return n + put(out + n, "\r\n", 2);
}

size_t smtp_data_next(struct smtp_data *data, char *out, size_t size)
{
	size_t n = 0;

	assert(size >= SMTP_DATA_MIN);
	while (data->at < data->end && size - n > 2)
		n += put_line(data, out + n, size - n);
	if (data->at < data->end || data->ended || size - n < SMTP_DATA_MIN)
		return n;
	data->ended = true;
	if (data->in_line)
		n += put(out + n, "\r\n", 2);
	if (!data->chunked)
		n += put(out + n, ".\r\n", 3);
	return n;
}

/* A 5xx is about the email, whatever its other digits: access tables, policy
 * services and other milters choose them freely. */
static enum err_code fault_of(int code)
{
	if (code < 500)
		return ERR_TEMPORARY;
	return code == 552 ? ERR_TOO_LARGE : ERR_INVALID;
}

enum inject_result smtp_refusal(const struct smtp_reply *reply, const char *about, struct err *err)
{
	err_set(err, fault_of(reply->code), "The mail server refuses %s: %d %s%s%s", about,
		reply->code, reply->status, reply->status[0] ? " " : "", reply->text);
	for (char *at = err->text; (at = strchr(at, '\n')) != NULL;)
		*at = ' ';
	return reply->code >= 500 ? INJECT_REJECTED : INJECT_TEMPORARY;
}
