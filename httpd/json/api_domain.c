/*
 * api_domain: the routes /domains that change nothing.
 *
 * Threads: the worker's, but for api_domain_find(), which the committer's uses
 * too.
 */
#include "httpd/json/api_domain.h"

#include "core/base/log.h"
#include "core/base/str.h"
#include "httpd/base/worker.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_domain_private.h"
#include "httpd/json/api_list.h"
#include "httpd/json/domain_json.h"
#include "httpd/json/json_body.h"

int api_domain_id(const struct request *request, char id[static ID_SIZE],
	struct problem *problem)
{
	if (id_parse(request->admission.param, id))
		return 0;
	return problem_set(
		problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
}

int api_domain_find(struct db *db, const struct key *key, const char *id,
	struct domain *domain_r, struct err *err)
{
	struct domain domain;
	int found = store_domain_get(db, key->company_id, id, &domain, err);

	if (found <= 0)
		return found;
	if (key->domain && !str_eq(key->domain, domain.name)) {
		store_domain_clear(&domain);
		return 0;
	}
	*domain_r = domain;
	return 1;
}

int api_domain_missing(struct problem *problem)
{
	return problem_set(problem, PROBLEM_NOT_FOUND, "Domain not found");
}

/* The domain of the path. 0, or -1 with the problem. */
static int find(struct request *request, struct domain *domain_r,
	struct problem *problem)
{
	struct err err = ERR_INIT;
	char id[ID_SIZE];
	int found;

	if (api_domain_id(request, id, problem) < 0)
		return -1;
	found = api_domain_find(request->worker->db, &request->admission.key,
		id, domain_r, &err);
	if (found < 0) {
		log_error(request->worker->log, "domain_lookup_failed",
			"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	return found == 0 ? api_domain_missing(problem) : 0;
}

void api_domain_get(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain domain;

	if (find(request, &domain, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, domain_json_render(&domain));
	store_domain_clear(&domain);
}

static int find_page(struct request *request, const struct page *page,
	json_t *data, bool *more_r, struct err *err)
{
	const struct key *key = &request->admission.key;
	const struct domain_scope scope = {key->company_id, key->domain};
	struct domain_list list;
	int found = store_domain_page(
		request->worker->db, &scope, page, &list, more_r, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(
			data, domain_json_render_item(&list.items[i]));
	store_domain_list_free(&list);
	return 1;
}

void api_domain_list(struct request *request)
{
	api_list(request, find_page, "domain_list_failed");
}

static int check_settings(struct request *request, struct problem *problem)
{
	json_t *body;
	int result;

	if (json_body_parse(request, &body, problem) < 0)
		return -1;
	result = domain_json_check_settings(body, problem);
	json_decref(body);
	return result;
}

void api_domain_update(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain domain;

	if (check_settings(request, &problem) < 0 ||
		find(request, &domain, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, domain_json_render_id(domain.id));
	store_domain_clear(&domain);
}
