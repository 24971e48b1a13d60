/*
 * uri: percent-encoding and query strings, decoded strictly.
 */
#include "httpd/http/uri.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
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

/* Returns 1 if the encoded name is this one, 0 if not, -1 if it cannot be
 * decoded. */
static int is_named(struct span text, const char *name)
{
	char decoded[QUERY_VALUE_MAX];

	if (memchr(text.data, '%', text.len) == NULL)
		return span_is(text, name);
	if (!percent_decode(text, decoded, sizeof(decoded)))
		return -1;
	return str_eq(decoded, name);
}

/* Finds the encoded value. Returns 1, 0 if there is none, or -1 with the
 * problem. */
static int find_value(
	const char *query, const char *name, struct span *value_r, struct problem *problem)
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
				"The `%s` parameter must be given only once.", name);
		*value_r = pair;
	}
	return found;
}

static int decode_value(const char *name, struct span text, char value[static QUERY_VALUE_MAX],
	struct problem *problem)
{
	if (percent_decode(text, value, QUERY_VALUE_MAX))
		return 1;
	return problem_set(problem, PROBLEM_PARAMETER,
		"The `%s` parameter is too long or not properly encoded.", name);
}

int query_get(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem)
{
	struct span text;
	int found = find_value(query, name, &text, problem);

	return found == 1 ? decode_value(name, text, value, problem) : found;
}

int query_get_words(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem)
{
	_cleanup_free_ char *blanks = NULL;
	struct span text;
	int found = find_value(query, name, &text, problem);

	if (found != 1)
		return found;
	blanks = mem_dup(text.data, text.len);
	for (char *p = blanks; (p = strchr(p, '+')) != NULL; p++)
		*p = ' ';
	return decode_value(name, (struct span){blanks, text.len}, value, problem);
}

int query_known(const char *query, const char *const *names, struct problem *problem)
{
	struct span rest = {query, strlen(query)};

	while (rest.len > 0) {
		struct span pair = span_cut(&rest, '&');
		struct span key = span_cut(&pair, '=');
		char name[QUERY_VALUE_MAX];
		size_t i = 0;

		if (key.len == 0 && pair.len == 0)
			continue;
		if (!percent_decode(key, name, sizeof(name)))
			return problem_set(problem, PROBLEM_PARAMETER,
				"The query string has the name of a parameter that is too long or "
				"not properly encoded.");
		while (names[i] && !str_eq(names[i], name))
			i++;
		if (names[i])
			continue;
		str_utf8_mend(name);
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `%.100s` parameter is not known here.", name);
	}
	return 0;
}
