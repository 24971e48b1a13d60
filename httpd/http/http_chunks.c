/*
 * http_chunks: a scanner for the framing of chunked bodies. Strict: sizes are
 * hexadecimal digits, lines end in CRLF, extensions and trailers are bounded.
 *
 * Threads: any; all state is the caller's.
 */
#include "httpd/http/http_chunks.h"

#include "core/base/ascii.h"
#include "httpd/http/http_head.h"

enum {
	SIZE_FIRST, /* the first digit of a size */
	SIZE,
	EXTENSION,
	SIZE_LF,
	CONTENT,
	CONTENT_CR,
	CONTENT_LF,
	TRAILER_FIRST, /* the first byte of a trailer line */
	TRAILER_NAME,
	TRAILER_VALUE, /* from the colon on */
	TRAILER_LF,
	END_LF,
	BAD,
};

enum { SIZE_DIGITS_MAX = 12, LINE_MAX_LEN = 4096 };

static int on_size(struct http_chunks *chunks, char c)
{
	int digit = ascii_hex_digit(c);

	if (digit >= 0) {
		if (++chunks->line > SIZE_DIGITS_MAX)
			return BAD;
		chunks->left = chunks->left * 16 + (uint64_t)digit;
		return SIZE;
	}
	if (chunks->line == 0)
		return BAD;
	if (c == '\r')
		return SIZE_LF;
	return c == ';' || c == ' ' || c == '\t' ? EXTENSION : BAD;
}

static int on_extension(struct http_chunks *chunks, char c)
{
	if (c == '\r')
		return SIZE_LF;
	return c == '\n' || ++chunks->line > LINE_MAX_LEN ? BAD : EXTENSION;
}

static int on_size_lf(struct http_chunks *chunks, char c)
{
	if (c != '\n')
		return BAD;
	chunks->line = 0;
	chunks->size += chunks->left;
	return chunks->left > 0 ? CONTENT : TRAILER_FIRST;
}

/* Each line of the trailer is a field like those of the head. */
static int on_trailer(struct http_chunks *chunks, char c)
{
	bool in_value = chunks->state == TRAILER_VALUE;

	if (++chunks->trailer > HTTP_TRAILER_MAX)
		return BAD;
	if (c == '\r' && chunks->state != TRAILER_NAME)
		return in_value ? TRAILER_LF : END_LF;
	if (in_value)
		return http_head_is_value_char((unsigned char)c) ? TRAILER_VALUE
								 : BAD;
	if (c == ':' && chunks->state == TRAILER_NAME)
		return TRAILER_VALUE;
	return http_head_is_token_char((unsigned char)c) ? TRAILER_NAME : BAD;
}

/* The state after one byte of framing. */
static int step(struct http_chunks *chunks, char c)
{
	switch (chunks->state) {
	case SIZE_FIRST:
		chunks->left = 0;
		chunks->line = 0;
		return on_size(chunks, c);
	case SIZE:
		return on_size(chunks, c);
	case EXTENSION:
		return on_extension(chunks, c);
	case SIZE_LF:
		return on_size_lf(chunks, c);
	case CONTENT_CR:
		return c == '\r' ? CONTENT_LF : BAD;
	case CONTENT_LF:
		return c == '\n' ? SIZE_FIRST : BAD;
	case TRAILER_FIRST:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return on_trailer(chunks, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_FIRST : BAD;
	default:
		return BAD;
	}
}

/* What evhttp shall see of a byte after which the state is this. */
static char shown(int before, int after, char c)
{
	if (after == EXTENSION)
		return ' ';
	if (after == TRAILER_NAME || (before == TRAILER_VALUE && after == before))
		return 'x';
	return c;
}

static size_t skip_content(struct http_chunks *chunks, size_t len)
{
	size_t n = chunks->left < len ? (size_t)chunks->left : len;

	chunks->left -= n;
	if (chunks->left == 0)
		chunks->state = CONTENT_CR;
	return n;
}

enum http_chunks_result http_chunks_scan(
	struct http_chunks *chunks, char *data, size_t len, size_t *used_r)
{
	size_t at = 0;
	int before;

	while (at < len) {
		if (chunks->state == CONTENT) {
			at += skip_content(chunks, len - at);
			continue;
		}
		if (chunks->state == END_LF) {
			*used_r = at + 1;
			return data[at] == '\n' ? CHUNKS_END : CHUNKS_BAD;
		}
		before = chunks->state;
		chunks->state = step(chunks, data[at]);
		if (chunks->state == BAD)
			return CHUNKS_BAD;
		data[at] = shown(before, chunks->state, data[at]);
		at++;
	}
	*used_r = len;
	return CHUNKS_MORE;
}
