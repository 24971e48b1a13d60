/*
 * api_email_get: GET /emails/{id}.
 *
 * Threads: the worker's.
 */
#include "core/base/log.h"
#include "core/store/store_email.h"
#include "httpd/json/api_email.h"
#include "httpd/json/email_json.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/worker.h"

/* 0, or -1 with the problem; the email is the caller's. */
static int find(struct request *request, const char *id, struct email *email_r,
	struct problem *problem)
{
	const struct key *key = &request->admission.key;
	const struct email_scope scope = {
		.company_id = key->company_id,
		.domain = key->domain,
		.sent_only = true,
	};
	struct err err = ERR_INIT;
	int found = store_email_get(
		request->worker->db, id, &scope, email_r, &err);

	if (found < 0) {
		log_error(request->worker->log, "email_lookup_failed",
			"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	if (found == 0)
		return problem_set(problem, PROBLEM_NOT_FOUND, "Email not found");
	return 0;
}

void api_email_get(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct email email;
	char id[ID_SIZE];

	if (!id_parse(request->admission.param, id)) {
		problem_set(&problem, PROBLEM_PARAMETER,
			"The `id` must be a valid UUID.");
		reply_problem(request, &problem);
		return;
	}
	if (find(request, id, &email, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, email_json_render(&email));
	store_email_clear(&email);
}
