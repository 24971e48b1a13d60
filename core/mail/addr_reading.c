/*
 * addr_reading: see the header. All of it takes time linear in the text.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/addr_reading.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/mail/mime_init.h"
#include "core/mail/mime_words_decode.h"

enum { FULLWIDTH_AT = 0xff20, SMALL_AT = 0xfe6b };

char *addr_reading_without_comments(const char *text)
{
	struct buf out = BUF_INIT;
	size_t depth = 0;
	bool quoted = false;

	for (; *text; text++) {
		if (depth == 0 && *text == '"')
			quoted = !quoted;
		if (!quoted && *text == '(' && depth++ == 0)
			buf_add_char(&out, ' ');
		if (depth == 0)
			buf_add_char(&out, *text);
		else if (*text == ')')
			depth--;
		if (*text == '\\' && text[1] != '\0') {
			text++;
			if (depth == 0)
				buf_add_char(&out, *text);
		}
	}
	return buf_take(&out);
}

/* The length of the quoted string at text; all of it when it does not end. */
static size_t quoted_len(const char *text)
{
	size_t i = 1;

	while (text[i] && text[i] != '"')
		i += text[i] == '\\' && text[i + 1] ? 2 : 1;
	return text[i] ? i + 1 : i;
}

char *addr_reading_outside_quotes(const char *text)
{
	struct buf out = BUF_INIT;

	while (*text) {
		size_t len = *text == '"' ? quoted_len(text) : 1;

		if (*text != '"' || text[len] == '@')
			buf_add(&out, text, len);
		text += len;
	}
	return buf_take(&out);
}

/* GMime does not get to see the encoded words, see mime_words_decode.h. */
char *addr_reading_decode(const char *text)
{
	_cleanup_free_ char *hidden = mime_words_hide(text);
	_cleanup_free_ char *shown = NULL;
	char *utf8;

	mime_init();
	utf8 = g_mime_utils_header_decode_text(NULL, hidden);
	shown = mime_words_show(utf8);
	g_free(utf8);
	return mime_words_decode(shown);
}

static bool does_not_show(gunichar c)
{
	if (c < 0x80)
		return c <= ' ' || c == 0x7f || strchr("\"\\[]", (int)c);
	switch (g_unichar_type(c)) {
	case G_UNICODE_CONTROL:
	case G_UNICODE_FORMAT:
	case G_UNICODE_SPACE_SEPARATOR:
	case G_UNICODE_LINE_SEPARATOR:
	case G_UNICODE_PARAGRAPH_SEPARATOR:
		return true;
	default:
		return false;
	}
}

char *addr_reading_squeeze(const char *text)
{
	struct buf out = BUF_INIT;
	const char *next;

	for (; *text; text = next) {
		gunichar c = g_utf8_get_char(text);

		next = g_utf8_next_char(text);
		if (c == FULLWIDTH_AT || c == SMALL_AT)
			buf_add_char(&out, '@');
		else if (!does_not_show(c))
			buf_add(&out, text, (size_t)(next - text));
	}
	return buf_take(&out);
}
