/*
 * api_key: GET /api-keys.
 *
 * Threads: the worker's.
 */
#include "httpd/json/api_key.h"

#include "core/base/log.h"
#include "httpd/base/worker.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/key_json.h"
#include "httpd/json/list_json.h"

static int find_page(struct request *request, const struct page *page,
	struct key_list *list_r, bool *more_r, struct problem *problem)
{
	const struct key *key = &request->admission.key;
	const struct key_range range = {key->company_id, key->domain};
	struct err err = ERR_INIT;
	int found = store_key_page(
		request->worker->db, &range, page, list_r, more_r, &err);

	if (found < 0) {
		log_error(request->worker->log, "key_list_failed", "request",
			request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	return found == 0 ? list_json_bad_cursor(page, problem) : 0;
}

void api_key_list(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_list list;
	struct page page;
	json_t *data;
	bool more;

	if (list_json_parse(request_query(request), &page, &problem) < 0 ||
		find_page(request, &page, &list, &more, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	data = json_array();
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, key_json_render(&list.items[i]));
	store_key_list_free(&list);
	reply_json(request, 200, list_json_render(data, more));
}
