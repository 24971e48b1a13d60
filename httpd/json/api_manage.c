/*
 * api_manage: what the managing routes of the JSON dialect share.
 *
 * Threads: the worker's; manage->render is called on the committer's.
 */
#include "httpd/json/api_manage.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "httpd/admission/request.h"
#include "httpd/http/uri.h"
#include "httpd/json/json_field.h"
#include "httpd/json/list_json.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

/* Parses path and body. *body_r owns the strings of the input: those of the body, or the second id
 * of the path, as of /webhooks/{}/events/{}. Returns 0, or -1 with the problem. */
static int parse_manage(
	struct request *request, void *input, json_t **body_r, struct problem *problem)
{
	const struct route *route = request->admission.route;
	const struct operation *operation = route->operation;
	const struct manage *manage = route->manage;
	const char *param = request->admission.param;
	const char *first = strstr(route->pattern, "{}");
	const char *second = first ? strstr(first + 2, "{}") : NULL;
	char id[ID_SIZE];

	if (*param && !operation->by_address && !id_parse(param, id))
		return problem_set(problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	if (second) {
		assert(operation->fields && manage->parse == NULL);
		const char *path = request_path(request);
		struct span rest = {path, strlen(path)}, segment;

		for (const char *p = route->pattern; p < second; p++)
			if (*p == '/')
				span_cut(&rest, '/');
		segment = span_cut(&rest, '/');
		*body_r = json_stringn(segment.data, segment.len);
		*(const char **)((char *)input + operation->fields->offset) = json_string_value(
			*body_r);
	}
	if (manage->parse == NULL)
		return 0;
	return json_field_parse_request(request, body_r, problem) < 0
		       ? -1
		       : manage->parse(*body_r, input, problem);
}

/* Sets a problem from the text of an operation, which is a sentence in this
 * dialect. Returns -1. */
static int set_sentence(struct problem *problem, enum problem_kind kind, const struct err *err)
{
	return problem_set(
		problem, kind, "%c%s.", toupper((unsigned char)err->text[0]), err->text + 1);
}

/* Sets the problem of a failed operation. */
static void explain_manage(
	const struct request *request, int result, const struct err *err, struct problem *problem)
{
	const struct manage *manage = request->admission.route->manage;
	enum problem_kind kind = err->code == ERR_DENIED ? manage->denied : PROBLEM_VALIDATION;

	if (result == 0)
		problem_set(problem, PROBLEM_NOT_FOUND, "%s", manage->missing);
	else if (result < 0 &&
		 (err->code == ERR_DENIED || err->code == ERR_INVALID || err->code == ERR_EXISTS))
		set_sentence(problem, kind, err);
	else if (result < 0)
		request_failed(request, "operation_failed", err, problem);
}

static void on_changed(struct change *change)
{
	struct operate *operate = (struct operate *)change;
	struct problem problem = change->refused;

	if (problem.kind == PROBLEM_NONE)
		explain_manage(change->request, change->result, &change->err, &problem);
	reply_changed(change->request, &problem, operate->answer);
	operate_end(operate);
	json_decref(operate->body);
	free(operate);
}

void manage_change(struct request *request)
{
	struct operate *operate = mem_new(struct operate);
	struct problem problem = PROBLEM_INIT;

	operate_begin(request, operate, request->admission.route->operation);
	operate->render = request->admission.route->manage->render;
	if (parse_manage(request, operate->input, &operate->body, &problem) == 0) {
		operate_submit(operate, on_changed);
		return;
	}
	reply_problem(request, &problem);
	operate_end(operate);
	json_decref(operate->body);
	free(operate);
}

void manage_read(struct request *request)
{
	const struct operation *operation = request->admission.route->operation;
	_cleanup_free_ void *input = operation->size ? mem_alloc(1, operation->size) : NULL;
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *body = NULL, *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if (parse_manage(request, input, &body, &problem) == 0) {
		found = operation->run(&op, input, &err);
		explain_manage(request, found, &err, &problem);
		if (found > 0)
			answer = request->admission.route->manage->render(&op);
		op_clear(&op);
	}
	json_decref(body);
	reply_either(request, &problem, 200, answer);
}

int manage_list_check(const struct request *request, int found, const struct op *op,
	const struct err *err, struct problem *problem)
{
	if (found < 0 && err->code == ERR_INVALID)
		return set_sentence(problem, PROBLEM_PARAMETER, err);
	return list_json_check(request, found, &op->page, "operation_failed", err, problem);
}

json_t *manage_render_item_id(const struct op *op, size_t i, bool removed)
{
	const char *type = op->result.type->name;
	json_t *item = op_item_json(op, i);
	/* This dialect has a name of its own for keys. */
	json_t *answer = json_pack("{s:s, s:O}", "object", str_eq(type, "key") ? "api_key" : type,
		"id", json_object_get(item, "id"));

	if (removed)
		json_object_set_new(answer, "deleted", json_true());
	json_decref(item);
	return answer;
}

json_t *manage_render_id(const struct op *op)
{
	return manage_render_item_id(op, 0, false);
}

json_t *manage_render_removed(const struct op *op)
{
	return manage_render_item_id(op, 0, true);
}

json_t *manage_list_render(const struct op *op, json_t *(*item)(const void *item))
{
	const struct rows *rows = &op->result.rows;
	json_t *data = json_array();

	for (size_t i = 0; i < rows->n; i++)
		json_array_append_new(
			data, item((const char *)rows->items + i * op->result.type->size));
	return list_json_render(data, rows->more);
}

void manage_list(struct request *request)
{
	const struct route *route = request->admission.route;
	const struct operation *operation = route->operation;
	_cleanup_free_ void *input = operation->size ? mem_alloc(1, operation->size) : NULL;
	const char *query = request_query(request);
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *body = NULL, *answer = NULL;
	char text[QUERY_VALUE_MAX];
	struct op op;
	int found;

	operate_init(request, &op);
	if (parse_manage(request, input, &body, &problem) == 0 &&
		list_json_parse(query, &op.page, &problem) == 0) {
		if (route->list_limit && query_get(query, "limit", text, &problem) == 0)
			op.page.limit = route->list_limit;
		if (operation->list == OP_ONWARD)
			op.page.before[0] = '\0';
		found = operation->run(&op, input, &err);
		if (found < 0 && err.code == ERR_NOT_FOUND)
			problem_set(&problem, PROBLEM_NOT_FOUND, "%s", route->manage->missing);
		else if (manage_list_check(request, found, &op, &err, &problem) == 0)
			answer = manage_list_render(&op, route->manage->item);
		op_clear(&op);
	}
	json_decref(body);
	reply_either(request, &problem, 200, answer);
}
