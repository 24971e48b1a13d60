/*
 * api_form: POST /v3/{domain}/messages and messages.mime.
 *
 * Threads: the worker's, but for the functions that parse.
 */
#include "httpd/form/api_form.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/base/worker.h"
#include "httpd/form/form_email.h"
#include "httpd/form/form_options.h"
#include "httpd/form/form_request.h"
#include "httpd/form/form_variables.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/send/send.h"

static void on_form_sent(
	struct request *request, const struct send_outcome *outcome)
{
	const struct problem *problem = send_first_problem(outcome);
	const char *id = request->answer_id ? request->answer_id
					    : outcome->results[0].message_id;

	if (problem)
		reply_problem(request, problem);
	else
		reply_json(request, 200,
			json_pack("{s:s, s:s}", "id", id, "message",
				"Queued. Thank you."));
}

static int parse_email(const struct request *request, struct form *form,
	bool is_mime, struct outgoing *email, struct problem *problem)
{
	const struct form_email_rules rules = {
		.domain = request->admission.param,
		.recipients = admission_recipients(
			&request->admission, FORM_TEXT_ADDRS_MAX),
	};
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	int result = is_mime ? form_email_parse_mime(form, &rules, email, problem)
			     : form_email_parse(form, &rules, email, problem);

	if (result < 0)
		return -1;
	return form_options_parse(form, now_us, email, problem);
}

/* Individual messages are counted, but not made here: they can take many times
 * as much memory as the form. */
static int expand(struct send_body *body, const struct form *form,
	struct send_parsed *parsed, struct problem *problem)
{
	struct request *request = body->request;
	struct outgoing *email = parsed->emails;
	struct form_variables *variables;

	if (admission_reserve(request->worker, &request->admission,
		    form_variables_cost(form), problem) < 0 ||
		form_variables_read(form, &variables, problem) < 0)
		return -1;
	if (variables == NULL)
		return form_variables_none(email, problem);
	parsed->personal = &variables->personal;
	parsed->n = email->message.to.n;
	if (email->finished.len > 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'recipient-variables' parameter is not supported with "
			"a finished message");
	return 0;
}

static int parse(struct send_body *body, bool is_mime,
	struct send_parsed *parsed_r, struct problem *problem)
{
	_cleanup_form_ struct form form = FORM_INIT;
	struct request *request = body->request;
	struct outgoing *email = mem_new(struct outgoing);

	parsed_r->emails = email;
	parsed_r->n = 1;
	if (form_request_read(body, is_mime, &form, problem) < 0 ||
		parse_email(request, &form, is_mime, email, problem) < 0)
		return -1;
	if (!is_mime)
		parsed_r->answer_id = mem_strdup(email->message.message_id);
	if (expand(body, &form, parsed_r, problem) < 0)
		return -1;
	return admission_enter(
		request->worker, &request->admission, parsed_r->n, problem);
}

static int parse_form(struct send_body *body, struct send_parsed *parsed_r,
	struct problem *problem)
{
	return parse(body, false, parsed_r, problem);
}

static int parse_mime(struct send_body *body, struct send_parsed *parsed_r,
	struct problem *problem)
{
	return parse(body, true, parsed_r, problem);
}

void api_form_send(struct request *request)
{
	static const struct send_dialect dialect = {
		.parse = parse_form, .done = on_form_sent};

	send_request(request, &dialect);
}

void api_form_send_mime(struct request *request)
{
	static const struct send_dialect dialect = {
		.parse = parse_mime, .done = on_form_sent};

	send_request(request, &dialect);
}
