/*
 * batch_json: batches of emails in the JSON dialect, in and out.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/batch_json.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"

static int check_size(size_t n, struct problem *problem)
{
	if (n == 0)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `request.body` field must have at least one "
			"email.");
	if (n > BATCH_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"Too many emails in the batch: the limit is %d.",
			BATCH_MAX);
	return 0;
}

static void parse_all(
	const json_t *array, int64_t max_recipients, struct batch *batch)
{
	size_t n = json_array_size(array);

	batch->emails = mem_alloc(n, sizeof(*batch->emails));
	batch->problems = mem_alloc(n, sizeof(*batch->problems));
	batch->n = n;
	for (size_t i = 0; i < n; i++) {
		struct problem *problem = &batch->problems[i];

		if (!batch->permissive)
			snprintf(problem->place, sizeof(problem->place),
				"[%zu].", i);
		email_json_read(json_array_get(array, i), max_recipients,
			&batch->emails[i], problem);
	}
}

int batch_json_parse(const char *body, size_t len, int64_t max_recipients,
	struct batch *batch_r, struct problem *problem)
{
	json_t *array;
	int result;

	if (json_field_parse_array(body, len, &array, problem) < 0)
		return -1;
	result = check_size(json_array_size(array), problem);
	if (result == 0)
		parse_all(array, max_recipients, batch_r);
	json_decref(array);
	return result;
}

void batch_json_clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		outgoing_clear(&batch->emails[i]);
	free(batch->emails);
	free(batch->problems);
	*batch = (struct batch){0};
}

void batch_json_name(
	size_t index, const struct problem *problem, struct problem *named_r)
{
	*named_r = *problem;
	if (problem->names_field)
		return;
	problem_set(named_r, problem->kind, "[%zu]: %s", index, problem->text);
	named_r->retry_after_s = problem->retry_after_s;
}

static void add_error(json_t *errors, size_t index, const struct problem *problem)
{
	json_array_append_new(
		errors, json_pack("{s:I, s:s}", "index", (json_int_t)index,
				"message", problem->text));
}

json_t *batch_json_render(const struct send_outcome *outcome)
{
	json_t *data = json_array(), *errors = json_array();
	json_t *answer = json_pack("{s:o}", "data", data);

	for (size_t i = 0; i < outcome->n; i++) {
		const struct send_result *result = &outcome->results[i];

		if (result->problem.kind != PROBLEM_NONE)
			add_error(errors, i, &result->problem);
		else
			json_array_append_new(
				data, json_pack("{s:s}", "id", result->id));
	}
	if (json_array_size(errors) > 0)
		json_object_set(answer, "errors", errors);
	json_decref(errors);
	return answer;
}
