/*
 * list_json: lists of the JSON dialect, in pages.
 *
 * Threads: the worker's.
 */
#include "httpd/json/list_json.h"

#include "core/base/log.h"
#include "core/base/str.h"
#include "httpd/gate/request.h"
#include "httpd/http/uri.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

static int read_limit(const char *query, int *limit_r, struct problem *problem)
{
	char text[QUERY_VALUE_MAX];
	int64_t limit = LIST_LIMIT_DEFAULT;
	int given = query_get(query, "limit", text, problem);

	if (given < 0)
		return -1;
	if (given > 0 && str_int(text, 1, LIST_LIMIT_MAX, &limit) < 0)
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `limit` parameter must be a number between 1 and "
			"%d.",
			LIST_LIMIT_MAX);
	*limit_r = (int)limit;
	return 0;
}

static int read_cursor(const char *query, const char *name,
	char id[static ID_SIZE], struct problem *problem)
{
	char text[QUERY_VALUE_MAX];
	int given = query_get(query, name, text, problem);

	if (given <= 0)
		return given;
	if (!id_parse(text, id))
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `%s` parameter must be a valid UUID.", name);
	return 0;
}

int list_json_parse(
	const char *query, struct page *page_r, struct problem *problem)
{
	struct page page = {0};

	if (read_limit(query, &page.limit, problem) < 0 ||
		read_cursor(query, "after", page.after, problem) < 0 ||
		read_cursor(query, "before", page.before, problem) < 0)
		return -1;
	if (page.after[0] && page.before[0])
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `after` and `before` parameters must not be given "
			"together.");
	*page_r = page;
	return 0;
}

int list_json_no_cursor(const struct page *page, struct problem *problem)
{
	return problem_set(problem, PROBLEM_PARAMETER,
		"The `%s` parameter is not the id of an item of this list.",
		page->after[0] ? "after" : "before");
}

json_t *list_json_render(json_t *data, bool has_more)
{
	return json_pack("{s:s, s:b, s:o}", "object", "list", "has_more",
		has_more, "data", data);
}

void list_json_reply(
	struct request *request, list_json_find *find, const char *event)
{
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *data = json_array();
	struct page page;
	bool more = false;
	int found = 1;

	if (list_json_parse(request_query(request), &page, &problem) == 0)
		found = find(request, &page, data, &more, &err);
	if (found == 0)
		list_json_no_cursor(&page, &problem);
	if (found < 0) {
		log_error(request->worker->log, event, "request", request->id,
			"error", err.text);
		problem_from_err(&problem, &err);
	}
	reply_either(request, &problem, 200, list_json_render(data, more));
}
