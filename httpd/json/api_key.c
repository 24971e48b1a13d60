/*
 * api_key: GET /api-keys.
 *
 * Threads: the worker's.
 */
#include "httpd/json/api_key.h"

#include "httpd/base/worker.h"
#include "httpd/http/request.h"
#include "httpd/json/api_list.h"
#include "httpd/json/key_json.h"

static int find(struct request *request, const struct page *page, json_t *data,
	bool *more_r, struct err *err)
{
	const struct key *key = &request->admission.key;
	const struct key_range range = {key->company_id, key->domain};
	struct key_list list;
	int found = store_key_page(
		request->worker->db, &range, page, &list, more_r, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, key_json_render(&list.items[i]));
	store_key_list_free(&list);
	return 1;
}

void api_key_list(struct request *request)
{
	api_list(request, find, "key_list_failed");
}
