/*
 * api_form: POST /v3/{domain}/messages and messages.mime.
 *
 * Threads: the worker's.
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

/* What is sent, and what is answered for it. */
struct parsed {
	struct outgoing *emails;
	size_t n;
	char *answer_id; /* as the client gave it; NULL: the first email's */
};

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

static int parse_email(const struct request *request, const struct form *form,
	bool is_mime, struct outgoing *email, struct problem *problem)
{
	const struct form_email_rules rules = {
		.domain = request->admission.param,
		.recipients = worker_recipient_limit(
			request->worker, FORM_TEXT_ADDRS_MAX),
	};
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	int result = is_mime ? form_email_parse_mime(form, &rules, email, problem)
			     : form_email_parse(form, &rules, email, problem);

	if (result < 0)
		return -1;
	return form_options_parse(form, now_us, email, problem);
}

static int reserve(
	struct request *request, uint64_t bytes, struct problem *problem)
{
	return admission_reserve(
		request->worker, &request->admission, bytes, problem);
}

/* Individual messages multiply what is held in memory. */
static int expand(struct request *request, const struct form *form,
	struct outgoing *email, struct parsed *parsed, struct problem *problem)
{
	_cleanup_form_variables_ struct form_variables variables = {0};

	if (reserve(request, form_variables_cost(form), problem) < 0 ||
		form_variables_read(form, &variables, problem) < 0)
		return -1;
	if (variables.of && email->finished.len > 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'recipient-variables' parameter is not supported with "
			"a finished message");
	if (reserve(request, form_variables_size(&variables, email), problem) < 0)
		return -1;
	return form_variables_expand(
		&variables, email, &parsed->emails, &parsed->n, problem);
}

static int parse(struct request *request, bool is_mime, struct parsed *parsed,
	struct problem *problem)
{
	_cleanup_form_ struct form form = FORM_INIT;
	_cleanup_outgoing_ struct outgoing email = {0};

	if (form_request_read(request, is_mime, &form, problem) < 0 ||
		parse_email(request, &form, is_mime, &email, problem) < 0)
		return -1;
	if (!is_mime)
		parsed->answer_id = mem_strdup(email.message.message_id);
	if (expand(request, &form, &email, parsed, problem) < 0)
		return -1;
	return admission_enter(
		request->worker, &request->admission, parsed->n, problem);
}

static void send_form(struct request *request, bool is_mime)
{
	struct parsed parsed = {0};
	struct problem problem = PROBLEM_INIT;

	if (parse(request, is_mime, &parsed, &problem) < 0) {
		free(parsed.answer_id);
		reply_problem(request, &problem);
	} else {
		request->answer_id = parsed.answer_id;
		send_emails(request, &(const struct send_spec){
					     .outgoing = parsed.emails,
					     .n = parsed.n,
					     .done = on_form_sent,
				     });
	}
	for (size_t i = 0; i < parsed.n; i++)
		outgoing_clear(&parsed.emails[i]);
	free(parsed.emails);
}

void api_form_send(struct request *request)
{
	send_form(request, false);
}

void api_form_send_mime(struct request *request)
{
	send_form(request, true);
}
