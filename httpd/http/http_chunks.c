/*
 * http_chunks: a scanner for the framing of chunked bodies. Strict: sizes are
 * hexadecimal digits, lines end in CRLF, extensions and trailers are bounded.
 *
 * Threads: any; all state is the caller's.
 */
#include "httpd/http/http_chunks.h"

#include "core/base/ascii.h"

enum {
	SIZE_FIRST, /* the first digit of a size */
	SIZE,
	EXTENSION,
	SIZE_LF,
	CONTENT,
	CONTENT_CR,
	CONTENT_LF,
	TRAILER_FIRST, /* the first byte of a trailer line */
	TRAILER,
	TRAILER_LF,
	END_LF,
	BAD,
};

enum { SIZE_DIGITS_MAX = 12, LINE_MAX_LEN = 4096, TRAILER_MAX = 8192 };

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

/* Each line of the trailer is a field: a name, which begins it, and a colon. */
static int on_trailer(struct http_chunks *chunks, char c)
{
	bool first = chunks->state == TRAILER_FIRST;

	if (first)
		chunks->line = 0;
	if (++chunks->trailer > TRAILER_MAX || c == '\n')
		return BAD;
	if (c == '\r' && !first && chunks->line == 0)
		return BAD;
	if (c == '\r')
		return first ? END_LF : TRAILER_LF;
	if (first && (c == ':' || c == ' ' || c == '\t'))
		return BAD;
	if (c == ':')
		chunks->line = 1; /* the colon was seen */
	return TRAILER;
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
	case TRAILER:
		return on_trailer(chunks, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_FIRST : BAD;
	default:
		return BAD;
	}
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

	while (at < len) {
		if (chunks->state == CONTENT) {
			at += skip_content(chunks, len - at);
			continue;
		}
		if (chunks->state == END_LF) {
			*used_r = at + 1;
			return data[at] == '\n' ? CHUNKS_END : CHUNKS_BAD;
		}
		chunks->state = step(chunks, data[at]);
		if (chunks->state == BAD)
			return CHUNKS_BAD;
		if (chunks->state == EXTENSION)
			data[at] = ' ';
		at++;
	}
	*used_r = len;
	return CHUNKS_MORE;
}
