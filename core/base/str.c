/*
 * str: string helpers that libc lacks. ASCII or Unicode rules, independent of the locale.
 */
#include "core/base/str.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/span.h"

static int lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

bool str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool str_eq_nocase(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) == lower(*b);
}

bool str_eq_folded(const char *a, const char *b)
{
	_cleanup_free_ char *folded_a = NULL, *folded_b = NULL;

	if (str_is_ascii(a) && str_is_ascii(b))
		return str_eq_nocase(a, b);
	folded_a = str_folded(a);
	folded_b = str_folded(b);
	return str_eq(folded_a, folded_b);
}

char *str_folded(const char *text)
{
	char *folded, *copy;

	if (str_is_ascii(text) || !str_utf8_valid(text, strlen(text))) {
		copy = mem_strdup(text);
		str_lower(copy);
		return copy;
	}
	folded = g_utf8_casefold(text, -1);
	copy = mem_strdup(folded);
	g_free(folded);
	return copy;
}

unsigned str_hash_folded(const char *text)
{
	_cleanup_free_ char *folded = str_folded(text);

	return g_str_hash(folded);
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_starts_nocase(const char *text, const char *prefix)
{
	for (; *prefix; text++, prefix++)
		if (lower(*text) != lower(*prefix))
			return false;
	return true;
}

bool str_empty(const char *text)
{
	return text == NULL || *text == '\0';
}

bool str_within_domain(const char *name, const char *domain, bool below)
{
	size_t len = strlen(name), end = strlen(domain);

	if (len < end || !str_eq(name + len - end, domain))
		return false;
	return len == end || (below && name[len - end - 1] == '.');
}

const char *str_skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

char *str_trim(const char *text, size_t len)
{
	struct span trimmed = span_trim((struct span){text, len});

	return mem_dup(trimmed.data, trimmed.len);
}

char *str_unfolded(const char *value)
{
	char *line = mem_strdup(value), *to = line;

	while (*value) {
		size_t breaks = 0;

		while (value[breaks] == '\r' || value[breaks] == '\n')
			breaks++;
		if (breaks == 0) {
			*to++ = *value == '\t' ? ' ' : *value;
			value++;
			continue;
		}
		value += breaks;
		if (!ascii_is_blank(*value)) {
			memset(to, ' ', breaks);
			to += breaks;
		}
	}
	*to = '\0';
	return line;
}

void str_squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool blank = *from == ' ' || *from == '\t';

		if (!blank)
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

void str_lower(char *text)
{
	for (; *text; text++)
		*text = (char)lower(*text);
}

char *str_lowered(const char *text)
{
	char *copy = text ? mem_strdup(text) : NULL;

	if (copy)
		str_lower(copy);
	return copy;
}

int str_int(const char *text, int64_t min, int64_t max, int64_t *value_r)
{
	char *end;
	long long value;

	if (*text != '-' && (*text < '0' || *text > '9'))
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		return -1;
	if (value < min || value > max)
		return -1;
	*value_r = value;
	return 0;
}

const char *str_count(int64_t n, int64_t max, char out[static STR_COUNT_SIZE])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRId64, n);
	char *end = out;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
			*end++ = ',';
		*end++ = digits[i];
	}
	snprintf(end, STR_COUNT_SIZE - (size_t)(end - out), "%s",
		max > 0 && n >= max ? " or more" : "");
	return out;
}

int str_amount(const char *text, const struct unit *units, int64_t *value_r)
{
	const char *name = text + strspn(text, "0123456789");
	_cleanup_free_ char *digits = mem_dup(text, (size_t)(name - text));
	int64_t number, value;

	if (str_int(digits, 0, INT64_MAX, &number) < 0)
		return -1;
	for (; units->name; units++) {
		if (!str_eq(units->name, name))
			continue;
		if (__builtin_mul_overflow(number, units->factor, &value))
			return -1;
		*value_r = value;
		return 0;
	}
	return -1;
}

/* Returns the length of the UTF-8 character at p; 0 if it is not valid within len. */
static size_t utf8_char(const unsigned char *p, size_t len)
{
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (p[0] == 0xe0 && p[1] < 0xa0) /* overlong */
		return 0;
	if (p[0] == 0xed && p[1] > 0x9f) /* surrogate */
		return 0;
	if (p[0] == 0xf0 && p[1] < 0x90) /* overlong */
		return 0;
	if (p[0] == 0xf4 && p[1] > 0x8f) /* beyond U+10FFFF */
		return 0;
	return n;
}

/* Returns how many of the first bytes are ASCII, checked in steps of eight; there may be more. */
static size_t ascii_run(const unsigned char *p, size_t len)
{
	size_t n = 0;
	uint64_t eight;

	for (; n + sizeof(eight) <= len; n += sizeof(eight)) {
		memcpy(&eight, p + n, sizeof(eight));
		if (eight & 0x8080808080808080U)
			break;
	}
	return n;
}

bool str_is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text > 127)
			return false;
	return true;
}

bool str_utf8_valid(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	while (len > 0) {
		size_t n = ascii_run(p, len);

		if (n == 0)
			n = utf8_char(p, len);
		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

size_t str_utf8_count(const char *text, size_t len)
{
	size_t n = 0;

	if (!str_utf8_valid(text, len))
		return len;
	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

void str_utf8_mend(char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		size_t n = utf8_char((const unsigned char *)text, len);

		if (n == 0) {
			*text = '?';
			n = 1;
		}
		text += n;
		len -= n;
	}
}

bool str_has_control(const char *text)
{
	for (; *text; text++)
		if (ascii_is_control(*text))
			return true;
	return false;
}

void str_make_line(char *text)
{
	str_utf8_mend(text);
	for (; *text; text++)
		if (ascii_is_control(*text))
			*text = '?';
}

size_t str_utf8_cut(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}
