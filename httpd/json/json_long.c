/*
 * json_long: fast parsing and printing of JSON with long strings.
 *
 * Parsing replaces each long string of the text by a short mark that nobody can
 * guess, lets jansson parse the rest, and puts the strings into its tree. Only
 * strings that are surely well-formed are replaced. All others, and a text that
 * is not JSON, are left to jansson.
 *
 * Threads: any.
 */
#include "httpd/json/json_long.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "httpd/admission/json_text.h"

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

/* Control characters must be escaped in JSON. The result is accumulated in a
 * byte instead of a bool, so that the compiler vectorizes the loop. */
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
	int32_t number = 0;

	if (len < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = ascii_hex_digit(text[i]);

		if (digit < 0)
			return -1;
		number = number * 16 + digit;
	}
	return number;
}

static void add_utf8(struct buf *out, uint32_t code)
{
	static const struct {
		uint32_t below;
		unsigned char first;
		int more;
	} lengths[] = {{0x80, 0, 0}, {0x800, 0xc0, 1}, {0x10000, 0xe0, 2}, {0x110000, 0xf0, 3}};
	size_t i = 0;

	while (code >= lengths[i].below)
		i++;
	buf_add_char(out, (char)(lengths[i].first | code >> 6 * lengths[i].more));
	for (int more = lengths[i].more; more-- > 0;)
		buf_add_char(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

/* Decodes what follows \u, with a surrogate pair. Returns its length, or 0 on
 * error. */
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
	add_utf8(out, 0x10000U + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
	return 10;
}

/* Decodes what follows a backslash. Returns its length, or 0 on error. */
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

/* Appends the text, escaped, without quotes. Returns 0, or -1 if it is not
 * UTF-8; then nothing is appended. */
static int json_string_encode(const char *text, size_t len, struct buf *out)
{
	if (!str_utf8_valid(text, len))
		return -1;
	buf_reserve(out, len);
	while (len > 0) {
		size_t run = 0;

		while (run < len && (unsigned char)text[run] >= ' ' && text[run] != '"' &&
			text[run] != '\\')
			run++;
		buf_add(out, text, run);
		if (run < len)
			add_escaped(out, text[run++]);
		text += run;
		len -= run;
	}
	return 0;
}

/* The mark in place of a string: the nonce and the string's number. */
enum { NUMBER_LEN = 8, MARK_LEN = SECRET_TICKET_SIZE - 1 + NUMBER_LEN };

struct taken {
	struct buf *strings;
	size_t n;
	char nonce[SECRET_TICKET_SIZE];
};

/* True if a colon precedes the string that begins with this quote. */
static bool is_member(const char *text, const char *quote)
{
	while (quote > text && strchr(" \t\r\n", quote[-1]) && quote[-1] != '\0')
		quote--;
	return quote > text && quote[-1] == ':';
}

/* Decodes a string, keeps its bytes, and appends its mark to rest. False if it
 * is malformed. */
static bool take_string(struct taken *taken, const char *raw, size_t len, struct buf *rest)
{
	struct buf string = BUF_INIT;

	if (json_string_decode(raw, len, &string) < 0) {
		buf_free(&string);
		return false;
	}
	if (taken->n == 0)
		secret_ticket(taken->nonce);
	taken->strings = mem_grow(taken->strings, taken->n + 1, sizeof(*taken->strings));
	buf_printf(rest, "%s%0*zx", taken->nonce, NUMBER_LEN, taken->n);
	taken->strings[taken->n++] = string;
	return true;
}

/* Appends the text to rest, with marks in place of long strings. rest stays
 * empty if there are none. */
static void take_out(
	const char *text, size_t len, size_t min, struct taken *taken, struct buf *rest)
{
	size_t kept = 0, at = 0;
	const char *quote;

	while ((quote = memchr(text + at, '"', len - at)) != NULL) {
		size_t start = (size_t)(quote + 1 - text);
		size_t end = json_text_end(text, len, start);

		if (end == len)
			return;
		at = end + 1;
		if (end - start < min || !is_member(text, quote))
			continue;
		buf_add(rest, text + kept, start - kept);
		kept = take_string(taken, text + start, end - start, rest) ? end : start;
	}
	if (taken->n > 0)
		buf_add(rest, text + kept, len - kept);
}

static void put_back(json_t *value, struct taken *taken)
{
	const char *mark = json_string_value(value), *name;
	json_t *item;
	size_t i;

	if (mark && json_string_length(value) == MARK_LEN &&
		memcmp(mark, taken->nonce, MARK_LEN - NUMBER_LEN) == 0) {
		struct buf *string =
			&taken->strings[strtoul(mark + MARK_LEN - NUMBER_LEN, NULL, 16)];

		json_string_setn_nocheck(value, buf_str(string), string->len);
		buf_free(string);
	}
	json_array_foreach(value, i, item)
		put_back(item, taken);
	json_object_foreach(value, name, item)
		put_back(item, taken);
}

json_t *json_long_load(const char *text, size_t len, size_t min, size_t flags, json_error_t *error)
{
	struct taken taken = {0};
	_cleanup_buf_ struct buf rest = BUF_INIT;
	json_t *root = NULL;

	if (len >= min)
		take_out(text, len, min, &taken, &rest);
	if (taken.n > 0)
		root = json_loadb(rest.data, rest.len, flags, error);
	if (root)
		put_back(root, &taken);
	for (size_t i = 0; i < taken.n; i++)
		buf_free(&taken.strings[i]);
	free(taken.strings);
	return root ? root : json_loadb(text, len, flags, error);
}

char *json_long_dump(const json_t *object, const struct json_long_member *members, size_t n)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *own = json_dumps(object, JSON_COMPACT);

	if (own == NULL)
		return NULL;
	buf_add(&out, own, strlen(own) - 1);
	for (size_t i = 0; i < n; i++) {
		const char *text = members[i].text;

		buf_printf(&out, ",\"%s\":%s", members[i].name, text ? "\"" : "null");
		if (text && json_string_encode(text, strlen(text), &out) < 0)
			return NULL;
		if (text)
			buf_add_char(&out, '"');
	}
	buf_add_char(&out, '}');
	return buf_take(&out);
}
