/*
 * list_json: paged lists of the JSON dialect.
 *
 * Threads: the worker's or the pool's.
 */
#include "httpd/json/list_json.h"

#include "httpd/admission/request.h"
#include "httpd/json/json_query.h"

int list_json_parse(const char *query, struct page *page_r, struct problem *problem)
{
	static const char *const names[] = {"limit", "after", "before", NULL};
	struct json_query params;

	return json_query_read_text(query, names, &params, problem) < 0
		       ? -1
		       : json_query_page(&params, page_r, problem);
}

int list_json_check(const struct request *request, int found, const struct page *page,
	const char *event, const struct err *err, struct problem *problem)
{
	if (found < 0)
		return request_failed(request, event, err, problem);
	return found > 0 ? 0
			 : problem_set(problem, PROBLEM_PARAMETER,
				   "The `%s` parameter is not the id of an item of this list.",
				   page->after[0] ? "after" : "before");
}

json_t *list_json_render(json_t *data, bool has_more)
{
	return json_pack("{s:s, s:b, s:o}", "object", "list", "has_more", has_more, "data", data);
}
