/*
 * api_list: what the routes that answer with a list have in common.
 *
 * Threads: the worker's.
 */
#include "httpd/json/api_list.h"

#include "core/base/log.h"
#include "httpd/base/worker.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/list_json.h"

void api_list(struct request *request, api_list_find *find, const char *event)
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
		list_json_bad_cursor(&page, &problem);
	if (found < 0) {
		log_error(request->worker->log, event, "request", request->id,
			"error", err.text);
		problem_from_err(&problem, &err);
	}
	reply_either(request, &problem, 200, list_json_render(data, more));
}
