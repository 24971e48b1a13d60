/*
 * api_email_list: GET /emails.
 *
 * Threads: the worker's.
 */
#include "core/store/store_email.h"
#include "httpd/base/worker.h"
#include "httpd/http/request.h"
#include "httpd/json/api_email.h"
#include "httpd/json/list_json.h"
#include "httpd/json/email_json.h"

static int find(struct request *request, const struct page *page, json_t *data,
	bool *more_r, struct err *err)
{
	const struct key *key = &request->admission.key;
	const struct email_scope scope = {
		.company_id = key->company_id,
		.domain = key->domain,
		.sent_only = true,
	};
	struct email_list list;
	int found = store_email_page(
		request->worker->db, &scope, page, &list, more_r, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(
			data, email_json_render_item(&list.items[i]));
	store_email_list_free(&list);
	return 1;
}

void api_email_list(struct request *request)
{
	api_list(request, find, "email_list_failed");
}
