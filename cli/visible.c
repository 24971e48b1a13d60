/*
 * visible: text that is safe to show on a terminal, and how wide it is there.
 *
 * Threads: any; holds no state.
 */
#include "cli/visible.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* The length of the character at the beginning of the text, 0 when there is no
 * UTF-8. */
static size_t char_len(const char *text)
{
	for (size_t len = 1; len <= 4 && text[len - 1]; len++)
		if (str_utf8_valid(text, len))
			return len;
	return 0;
}

/* The code point of a well-formed character. */
static unsigned code_point(const char *text, size_t len)
{
	static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned code = (unsigned char)text[0] & masks[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

/* Characters that act on a terminal or on the order of what follows. */
static bool acts(unsigned code)
{
	static const struct {
		unsigned first;
		unsigned last;
	} ranges[] = {
		{0, 0x1f},          /* C0 */
		{0x7f, 0x9f},       /* DEL and C1 */
		{0x200e, 0x200f},   /* marks of direction */
		{0x2028, 0x202e},   /* separators, embeddings, overrides */
		{0x2066, 0x2069},   /* isolates */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* interlinear annotation */
		{0xe0000, 0xe007f}, /* tags */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static void add(struct buf *out, const char *text, const char *kept)
{
	while (*text) {
		size_t len = char_len(text);
		unsigned code = len ? code_point(text, len) : 0;

		if (len == 1 && strchr(kept, *text))
			buf_add_char(out, *text);
		else if (len <= 1 && (len == 0 || acts(code)))
			buf_printf(out, "\\x%02x", (unsigned char)*text);
		else if (acts(code))
			buf_printf(out, "\\u{%04x}", code);
		else
			buf_add(out, text, len);
		text += len ? len : 1;
	}
}

void visible_add(struct buf *out, const char *text)
{
	add(out, text, "");
}

void visible_add_lines(struct buf *out, const char *text)
{
	add(out, text, "\n\t");
}

/* wcwidth() asks the thread's locale, whatever the user's is. */
static size_t code_width(unsigned code)
{
	int width = wcwidth((wchar_t)code);

	return width < 0 ? 1 : (size_t)width;
}

/* The width of as much of the text as fits; *bytes_r says how much. */
static size_t measure(const char *text, size_t max, size_t *bytes_r)
{
	size_t used = 0, bytes = 0;

	while (text[bytes]) {
		size_t len = char_len(text + bytes);
		size_t width = len ? code_width(code_point(text + bytes, len))
				   : 1;

		if (used + width > max)
			break;
		used += width;
		bytes += len ? len : 1;
	}
	*bytes_r = bytes;
	return used;
}

static size_t measure_utf8(const char *text, size_t max, size_t *bytes_r)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = uselocale(utf8);
	size_t width = measure(text, max, bytes_r);

	uselocale(before);
	if (utf8)
		freelocale(utf8);
	return width;
}

size_t visible_width(const char *text)
{
	size_t bytes;

	return measure_utf8(text, SIZE_MAX, &bytes);
}

size_t visible_cut(const char *text, size_t width)
{
	size_t bytes;

	measure_utf8(text, width, &bytes);
	return bytes;
}
