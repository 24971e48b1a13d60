/*
 * json_text: JSON as text, before it is parsed.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/json_text.h"

#include <string.h>

#include "httpd/http/budget.h"

/* What jansson takes for one value with its place in an array or object. Files
 * come as arrays of numbers, so these are told apart. */
enum { VALUE_BYTES = 64, NUMBER_BYTES = 48 };

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

/* What the comma in front of it says of a value. */
static uint64_t item_bytes(const char *next, const char *end)
{
	while (next < end && *next == ' ')
		next++;
	return next < end && *next >= '0' && *next <= '9' ? NUMBER_BYTES
							  : VALUE_BYTES;
}

uint64_t json_text_cost(const char *text, size_t len)
{
	uint64_t bytes = VALUE_BYTES;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '"')
			i = json_text_end(text, len, i + 1);
		else if (c == ',')
			bytes += item_bytes(text + i + 1, text + len);
		else if (c == '[' || c == '{')
			bytes += VALUE_BYTES;
	}
	return bytes / BUDGET_FACTOR + len;
}
