/*
 * uri: percent-encoding and queries, read strictly.
 */
#include "httpd/http/uri.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"

bool percent_decode(struct span text, char *out, size_t size)
{
	_cleanup_buf_ struct buf decoded = BUF_INIT;
	const char *bytes;

	if (!span_percent_decode(text, &decoded))
		return false;
	bytes = buf_str(&decoded);
	if (decoded.len >= size || strlen(bytes) < decoded.len)
		return false;
	memcpy(out, bytes, decoded.len + 1);
	return true;
}

/* A name that is merely too long is another one. */
static int is_named(struct span text, const char *name)
{
	char decoded[QUERY_VALUE_MAX];

	if (memchr(text.data, '%', text.len) == NULL)
		return span_is(text, name);
	if (!percent_decode(text, decoded, sizeof(decoded)))
		return -1;
	return str_eq(decoded, name);
}

int query_get(const char *query, const char *name,
	char value[static QUERY_VALUE_MAX], struct problem *problem)
{
	struct span rest = {query, strlen(query)};
	int found = 0;

	while (rest.len > 0) {
		struct span pair = span_cut(&rest, '&');
		struct span key = span_cut(&pair, '=');
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
