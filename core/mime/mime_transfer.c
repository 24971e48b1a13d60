/*
 * mime_quoted: quoted-printable for text.
 */
#include "core/mime/mime_transfer.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum { LINE_MAX_LEN = 76 };

static bool is_plain(char c)
{
	return ascii_is_blank(c) || (c > ' ' && c <= '~' && c != '=');
}

/* Whether the character at the start of a line must not stand there. */
static bool is_bad_start(const char *text, size_t len)
{
	return *text == '.' || (len >= 5 && memcmp(text, "From ", 5) == 0);
}

static void add_hex(struct buf *out, char c)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned byte = (unsigned char)c;

	buf_add(out, (char[]){'=', digits[byte >> 4], digits[byte & 15]}, 3);
}

/* Appends a line of the text, without its LF. */
static void add_line(struct buf *out, const char *text, size_t len)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		bool last = i + 1 == len;
		bool plain = is_plain(text[i]) &&
			     !(last && ascii_is_blank(text[i]));

		if (column + (plain ? 1 : 3) + !last > LINE_MAX_LEN) {
			buf_add_str(out, "=\n");
			column = 0;
		}
		if (column == 0 && is_bad_start(text + i, len - i))
			plain = false;
		if (plain)
			buf_add_char(out, text[i]);
		else
			add_hex(out, text[i]);
		column += plain ? 1 : 3;
	}
}

void mime_quoted_add(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		const char *stop = lf ? lf : end;

		add_line(out, text, (size_t)(stop - text));
		if (lf == NULL)
			return;
		buf_add_char(out, '\n');
		text = lf + 1;
	}
}

size_t mime_quoted_len(const char *text, size_t len)
{
	size_t n = len;

	for (size_t i = 0; i < len; i++)
		if (!is_plain(text[i]) && text[i] != '\n')
			n += 2;
	return n;
}

/*
 * mime_transfer: contents taken out of their transfer encoding, by GMime and,
 * where it is to be strict, by libsodium.
 */

static const struct encoding {
	const char *name;
	GMimeContentEncoding code;
} encodings[] = {
	{"7bit", GMIME_CONTENT_ENCODING_7BIT},
	{"8bit", GMIME_CONTENT_ENCODING_8BIT},
	{"binary", GMIME_CONTENT_ENCODING_BINARY},
	{"base64", GMIME_CONTENT_ENCODING_BASE64},
	{"quoted-printable", GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE},
};

static const struct encoding *find(const char *name)
{
	if (str_empty(name))
		return &encodings[0];
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++)
		if (str_eq_nocase(name, encodings[i].name))
			return &encodings[i];
	return NULL;
}

static bool is_encoded(const struct encoding *encoding)
{
	return encoding->code == GMIME_CONTENT_ENCODING_BASE64 ||
	       encoding->code == GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE;
}

static void decode(GMimeContentEncoding code, struct span content, struct buf *out)
{
	GMimeEncoding state;
	size_t n;

	g_mime_encoding_init_decode(&state, code);
	n = g_mime_encoding_flush(&state, content.data, content.len,
		buf_reserve(out, g_mime_encoding_outlen(&state, content.len)));
	buf_wrote(out, n);
}

int mime_transfer_decode(
	const char *encoding, struct span content, struct buf *out)
{
	const struct encoding *known = find(encoding);

	if (known == NULL)
		return -1;
	if (is_encoded(known))
		decode(known->code, content, out);
	else
		buf_add(out, content.data, content.len);
	return 0;
}

int mime_transfer_decode_strictly(
	const char *encoding, struct span content, struct buf *out)
{
	const struct encoding *known = find(encoding);

	if (known && known->code == GMIME_CONTENT_ENCODING_BASE64)
		return base64_decode(content.data, content.len, out);
	return mime_transfer_decode(encoding, content, out);
}
