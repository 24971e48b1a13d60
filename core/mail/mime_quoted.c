/*
 * mime_quoted: quoted-printable for text.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_quoted.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/ascii.h"

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
