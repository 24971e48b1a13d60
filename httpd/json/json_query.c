/*
 * json_query: the query parameters of the JSON dialect, with the checks and
 * problem texts that its routes share.
 *
 * Threads: the worker's or the pool's.
 */
#include "httpd/json/json_query.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/admission/request.h"
#include "httpd/worker/worker.h"

int json_query_read_text(const char *text, const char *const *names, struct json_query *query_r,
	struct problem *problem)
{
	memset(query_r, 0, sizeof(*query_r));
	query_r->text = text;
	for (size_t n = 0; names[n]; n++) {
		int given;

		/* The last one stays empty. */
		assert(n + 1 < ARRAY_SIZE(query_r->params));
		given = query_get(text, names[n], query_r->params[n].value, problem);
		if (given < 0)
			return -1;
		query_r->params[n].name = names[n];
		query_r->params[n].given = given > 0;
	}
	return 0;
}

int json_query_read(const struct request *request, const char *const *names,
	struct json_query *query_r, struct problem *problem)
{
	const char *text = request_query(request);

	return query_known(text, names, problem) < 0
		       ? -1
		       : json_query_read_text(text, names, query_r, problem);
}

const char *json_query_get(const struct json_query *query, const char *name)
{
	for (size_t i = 0; query->params[i].name; i++)
		if (str_eq(query->params[i].name, name))
			return query->params[i].given ? query->params[i].value : NULL;
	return NULL;
}

const char *json_query_words(struct json_query *query, const char *name)
{
	char *value = (char *)json_query_get(query, name);
	struct problem problem;

	/* The query was decoded before, so this cannot fail. */
	if (value)
		query_get_words(query->text, name, value, &problem);
	return value;
}

int json_query_time(const struct request *request, const struct json_query *query, const char *name,
	int64_t *time_us_r, struct problem *problem)
{
	const char *text = json_query_get(query, name);
	int64_t now_us = clock_now_us(request->worker->shared->clock);

	*time_us_r = 0;
	if (text && !clock_parse(text, now_us, time_us_r))
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `%s` parameter must be a time like `2026-11-21T02:43:18Z`, a date, or "
			"a span before now like `7d`.",
			name);
	if (text && *time_us_r == 0)
		*time_us_r = 1; /* 0 stands for not given */
	return 0;
}

int json_query_number(const struct json_query *query, const char *name, int64_t max,
	int64_t fallback, int64_t *number_r, struct problem *problem)
{
	const char *text = json_query_get(query, name);

	*number_r = fallback;
	if (text == NULL || str_int(text, 1, max, number_r) == 0)
		return 0;
	return problem_set(problem, PROBLEM_PARAMETER,
		"The `%s` parameter must be a number between 1 and %lld.", name, (long long)max);
}

int json_query_flag(
	const struct json_query *query, const char *name, bool *flag_r, struct problem *problem)
{
	const char *text = json_query_get(query, name);

	*flag_r = text && str_eq(text, "true");
	if (text == NULL || *flag_r || str_eq(text, "false"))
		return 0;
	return problem_set(
		problem, PROBLEM_PARAMETER, "The `%s` parameter must be `true` or `false`.", name);
}

/* Ids of webhook events: a prefix, _, letters and digits. */
static bool is_tagged_id(const char *text)
{
	size_t prefix = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	const char *rest = text + prefix + 1;

	return prefix > 0 && text[prefix] == '_' && strlen(text) < ID_SIZE && *rest &&
	       rest[strspn(rest,
		       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] == '\0';
}

static int read_id_cursor(const struct json_query *query, const char *name, char id[static ID_SIZE],
	struct problem *problem)
{
	const char *text = json_query_get(query, name);

	if (text == NULL || id_parse(text, id))
		return 0;
	if (is_tagged_id(text)) {
		*stpcpy(id, text) = '\0';
		return 0;
	}
	return problem_set(
		problem, PROBLEM_PARAMETER, "The `%s` parameter must be a valid UUID.", name);
}

int json_query_page(const struct json_query *query, struct page *page_r, struct problem *problem)
{
	struct page page = {0};
	int64_t limit;

	if (json_query_number(query, "limit", LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT, &limit, problem) <
			0 ||
		read_id_cursor(query, "after", page.after, problem) < 0 ||
		read_id_cursor(query, "before", page.before, problem) < 0)
		return -1;
	if (page.after[0] && page.before[0])
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `after` and `before` parameters must not be given together.");
	page.limit = (int)limit;
	*page_r = page;
	return 0;
}
