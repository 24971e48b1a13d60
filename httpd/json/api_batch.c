/*
 * api_batch: POST /emails/batch.
 *
 * Threads: the worker's; parsing may run in the pool.
 */
#include "httpd/json/api_json.h"

#include <assert.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/admission/json_text.h"
#include "httpd/admission/request.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"
#include "httpd/transport/reply.h"

int batch_json_parse(const char *body, size_t len, int64_t max_recipients, struct batch *batch_r,
	struct problem *problem)
{
	json_t *array;
	size_t n;

	if (json_field_parse_array(body, len, &array, problem) < 0)
		return -1;
	n = json_array_size(array);
	if (n == 0 || n > BATCH_MAX) {
		json_decref(array);
		return n == 0 ? problem_set(problem, PROBLEM_VALIDATION,
					"The `request.body` field must have at least one email.")
			      : problem_set(problem, PROBLEM_VALIDATION,
					"Too many emails in the batch: the limit is %d.",
					BATCH_MAX);
	}
	batch_r->emails = mem_alloc(n, sizeof(*batch_r->emails));
	batch_r->problems = mem_alloc(n, sizeof(*batch_r->problems));
	batch_r->n = n;
	for (size_t i = 0; i < n; i++) {
		struct problem *own = &batch_r->problems[i];

		if (!batch_r->permissive)
			snprintf(own->prefix, sizeof(own->prefix), "[%zu].", i);
		email_json_read(json_array_get(array, i), max_recipients, &batch_r->emails[i], own);
	}
	json_decref(array);
	return 0;
}

void batch_json_clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		draft_clear(&batch->emails[i]);
	free(batch->emails);
	free(batch->problems);
	*batch = (struct batch){0};
}

void batch_json_name(size_t index, const struct problem *problem, struct problem *named_r)
{
	*named_r = *problem;
	if (problem->names_field)
		return;
	problem_set(named_r, problem->kind, "[%zu]: %s", index, problem->text);
	named_r->retry_after_s = problem->retry_after_s;
}

json_t *batch_json_render(const struct send_outcome *outcome)
{
	json_t *data = json_array(), *errors = json_array();
	json_t *answer = json_pack("{s:o}", "data", data);

	for (size_t i = 0; i < outcome->n; i++) {
		const struct send_result *result = &outcome->results[i];

		if (result->problem.kind != PROBLEM_NONE)
			json_array_append_new(
				errors, json_pack("{s:I, s:s}", "index", (json_int_t)i, "message",
						result->problem.text));
		else
			json_array_append_new(data, json_pack("{s:s}", "id", result->id));
	}
	if (json_array_size(errors) > 0)
		json_object_set(answer, "errors", errors);
	json_decref(errors);
	return answer;
}

/* The first problem with a status of 500 or above (temporary, or our own
 * fault), else the first of any kind. No email was sent, so there is one. */
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

/* A temporary failure of the server is not about one email, so it names none. */
static void reply_worst(struct request *request, const struct send_outcome *outcome)
{
	size_t worst = find_worst(outcome);
	struct problem problem = outcome->results[worst].problem;

	if (problem.kind != PROBLEM_UNAVAILABLE)
		batch_json_name(worst, &outcome->results[worst].problem, &problem);
	reply_problem(request, &problem);
}

/* An error must not make a client send again what was sent: once one email was
 * accepted, the answer is 200 and lists those that were not. */
static void on_strict_sent(struct request *request, const struct send_outcome *outcome)
{
	if (outcome->problem)
		reply_problem(request, outcome->problem);
	else if (outcome->sent == 0)
		reply_worst(request, outcome);
	else
		reply_json(request, 200, batch_json_render(outcome));
}

/* In permissive mode the request succeeds even if no email could be sent, unless a status is 500 or
 * above. */
static void on_permissive_sent(struct request *request, const struct send_outcome *outcome)
{
	if (outcome->problem)
		reply_problem(request, outcome->problem);
	else if (outcome->sent == 0 &&
		 problem_status(&outcome->results[find_worst(outcome)].problem) >= 500)
		reply_worst(request, outcome);
	else
		reply_json(request, 200, batch_json_render(outcome));
}

static int parse_batch(struct send_body *body, bool permissive, struct send_parsed *parsed_r,
	struct problem *problem)
{
	struct admission *admission = body->admission;
	int64_t max = admission_recipients(admission, EMAIL_JSON_RECIPIENTS);
	struct batch batch = {.permissive = permissive};

	if (admission_reserve_body(
		    body->worker, admission, json_text_cost(body->data, body->len), problem) < 0 ||
		batch_json_parse(body->data, body->len, max, &batch, problem) < 0)
		return -1;
	parsed_r->emails = batch.emails;
	parsed_r->problems = batch.problems;
	parsed_r->n = batch.n;
	for (size_t i = 0; !permissive && i < batch.n; i++) {
		if (batch.problems[i].kind == PROBLEM_NONE)
			continue;
		batch_json_name(i, &batch.problems[i], problem);
		return -1;
	}
	return admission_take_slots(body->worker, admission, batch.n, problem);
}

static int parse_strict(
	struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	return parse_batch(body, false, parsed_r, problem);
}

static int parse_permissive(
	struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	return parse_batch(body, true, parsed_r, problem);
}

void api_batch_send(struct request *request)
{
	static const struct send_dialect strict = {
		.action = "POST /emails/batch strict",
		.parse = parse_strict,
		.done = on_strict_sent,
	};
	static const struct send_dialect lenient = {
		.action = "POST /emails/batch permissive",
		.permissive = true,
		.parse = parse_permissive,
		.done = on_permissive_sent,
	};
	const char *mode = request_header(request, "x-batch-validation");
	struct problem problem = PROBLEM_INIT;

	if (mode == NULL || str_eq(mode, "strict")) {
		send_request(request, &strict);
	} else if (str_eq(mode, "permissive")) {
		send_request(request, &lenient);
	} else {
		problem_set(&problem, PROBLEM_VALIDATION,
			"The `x-batch-validation` header must be `strict` or `permissive`.");
		reply_problem(request, &problem);
	}
}
