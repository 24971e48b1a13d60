/*
 * api_email: the routes /emails, but for batches.
 *
 * Threads: the worker's, but for parse(), which may run in the pool.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_email.h"
#include "httpd/gate/json_text.h"
#include "httpd/gate/request.h"
#include "httpd/json/email_json.h"
#include "httpd/json/list_json.h"
#include "httpd/send/send.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* POST /emails */

static void on_email_sent(
	struct request *request, const struct send_outcome *outcome)
{
	const struct problem *problem = send_first_problem(outcome);

	if (problem)
		reply_problem(request, problem);
	else
		reply_json(request, 200,
			json_pack("{s:s}", "id", outcome->results[0].id));
}

static int parse(struct send_body *body, struct send_parsed *parsed_r,
	struct problem *problem)
{
	struct admission *admission = &body->request->admission;
	int64_t max = admission_recipients(admission, EMAIL_JSON_RECIPIENTS);

	if (admission_reserve(body->request->worker, admission,
		    json_text_cost(body->data, body->len), problem) < 0)
		return -1;
	parsed_r->emails = mem_new(struct outgoing);
	parsed_r->n = 1;
	return email_json_parse(
		body->data, body->len, max, parsed_r->emails, problem);
}

void api_email_send(struct request *request)
{
	static const struct send_dialect dialect = {
		.action = "POST /emails",
		.parse = parse,
		.done = on_email_sent,
	};

	send_request(request, &dialect);
}

/* GET /emails/{id} */

/* Where the @ of a Message-ID stands: behind the < and an id. */
enum { AT_SIGN = 1 + (ID_SIZE - 1) };

/* The id of the JSON dialect, or the whole one of the form dialect, which is a
 * Message-ID whose local part is the other. */
static bool read_id(const char *param, char id[static ID_SIZE])
{
	size_t len = strcspn(param, "@");
	char local[ID_SIZE];

	if (param[0] != '<' || len != AT_SIGN || param[len] != '@')
		return id_parse(param, id);
	*stpncpy(local, param + 1, ID_SIZE - 1) = '\0';
	return id_parse(local, id);
}

/* Whether the email goes by what the path says, if that is a Message-ID. */
static bool is_named(const struct email *email, const char *param)
{
	return param[0] != '<' ||
	       (email->message_id && str_eq(email->message_id, param));
}

/* 0, or -1 with the problem; the email is the caller's. */
static int find(struct request *request, const char *id, struct email *email_r,
	struct problem *problem)
{
	const char *param = request->admission.param;
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
	if (found > 0 && is_named(email_r, param))
		return 0;
	if (found > 0)
		store_email_clear(email_r);
	return problem_set(problem, PROBLEM_NOT_FOUND, "Email not found");
}

void api_email_get(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct email email;
	char id[ID_SIZE];

	if (!read_id(request->admission.param, id)) {
		problem_set(&problem, PROBLEM_PARAMETER,
			"The `id` must be a valid UUID.");
		reply_problem(request, &problem);
		return;
	}
	if (find(request, id, &email, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_printed(request, 200, email_json_print(&email));
	store_email_clear(&email);
}

/* GET /emails */

static int find_page(struct request *request, const struct page *page,
	json_t *data, bool *more_r, struct err *err)
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
	list_json_reply(request, find_page, "email_list_failed");
}
