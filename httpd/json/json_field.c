/*
 * json_field: reads typed fields of a JSON request.
 *
 * Threads: any; json_field_parse_request() for the one that has the request.
 */
#include "httpd/json/json_field.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/mime/mime_header.h"
#include "httpd/admission/json_text.h"
#include "httpd/admission/request.h"
#include "httpd/json/json_long.h"

/* Parses a whole body, which must be of the type: an object or an array. */
static int parse_root(
	const char *body, size_t len, json_type type, json_t **root_r, struct problem *problem)
{
	const char *name = type == JSON_OBJECT ? "object" : "array";
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
	const size_t mark = json_text_mark(body, len);
	json_error_t error;
	json_t *root = json_long_load(body + mark, len - mark, JSON_LONG_MIN, flags, &error);

	/* An integer of more than 64 bits, in a field that is ignored as a rule. No field takes a
	 * real, so none is read inexactly. */
	if (root == NULL && json_error_code(&error) == json_error_numeric_overflow)
		root = json_long_load(body + mark, len - mark, JSON_LONG_MIN,
			flags | JSON_DECODE_INT_AS_REAL, &error);
	if (root == NULL && len == mark)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"The request body is empty; a JSON %s is expected.", name);
	if (root == NULL)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"The request body is not valid JSON: %s (line %d, column %d).", error.text,
			error.line, error.column);
	if (json_typeof(root) != type) {
		json_decref(root);
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `request.body` field must be an `%s`.", name);
	}
	*root_r = root;
	return 0;
}

int json_field_parse(const char *body, size_t len, json_t **object_r, struct problem *problem)
{
	return parse_root(body, len, JSON_OBJECT, object_r, problem);
}

int json_field_parse_array(const char *body, size_t len, json_t **array_r, struct problem *problem)
{
	return parse_root(body, len, JSON_ARRAY, array_r, problem);
}

int json_field_parse_request(struct request *request, json_t **object_r, struct problem *problem)
{
	size_t len;
	const char *body = request_body(request, &len);

	if (admission_reserve_body(
		    request->worker, &request->admission, json_text_cost(body, len), problem) < 0)
		return -1;
	return json_field_parse(body, len, object_r, problem);
}

json_t *json_field_get(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (value == NULL || json_is_null(value))
		return NULL;
	if (json_is_string(value) && json_string_length(value) == 0)
		return NULL;
	if (json_is_array(value) && json_array_size(value) == 0)
		return NULL;
	if (json_is_object(value) && json_object_size(value) == 0)
		return NULL;
	return value;
}

static int check_string(const json_t *value, const char *path, struct problem *problem)
{
	if (!json_is_string(value))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must be a string.", problem->prefix, path);
	if (strlen(json_string_value(value)) != json_string_length(value))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must not contain a NUL character.", problem->prefix,
			path);
	return 0;
}

static int check_line(const char *value, const char *path, struct problem *problem)
{
	if (!mime_header_value_valid(value))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must not contain line breaks or other control "
			"characters.",
			problem->prefix, path);
	return 0;
}

int json_field_check_line(const json_t *value, const char *path, struct problem *problem)
{
	if (check_string(value, path, problem) < 0)
		return -1;
	return check_line(json_string_value(value), path, problem);
}

char *json_field_unfolded(const json_t *value, const char *path, struct problem *problem)
{
	_cleanup_free_ char *line = NULL;

	if (check_string(value, path, problem) < 0)
		return NULL;
	line = mem_strdup(json_string_value(value));
	mime_header_unfold(line);
	if (check_line(line, path, problem) < 0)
		return NULL;
	return TAKE_PTR(line);
}

int json_field_text(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem)
{
	const json_t *value = json_field_get(object, name);

	*value_r = NULL;
	if (value == NULL)
		return 0;
	if (check_string(value, path, problem) < 0)
		return -1;
	*value_r = json_string_value(value);
	return 0;
}

int json_field_line(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem)
{
	const json_t *value = json_field_get(object, name);

	if (value && json_field_check_line(value, path, problem) < 0)
		return -1;
	*value_r = value ? json_string_value(value) : NULL;
	return 0;
}

int json_field_strings(
	const json_t *object, const char *name, struct strv *list, struct problem *problem)
{
	const json_t *value = json_field_get(object, name), *item;
	size_t i;

	if (value == NULL)
		return 0;
	if (json_is_string(value)) {
		if (json_field_check_line(value, name, problem) < 0)
			return -1;
		strv_add(list, json_string_value(value));
		return 0;
	}
	if (!json_is_array(value))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must be a string or an array of strings.",
			problem->prefix, name);
	json_array_foreach(value, i, item) {
		_cleanup_free_ char *path = mem_printf("%s[%zu]", name, i);

		if (json_field_check_line(item, path, problem) < 0)
			return -1;
		strv_add(list, json_string_value(item));
	}
	return 0;
}
