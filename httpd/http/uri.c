/*
 * percent: percent-encoding, read strictly.
 */
#include "httpd/http/uri.h"

#include <string.h>

#include "core/base/str.h"

bool percent_decode(struct http_text text, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (c == '%') {
			int byte = i + 2 < text.len
					   ? ascii_hex_pair(text.data + i + 1)
					   : -1;

			if (byte < 0)
				return false;
			c = (char)byte;
			i += 2;
		}
		if (c == '\0' || len + 1 >= size)
			return false;
		out[len++] = c;
	}
	out[len] = '\0';
	return true;
}

/*
 * query: walks the pairs of a query string.
 */

/* Cuts the text up to the separator off the rest. */
static struct http_text cut(struct http_text *rest, char separator)
{
	const char *end = memchr(rest->data, separator, rest->len);
	struct http_text head = *rest;

	if (end)
		head.len = (size_t)(end - rest->data);
	rest->data += head.len + (end != NULL);
	rest->len -= head.len + (end != NULL);
	return head;
}

/* A name that is merely too long is another one. */
static int is_named(struct http_text text, const char *name)
{
	char decoded[QUERY_VALUE_MAX];

	if (memchr(text.data, '%', text.len) == NULL)
		return http_text_is(text, name);
	if (!percent_decode(text, decoded, sizeof(decoded)))
		return -1;
	return str_eq(decoded, name);
}

int query_get(const char *query, const char *name,
	char value[static QUERY_VALUE_MAX], struct problem *problem)
{
	struct http_text rest = {query, strlen(query)};
	int found = 0;

	while (rest.len > 0) {
		struct http_text pair = cut(&rest, '&');
		struct http_text key = cut(&pair, '=');
		int named = is_named(key, name);

		if (named < 0)
			return problem_set(problem, PROBLEM_PARAMETER,
				"The query string is not properly encoded.");
		if (named == 0)
			continue;
		if (found++)
			return problem_set(problem, PROBLEM_PARAMETER,
				"The `%s` parameter must be given only once.",
				name);
		if (!percent_decode(pair, value, QUERY_VALUE_MAX))
			return problem_set(problem, PROBLEM_PARAMETER,
				"The `%s` parameter is too long or not "
				"properly encoded.",
				name);
	}
	return found;
}
