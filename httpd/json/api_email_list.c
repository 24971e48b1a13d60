/*
 * api_email_list: GET /emails.
 *
 * Threads: the worker's.
 */
#include "core/base/log.h"
#include "core/store/store_email.h"
#include "httpd/base/worker.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_email.h"
#include "httpd/json/email_json.h"
#include "httpd/json/list_json.h"

/* 0, or -1 with the problem; the list is the caller's. */
static int find(struct request *request, const struct page *page,
	struct email_list *list_r, bool *more_r, struct problem *problem)
{
	const struct key *key = &request->admission.key;
	const struct email_scope scope = {
		.company_id = key->company_id,
		.domain = key->domain,
		.sent_only = true,
	};
	struct err err = ERR_INIT;
	int found = store_email_page(
		request->worker->db, &scope, page, list_r, more_r, &err);

	if (found < 0) {
		log_error(request->worker->log, "email_list_failed", "request",
			request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	return found == 0 ? list_json_bad_cursor(page, problem) : 0;
}

static json_t *render(const struct email_list *list, bool more)
{
	json_t *data = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(
			data, email_json_render_item(&list->items[i]));
	return list_json_render(data, more);
}

void api_email_list(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct email_list list;
	struct page page;
	bool more;

	if (list_json_parse(request_query(request), &page, &problem) < 0 ||
		find(request, &page, &list, &more, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, render(&list, more));
	store_email_list_free(&list);
}
