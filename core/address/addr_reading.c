/*
 * addr_reading: the texts that different programs make of an address field.
 *
 * Time is linear in the text. Programs differ in where an encoded word ends, how adjacent words
 * join, what invalid base64 means, if quotes are removed before or after decoding, and which
 * charsets they know. Some decode twice. All of this is tried. The charsets that are tried stay
 * loaded.
 */
#include "core/address/addr_reading.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_charset.h"
#include "core/mime/mime_words.h"

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

char *addr_reading_outside_quotes(const char *text)
{
	struct buf out = BUF_INIT;

	while (*text) {
		bool quoted = *text == '"';
		size_t len = 1;

		if (quoted) {
			while (text[len] && text[len] != '"')
				len += text[len] == '\\' && text[len + 1] ? 2 : 1;
			len += text[len] == '"';
		}
		if (!quoted || text[len] == '@')
			buf_add(&out, text, len);
		text += len;
	}
	return buf_take(&out);
}

/* Invisible characters that may be letters or marks: the property Default_Ignorable_Code_Point,
 * the blank of Braille, and the replacement characters for invalid bytes. */
static const struct {
	gunichar first, last;
} ignorable[] = {
	{0x034f, 0x034f},
	{0x115f, 0x1160},
	{0x17b4, 0x17b5},
	{0x180b, 0x180f},
	{0x2060, 0x206f},
	{0x2800, 0x2800},
	{0x3164, 0x3164},
	{0xfe00, 0xfe0f},
	{0xffa0, 0xffa0},
	{0xfff0, 0xfffd},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
};

static bool is_blank(gunichar c)
{
	GUnicodeType type;

	if (c < 0x80)
		return ascii_is_space((char)c);
	type = g_unichar_type(c);
	return type == G_UNICODE_SPACE_SEPARATOR || type == G_UNICODE_LINE_SEPARATOR ||
	       type == G_UNICODE_PARAGRAPH_SEPARATOR;
}

static bool does_not_show(gunichar c)
{
	if (c < 0x80)
		return c <= ' ' || c == 0x7f || strchr("\"\\[]", (int)c);
	switch (g_unichar_type(c)) {
	case G_UNICODE_CONTROL:
	case G_UNICODE_FORMAT:
		return true;
	default:
		break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignorable); i++)
		if (c >= ignorable[i].first && c <= ignorable[i].last)
			return true;
	return false;
}

/* Returns the address character that this one looks like; itself for most. */
static gunichar plain_form(gunichar c)
{
	static const struct {
		gunichar form;
		char plain;
	} forms[] = {
		{0xff20, '@'}, /* fullwidth */
		{0xfe6b, '@'}, /* small form */
		{0x2024, '.'}, /* one dot leader */
		{0xfe52, '.'}, /* small form */
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (c == forms[i].form)
			return (gunichar)forms[i].plain;
	return c;
}

/* With keeps_blanks, blanks and quotes become blanks. */
static char *squeeze(const char *text, bool keeps_blanks)
{
	struct buf out = BUF_INIT;
	const char *next;

	for (; *text; text = next) {
		gunichar c = g_utf8_get_char(text), plain = plain_form(c);

		next = g_utf8_next_char(text);
		if (plain != c)
			buf_add_char(&out, (char)plain);
		else if (is_blank(c))
			buf_add(&out, " ", keeps_blanks ? 1 : 0);
		else if (!does_not_show(c))
			buf_add(&out, text, (size_t)(next - text));
		else if (keeps_blanks && c == '"')
			buf_add_char(&out, ' ');
	}
	return buf_take(&out);
}

char *addr_reading_squeeze(const char *text)
{
	return squeeze(text, false);
}

char *addr_reading_spaced(const char *text)
{
	return squeeze(text, true);
}

/* Bidirectional marks, embeddings, overrides and isolates. */
static bool is_direction(gunichar c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static size_t undirected_len(const char *text)
{
	const char *p = text;

	while (*p && !is_direction(g_utf8_get_char(p)))
		p = g_utf8_next_char(p);
	return (size_t)(p - text);
}

static void add_reversed(struct buf *out, const char *text, size_t len)
{
	char *reversed = g_utf8_strreverse(text, (gssize)len);

	buf_add_str(out, reversed);
	g_free(reversed);
}

char *addr_reading_directed(const char *text)
{
	struct buf out = BUF_INIT;
	size_t len = undirected_len(text);

	if (text[len] == '\0')
		return NULL;
	buf_add(&out, text, len);
	for (text += len; *text; text += len) {
		text = g_utf8_next_char(text);
		len = undirected_len(text);
		add_reversed(&out, text, len);
	}
	return buf_take(&out);
}

char *addr_reading_reverse(const char *text)
{
	struct buf out = BUF_INIT;

	add_reversed(&out, text, strlen(text));
	return buf_take(&out);
}

/* Ways of decoding; all combinations are tried. */
enum { JOINED = 1, WIDE = 2, APART = 4 };

/* What an unknown charset may be: none (then ASCII is visible, in UTF-16 and UTF-32 as well),
 * one that encodes ASCII in other bytes, or one that programs of some countries assume for text
 * without a charset. */
static const struct {
	const char *charset;
	bool everywhere;
} guesses[] = {
	{"", false},
	{"UTF-7", false},
	{"UTF-16BE", false},
	{"IBM037", false},
	{"ISO-2022-JP-2", true},
	{"GB18030", true},
	{"CP932", true},
	{"EUC-JP", true},
	{"BIG5-HKSCS", true},
	{"CP949", true},
};

static void *kept[ARRAY_SIZE(guesses)];

static void keep_charsets(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++)
		kept[i] = mime_charset_keep(guesses[i].charset);
}

/* Removes quotes, and the backslashes that quote a character. The caller frees it. */
static char *without_quoting(const char *text)
{
	struct buf out = BUF_INIT;

	for (; *text; text++) {
		if (*text == '\\' && text[1] != '\0')
			text++;
		else if (*text == '"')
			continue;
		buf_add_char(&out, *text);
	}
	return buf_take(&out);
}

static void add_reading(struct strv *texts, char *text)
{
	if (strv_has(texts, text))
		free(text);
	else
		strv_take(texts, text);
}

static void add_read(
	struct strv *texts, const char *value, const struct mime_words_reading *reading)
{
	char *text = mime_words_read(value, reading);

	if (strstr(text, "=?"))
		add_reading(texts, mime_words_read(text, reading));
	add_reading(texts, text);
}

static void add_ways(struct strv *texts, const char *value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t guesses_n = mime_words_doubtful(value) ? ARRAY_SIZE(guesses) : 0;
	unsigned n = strstr(value, "=?") ? JOINED | WIDE | APART : 0;

	if (guesses_n > 0)
		pthread_once(&once, keep_charsets);
	for (unsigned way = 0; way <= n; way++) {
		struct mime_words_reading reading = {
			.joined = way & JOINED,
			.wide = way & WIDE,
			.apart = way & APART,
		};

		add_read(texts, value, &reading);
		for (size_t i = 0; i < guesses_n; i++) {
			reading.charset = guesses[i].charset;
			reading.everywhere = guesses[i].everywhere;
			add_read(texts, value, &reading);
		}
	}
}

void addr_reading_decode(struct strv *texts, const char *value)
{
	_cleanup_free_ char *unquoted = without_quoting(value);

	add_ways(texts, value);
	if (!str_eq(unquoted, value) && strstr(unquoted, "=?"))
		add_ways(texts, unquoted);
}
