/*
 * json_string: the inside of a string of JSON, run by run.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/json_string.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

static const struct {
	char letter, means;
} escapes[] = {
	{'n', '\n'},
	{'"', '"'},
	{'\\', '\\'},
	{'/', '/'},
	{'t', '\t'},
	{'r', '\r'},
	{'b', '\b'},
	{'f', '\f'},
};

/* Control characters are to be escaped. A byte, and no bool, tells so: the
 * compiler then makes one step of many. */
static bool has_control(const char *text, size_t len)
{
	unsigned char found = 0;

	for (size_t i = 0; i < len; i++)
		found |= (unsigned char)text[i] < ' ';
	return found != 0;
}

/* The number of four hexadecimal digits, or -1. */
static int32_t hex4(const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	int32_t number = 0;

	if (len < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = text[i] >= 'A' && text[i] <= 'F'
				 ? (char)(text[i] | 0x20)
				 : text[i];
		const char *digit = c ? strchr(digits, c) : NULL;

		if (digit == NULL)
			return -1;
		number = number * 16 + (int32_t)(digit - digits);
	}
	return number;
}

static void add_utf8(struct buf *out, uint32_t code)
{
	static const struct {
		uint32_t below;
		unsigned char first;
		int more;
	} lengths[] = {{0x80, 0, 0}, {0x800, 0xc0, 1}, {0x10000, 0xe0, 2},
		{0x110000, 0xf0, 3}};
	size_t i = 0;

	while (code >= lengths[i].below)
		i++;
	buf_add_char(out, (char)(lengths[i].first | code >> 6 * lengths[i].more));
	for (int more = lengths[i].more; more-- > 0;)
		buf_add_char(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

/* What follows \u, a pair of surrogates included; how long it is, or 0. */
static size_t add_unicode(struct buf *out, const char *text, size_t len)
{
	int32_t high = hex4(text, len), low;

	if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff))
		return 0;
	if (high < 0xd800 || high > 0xdfff) {
		add_utf8(out, (uint32_t)high);
		return 4;
	}
	if (len < 10 || text[4] != '\\' || text[5] != 'u')
		return 0;
	low = hex4(text + 6, len - 6);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	add_utf8(out, 0x10000U + ((uint32_t)(high - 0xd800) << 10) +
			      (uint32_t)(low - 0xdc00));
	return 10;
}

/* What follows a backslash; how long it is, or 0. */
static size_t add_escape(struct buf *out, const char *text, size_t len)
{
	size_t unicode;

	for (size_t i = 0; len > 0 && i < ARRAY_SIZE(escapes); i++)
		if (text[0] == escapes[i].letter) {
			buf_add_char(out, escapes[i].means);
			return 1;
		}
	if (len == 0 || text[0] != 'u')
		return 0;
	unicode = add_unicode(out, text + 1, len - 1);
	return unicode ? 1 + unicode : 0;
}

int json_string_decode(const char *text, size_t len, struct buf *out)
{
	const char *end = text + len, *slash;
	size_t escape;

	if (has_control(text, len) || !str_utf8_valid(text, len))
		return -1;
	buf_reserve(out, len);
	while ((slash = memchr(text, '\\', (size_t)(end - text))) != NULL) {
		buf_add(out, text, (size_t)(slash - text));
		escape = add_escape(out, slash + 1, (size_t)(end - slash - 1));
		if (escape == 0)
			return -1;
		text = slash + 1 + escape;
	}
	buf_add(out, text, (size_t)(end - text));
	return 0;
}

static bool is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

static void add_escaped(struct buf *out, char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++)
		if (c == escapes[i].means) {
			buf_add_char(out, '\\');
			buf_add_char(out, escapes[i].letter);
			return;
		}
	buf_printf(out, "\\u%04X", (unsigned char)c);
}

int json_string_encode(const char *text, size_t len, struct buf *out)
{
	if (!str_utf8_valid(text, len))
		return -1;
	buf_reserve(out, len);
	while (len > 0) {
		size_t run = 0;

		while (run < len && is_plain(text[run]))
			run++;
		buf_add(out, text, run);
		if (run < len)
			add_escaped(out, text[run++]);
		text += run;
		len -= run;
	}
	return 0;
}
