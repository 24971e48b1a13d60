/*
 * api_email_send: POST /emails.
 *
 * Threads: the worker's.
 */
#include "core/conf/conf.h"
#include "httpd/json/api_email.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/send/send.h"
#include "httpd/worker.h"

static void on_email_sent(
	struct request *request, const struct send_result *results, size_t n)
{
	const struct problem *problem = send_first_problem(results, n);

	if (problem)
		reply_problem(request, problem);
	else
		reply_json(request, 200, json_pack("{s:s}", "id", results[0].id));
}

void api_email_send(struct request *request)
{
	_cleanup_outgoing_ struct outgoing outgoing = {0};
	struct problem problem = PROBLEM_INIT;
	int64_t max = request->worker->conf->http.max_recipients;
	struct admission *admission = &request->admission;
	size_t len;
	const char *body = request_body(request, &len);

	if (admission_reserve(request->worker, admission,
		    json_field_cost(body, len)) < 0) {
		reply_problem(request, &admission->problem);
		return;
	}
	if (email_json_parse(body, len, max, &outgoing, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	request_drop_body(request);
	send_emails(request, &outgoing, 1, on_email_sent);
}
