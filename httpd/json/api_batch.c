/*
 * api_batch: POST /emails/batch.
 *
 * Threads: the worker's.
 */
#include "httpd/json/api_batch.h"

#include <assert.h>
#include <event2/http.h>

#include "core/base/str.h"
#include "httpd/base/worker.h"
#include "httpd/http/idempotency.h"
#include "httpd/http/json_text.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/batch_json.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"

static int read_mode(
	struct request *request, bool *permissive_r, struct problem *problem)
{
	const char *mode = evhttp_find_header(
		evhttp_request_get_input_headers(request->http),
		"x-batch-validation");

	*permissive_r = mode && str_eq(mode, "permissive");
	if (mode == NULL || *permissive_r || str_eq(mode, "strict"))
		return 0;
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `x-batch-validation` header must be `strict` or "
		"`permissive`.");
}

/* The first problem that may pass or is our own, else the first of any kind. No
 * email was sent, so there is one. */
static size_t find_worst(const struct send_outcome *outcome)
{
	size_t first = outcome->n;

	for (size_t i = 0; i < outcome->n; i++) {
		const struct problem *problem = &outcome->results[i].problem;

		if (problem->kind == PROBLEM_NONE)
			continue;
		if (problem_status(problem) >= 500)
			return i;
		if (first == outcome->n)
			first = i;
	}
	assert(first < outcome->n);
	return first;
}

static void reply_named(
	struct request *request, size_t index, const struct problem *problem)
{
	struct problem named;

	batch_json_name(index, problem, &named);
	reply_problem(request, &named);
}

/* What the server cannot do now is wrong with none of the emails. */
static void reply_worst(
	struct request *request, const struct send_outcome *outcome)
{
	size_t worst = find_worst(outcome);
	const struct problem *problem = &outcome->results[worst].problem;

	if (problem->kind == PROBLEM_UNAVAILABLE)
		reply_problem(request, problem);
	else
		reply_named(request, worst, problem);
}

static void reply_unfinished(struct request *request)
{
	struct problem problem;

	problem_set(&problem, PROBLEM_UNAVAILABLE,
		"Some of the emails could not be sent now. Please try again: "
		"the same request with the same idempotency key sends only "
		"these.");
	reply_problem(request, &problem);
}

/* An error must not have a client send again what was sent: once an email is
 * out, the answer says which ones are not. */
static void on_strict_sent(
	struct request *request, const struct send_outcome *outcome)
{
	if (outcome->problem)
		reply_problem(request, outcome->problem);
	else if (outcome->unfinished)
		reply_unfinished(request);
	else if (outcome->sent == 0)
		reply_worst(request, outcome);
	else
		reply_json(request, 200, batch_json_render(outcome));
}

static bool has_passing(const struct send_outcome *outcome)
{
	const struct send_result *worst = &outcome->results[find_worst(outcome)];

	return problem_status(&worst->problem) >= 500;
}

/* Here it is no error that none could be sent, unless that may pass. */
static void on_permissive_sent(
	struct request *request, const struct send_outcome *outcome)
{
	if (outcome->problem)
		reply_problem(request, outcome->problem);
	else if (outcome->sent == 0 && has_passing(outcome))
		reply_worst(request, outcome);
	else
		reply_json(request, 200, batch_json_render(outcome));
}

static int parse(
	struct request *request, struct batch *batch_r, struct problem *problem)
{
	struct admission *admission = &request->admission;
	int64_t max = worker_recipient_limit(
		request->worker, EMAIL_JSON_RECIPIENTS);
	size_t len;
	const char *body = request_body(request, &len);

	if (admission_reserve(request->worker, admission,
		    json_text_cost(body, len), problem) < 0 ||
		batch_json_parse(body, len, max, batch_r, problem) < 0)
		return -1;
	return admission_enter(request->worker, admission, batch_r->n, problem);
}

static void send_batch(struct request *request, struct batch *batch)
{
	bool permissive = batch->permissive;
	const struct send_spec spec = {
		.outgoing = batch->emails,
		.problems = batch->problems,
		.n = batch->n,
		.permissive = permissive,
		.done = permissive ? on_permissive_sent : on_strict_sent,
	};

	request_drop_body(request);
	for (size_t i = 0; !permissive && i < batch->n; i++) {
		if (batch->problems[i].kind == PROBLEM_NONE)
			continue;
		reply_named(request, i, &batch->problems[i]);
		return;
	}
	send_emails(request, &spec);
}

void api_batch_send(struct request *request)
{
	_cleanup_batch_ struct batch batch = {0};
	struct problem problem = PROBLEM_INIT;

	if (read_mode(request, &batch.permissive, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	idempotency_begin(request, batch.permissive
					   ? "POST /emails/batch permissive"
					   : "POST /emails/batch strict");
	if (parse(request, &batch, &problem) < 0)
		reply_problem(request, &problem);
	else
		send_batch(request, &batch);
}
