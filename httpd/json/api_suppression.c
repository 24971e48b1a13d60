/*
 * api_suppression: the routes /suppressions: parses the bodies and renders the
 * answers.
 *
 * Clients know three origins and fail on a fourth, so an unsubscription is
 * shown as `manual`.
 *
 * Threads: the worker's or the pool's.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_suppression.h"
#include "core/store/company/store_suppression.h"
#include "httpd/admission/request.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

enum { AT_ONCE_MAX = 100 };

static bool is_address(const char *text)
{
	_cleanup_free_ char *trimmed = str_trim(text, strlen(text));
	_cleanup_addr_ struct addr addr = {0};

	return addr_parse(trimmed, &addr, NULL) == 0;
}

static int parse_new(const json_t *body, void *input, struct problem *problem)
{
	struct op_suppression *suppression = input;

	if (json_field_text(body, "email", "email", &suppression->address, problem) < 0)
		return -1;
	if (suppression->address == NULL)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `email` field.");
	if (!is_address(suppression->address))
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `email` field must be a valid email address.");
	return 0;
}

/* Parses an array of addresses or ids into inputs. *given_r is true if the body
 * has it. */
static int parse_texts(const json_t *body, const char *name, bool *given_r,
	struct op_suppression *input, struct problem *problem)
{
	const json_t *array = json_object_get(body, name), *item;
	const bool ids = str_eq(name, "ids");
	struct op_suppression *items;
	char id[ID_SIZE];
	size_t i;

	*given_r = array != NULL;
	if (array == NULL)
		return 0;
	if (!json_is_array(array) || json_array_size(array) == 0 ||
		json_array_size(array) > AT_ONCE_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `%s` field must be an array of 1 to %d texts.", name, AT_ONCE_MAX);
	free(input->suppressions.items);
	input->suppressions.n = json_array_size(array);
	items = input->suppressions.items = mem_alloc(input->suppressions.n, sizeof(*items));
	json_array_foreach(array, i, item) {
		const char *text = json_string_value(item);

		if (text == NULL || strlen(text) != json_string_length(item) ||
			!(ids ? id_parse(text, id) : is_address(text)))
			return problem_set(problem, PROBLEM_VALIDATION,
				"Each item in `%s` must be a valid %s.", name,
				ids ? "UUID" : "email address");
		if (ids)
			items[i].id = text;
		else
			items[i].address = text;
	}
	return 0;
}

static int parse_emails(const json_t *body, void *input, struct problem *problem)
{
	bool given;

	if (parse_texts(body, "emails", &given, input, problem) < 0)
		return -1;
	return given ? 0 : problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `emails` field.");
}

static int parse_removed(const json_t *body, void *input, struct problem *problem)
{
	bool emails, ids;

	if (parse_texts(body, "emails", &emails, input, problem) < 0 ||
		parse_texts(body, "ids", &ids, input, problem) < 0)
		return -1;
	if (emails && ids)
		return problem_set(problem, PROBLEM_VALIDATION,
			"Give either the `emails` or the `ids` field, not both.");
	return emails || ids
		       ? 0
		       : problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `emails` field.");
}

static json_t *render_item(const void *item)
{
	const struct suppression *one = item;

	return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:s, s:s?, s:s?}", "id", one->id, "email",
		one->address, "origin", one->origin, "source_id",
		*one->email_id ? one->email_id : NULL, "created_at", row_json_time(one->created_us),
		"reason", store_suppression_reason_name(one->reason), "domain",
		*one->domain ? one->domain : NULL, "message", one->text);
}

static json_t *render_whole(const struct op *op)
{
	json_t *object = render_item(op->result.rows.items);

	json_object_set_new(object, "object", json_string("suppression"));
	return object;
}

static json_t *render_all_added(const struct op *op)
{
	json_t *data = json_array();

	for (size_t i = 0; i < op->result.rows.n; i++)
		json_array_append_new(data, manage_render_item_id(op, i, false));
	return json_pack("{s:o}", "data", data);
}

static json_t *render_all_removed(const struct op *op)
{
	json_t *data = json_array();

	for (size_t i = 0; i < op->result.rows.n; i++)
		json_array_append_new(data, manage_render_item_id(op, i, true));
	return json_pack("{s:o}", "data", data);
}

/* Has `origin`, unlike other lists. */
void api_suppression_list(struct request *request)
{
	static const char *const names[] = {"limit", "after", "before", "origin", NULL};
	struct problem problem = PROBLEM_INIT;
	struct op_suppression input = {0};
	json_t *answer = NULL;
	struct err err = ERR_INIT;
	struct json_query query;
	struct op op;
	int found;

	operate_init(request, &op);
	if (json_query_read_text(request_query(request), names, &query, &problem) == 0 &&
		json_query_page(&query, &op.page, &problem) == 0) {
		input.origin = json_query_get(&query, "origin");
		found = op_suppression_list.run(&op, &input, &err);
		if (manage_list_check(request, found, &op, &err, &problem) == 0)
			answer = manage_list_render(&op, render_item);
		op_clear(&op);
	}
	reply_either(request, &problem, 200, answer);
}

#define MISSING "Suppression not found"

const struct manage api_suppression_add = {
	parse_new, manage_render_id, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
const struct manage api_suppression_add_all = {
	parse_emails, render_all_added, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
const struct manage api_suppression_get = {
	NULL, render_whole, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
const struct manage api_suppression_remove = {
	NULL, manage_render_removed, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
const struct manage api_suppression_remove_all = {
	parse_removed, render_all_removed, NULL, MISSING, PROBLEM_RESTRICTED_KEY};
