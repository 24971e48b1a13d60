/*
 * json_text: looks at JSON as text, before it is parsed.
 */
#include "httpd/admission/json_text.h"

#include <string.h>

#include "httpd/admission/budget.h"

/* Bytes that jansson allocates for a value with its place in an array or
 * object, and what strings, arrays, objects and keys take in addition. Numbers
 * are separate because files come as arrays of numbers. */
enum {
	VALUE_BYTES = 64,
	NUMBER_BYTES = 48,
	STRING_BYTES = 32,
	ARRAY_BYTES = 128,
	OBJECT_BYTES = 256,
	KEY_BYTES = 64,
};

size_t json_text_end(const char *text, size_t len, size_t at)
{
	const char *quote, *before;

	while ((quote = memchr(text + at, '"', len - at)) != NULL) {
		for (before = quote; before > text + at && before[-1] == '\\';)
			before--;
		if ((quote - before) % 2 == 0)
			return (size_t)(quote - text);
		at = (size_t)(quote + 1 - text);
	}
	return len;
}

size_t json_text_mark(const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t n = sizeof(mark) - 1;

	return len >= n && memcmp(text, mark, n) == 0 ? n : 0;
}

/* Returns the memory of the value that the character at this place begins. */
static uint64_t value_bytes(const char *at, const char *end)
{
	switch (*at) {
	case ',': /* a value follows */
		for (at++; at < end && *at == ' '; at++)
			;
		return at < end && *at >= '0' && *at <= '9' ? NUMBER_BYTES : VALUE_BYTES;
	case ':':
		return KEY_BYTES;
	case '"':
		return STRING_BYTES;
	case '[':
		return ARRAY_BYTES;
	case '{':
		return OBJECT_BYTES;
	default:
		return 0;
	}
}

uint64_t json_text_cost(const char *text, size_t len)
{
	uint64_t bytes = VALUE_BYTES;

	for (size_t i = 0; i < len; i++) {
		bytes += value_bytes(text + i, text + len);
		if (text[i] == '"')
			i = json_text_end(text, len, i + 1);
	}
	return bytes / BUDGET_FACTOR + len;
}
