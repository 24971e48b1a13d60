/*
 * api_email_send: POST /emails.
 *
 * Threads: the worker's.
 */
#include "httpd/base/worker.h"
#include "httpd/http/idempotency.h"
#include "httpd/http/json_text.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_email.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"
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

static int parse(struct request *request, struct outgoing *outgoing_r,
	struct problem *problem)
{
	int64_t max = worker_recipient_limit(
		request->worker, EMAIL_JSON_RECIPIENTS);
	size_t len;
	const char *body = request_body(request, &len);

	if (admission_reserve(request->worker, &request->admission,
		    json_text_cost(body, len), problem) < 0)
		return -1;
	return email_json_parse(body, len, max, outgoing_r, problem);
}

void api_email_send(struct request *request)
{
	_cleanup_outgoing_ struct outgoing outgoing = {0};
	const struct send_spec spec = {
		.outgoing = &outgoing, .n = 1, .done = on_email_sent};
	struct problem problem = PROBLEM_INIT;

	idempotency_begin(request, "POST /emails");
	if (parse(request, &outgoing, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	request_drop_body(request);
	send_emails(request, &spec);
}
