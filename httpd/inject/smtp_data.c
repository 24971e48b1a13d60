/*
 * smtp_data: the message on its way, from LF to CRLF, dots doubled.
 *
 * A line is copied in as few pieces as there is room for. Only LF ends a line,
 * for us as for Postfix: a CR in the middle stays what it is.
 *
 * Pure. Threads: any.
 */
#include "httpd/inject/smtp_data.h"

#include <assert.h>
#include <string.h>

static const char final_dot[] = ".\r\n";

static bool has_eight_bit(const char *data, size_t len)
{
	unsigned char seen = 0;

	for (size_t i = 0; i < len; i++)
		seen |= (unsigned char)data[i];
	return seen & 0x80;
}

/* How long the header is: up to the first empty line. */
static size_t header_len(const struct buf *message)
{
	const char *end;

	if (message->len > 0 && message->data[0] == '\n')
		return 0;
	end = memmem(message->data, message->len, "\n\n", 2);
	return end ? (size_t)(end - message->data) : message->len;
}

static size_t count_lines(const struct buf *message)
{
	size_t n = 0;

	for (size_t i = 0; i < message->len; i++)
		n += message->data[i] == '\n';
	return n;
}

void smtp_shape_read(const struct buf *message, struct smtp_shape *shape_r)
{
	size_t header;

	*shape_r = (struct smtp_shape){0};
	if (message->len == 0)
		return;
	header = header_len(message);
	shape_r->size = message->len + count_lines(message);
	shape_r->utf8_header = has_eight_bit(message->data, header);
	shape_r->eight_bit = has_eight_bit(message->data, message->len);
}

void smtp_data_init(struct smtp_data *data, const struct buf *message)
{
	*data = (struct smtp_data){
		.at = message->data,
		.end = message->data + message->len,
	};
}

/* What stands at out: of the message or the end of a line. */
static size_t put(char *out, const void *bytes, size_t len)
{
	memcpy(out, bytes, len);
	return len;
}

/* The rest of a line, or as much as there is room for; one byte of room is left
 * when the line ends here, for its CR. */
static size_t put_line(struct smtp_data *data, char *out, size_t size)
{
	size_t left = (size_t)(data->end - data->at), n = 0, text;
	const char *lf = memchr(data->at, '\n', left < size ? left : size);

	if (!data->in_line && *data->at == '.')
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

/* The end of an unfinished last line, and the final dot. */
static size_t put_end(struct smtp_data *data, char *out)
{
	size_t n = data->in_line ? put(out, "\r\n", 2) : 0;

	data->ended = true;
	return n + put(out + n, final_dot, sizeof(final_dot) - 1);
}

size_t smtp_data_next(struct smtp_data *data, char *out, size_t size)
{
	size_t n = 0;

	assert(size >= SMTP_DATA_MIN);
	while (data->at < data->end && size - n > 2)
		n += put_line(data, out + n, size - n);
	if (data->at == data->end && !data->ended && size - n >= SMTP_DATA_MIN)
		n += put_end(data, out + n);
	return n;
}
