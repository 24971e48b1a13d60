/*
 * api_email_send: POST /emails.
 *
 * Threads: the worker's, but for parse().
 */
#include "core/base/mem.h"
#include "httpd/http/json_text.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_email.h"
#include "httpd/json/email_json.h"
#include "httpd/send/send.h"

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
