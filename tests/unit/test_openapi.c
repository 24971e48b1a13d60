/* openapi: httpd/openapi.json and the tables of routes and problems say the
 * same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/store/company/store_key.h"
#include "httpd/admission/dialect.h"
#include "httpd/routes.h"
#include "tests/unit/openapi_routes.h"

static int read_document(void **state)
{
	*state = json_loads(routes_openapi, 0, NULL);
	return *state ? 0 : -1;
}

static int free_document(void **state)
{
	json_decref(*state);
	return 0;
}

/* What a value is or refers to. */
static json_t *resolve(json_t *document, json_t *value)
{
	const char *ref = json_string_value(json_object_get(value, "$ref"));
	_cleanup_free_ char *path = ref ? mem_strdup(ref) : NULL;
	char *rest = path;

	if (path == NULL)
		return value;
	assert_string_equal(strsep(&rest, "/"), "#");
	for (value = document; rest;)
		value = json_object_get(value, strsep(&rest, "/"));
	assert_non_null(value);
	return value;
}

static json_t *get(json_t *document, json_t *object, const char *key)
{
	return resolve(document, json_object_get(object, key));
}

/* The member of an object at the end of a path of keys. */
static json_t *find(json_t *document, json_t *object, const char *const *keys)
{
	for (; object && *keys; keys++)
		object = get(document, object, *keys);
	return object;
}
#define FIND(document, object, ...) find(document, object, (const char *const[]){__VA_ARGS__, NULL})

static bool has_string(json_t *array, const char *text)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
		if (str_eq(json_string_value(value), text))
			return true;
	return false;
}

static void check_security(const struct route *route, json_t *operation)
{
	static const struct {
		unsigned scope;
		const char *name;
	} scopes[] = {
		{KEY_SENDING, "sending"},
		{KEY_READING, "reading"},
		{KEY_MANAGING, "managing"},
	};
	static const char *const schemes[] = {[AUTH_BEARER] = "bearer", [AUTH_BASIC] = "basic"};
	json_t *needed = json_object_get(operation, "security"), *named;
	size_t n = 0;

	assert_int_equal(json_array_size(needed), route->auth != AUTH_NONE);
	if (route->auth == AUTH_NONE)
		return;
	named = json_object_get(json_array_get(needed, 0), schemes[route->auth]);
	assert_non_null(named);
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (route->scopes != KEY_ALL && route->scopes & scopes[i].scope) {
			assert_true(has_string(named, scopes[i].name));
			n++;
		}
	assert_int_equal(json_array_size(named), n);
}

static void check_body(json_t *document, const struct route *route, json_t *operation)
{
	static const char *const types[] = {[BODY_JSON] = "application/json",
		[BODY_JSON_SMALL] = "application/json",
		[BODY_FORM] = "multipart/form-data",
		[BODY_FORM_SMALL] = "multipart/form-data"};
	json_t *content = FIND(document, operation, "requestBody", "content");

	assert_int_equal(content != NULL, route->body != BODY_IGNORED);
	if (content)
		assert_non_null(json_object_get(content, types[route->body]));
}

static void check_parameters(json_t *document, const struct route *route, json_t *operation)
{
	bool idempotent = false, path = false;
	json_t *parameter;
	size_t i;

	json_array_foreach(json_object_get(operation, "parameters"), i, parameter) {
		json_t *found = resolve(document, parameter);
		const char *name = json_string_value(json_object_get(found, "name"));

		path |= str_eq(json_string_value(json_object_get(found, "in")), "path");
		idempotent |= str_eq(name, "Idempotency-Key");
	}
	assert_int_equal(idempotent, route->idempotent);
	assert_int_equal(path, strstr(route->pattern, "{}") != NULL);
}

static void check_route(json_t *document, const struct route *route, json_t *operation)
{
	check_security(route, operation);
	check_body(document, route, operation);
	check_parameters(document, route, operation);
}

static void test_routes(void **state)
{
	openapi_for_routes(*state, routes, check_route);
}

/* The names that errors of the status may have. */
static json_t *names_of_status(json_t *document, int status)
{
	json_t *row;
	size_t i;

	json_array_foreach(
		FIND(document, document, "components", "schemas", "Error", "oneOf"), i, row)
		if (json_integer_value(FIND(document, row, "properties", "statusCode", "const")) ==
			status)
			return FIND(document, row, "properties", "name", "enum");
	return NULL;
}

/* Whether the operation may answer with the problem. */
static bool tells(
	json_t *document, const struct route *route, json_t *operation, enum problem_kind kind)
{
	struct problem problem = {.kind = kind};
	int status = dialect_status(route, problem_status(&problem));
	_cleanup_free_ char *key = mem_printf("%d", status);
	json_t *response = FIND(document, operation, "responses", key);
	json_t *schema = json_object_get(
		FIND(document, response, "content", "application/json"), "schema");
	json_t *names = FIND(document, schema, "properties", "name", "enum");

	if (response == NULL || route->dialect == DIALECT_FORM)
		return response != NULL;
	if (schema == NULL) /* it is no problem */
		return false;
	assert_int_equal(
		json_integer_value(FIND(document, schema, "properties", "statusCode", "const")),
		status);
	return has_string(
		names ? names : names_of_status(document, status), problem_name(&problem));
}

/* The problems that follow from the columns of a route's row. */
static void check_problems(json_t *document, const struct route *route, json_t *operation)
{
	bool key = route->auth != AUTH_NONE;
	bool body = route->body != BODY_IGNORED;
	const struct {
		enum problem_kind kind;
		bool told;
	} rows[] = {
		{PROBLEM_INTERNAL, true},
		{PROBLEM_TOO_LARGE, true},
		{PROBLEM_MISSING_KEY, key},
		{PROBLEM_INVALID_KEY, key},
		{PROBLEM_RATE, key},
		/* What reads or writes the store may have to wait too long. */
		{PROBLEM_UNAVAILABLE, key || route->pooled || !str_eq(route->method, "GET")},
		{PROBLEM_RESTRICTED_KEY, key && route->scopes != KEY_ALL},
		{PROBLEM_IDEMPOTENCY_KEY, route->idempotent},
		{PROBLEM_OTHER_PAYLOAD, route->idempotent},
		{PROBLEM_CONCURRENT, route->idempotent},
		{PROBLEM_BAD_REQUEST, body},
		{PROBLEM_MEDIA_TYPE, body},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* One status for both in the form dialect, and for parameters
		 * of the query. */
		if (route->dialect == DIALECT_FORM && (rows[i].kind == PROBLEM_IDEMPOTENCY_KEY ||
							      rows[i].kind == PROBLEM_BAD_REQUEST))
			continue;
		if (tells(document, route, operation, rows[i].kind) != rows[i].told)
			fail_msg("%s %s: problem %d", route->method, route->pattern, rows[i].kind);
	}
	if (body)
		assert_true(tells(document, route, operation, PROBLEM_VALIDATION));
	if (route->names_domain) {
		assert_true(tells(document, route, operation, PROBLEM_DOMAIN));
		assert_true(tells(document, route, operation, PROBLEM_NOT_FOUND));
	}
}

static void test_problems_by_columns(void **state)
{
	openapi_for_routes(*state, routes, check_problems);
}

/* Those that only the handlers know. */
static void test_problems(void **state)
{
	static const struct {
		const char *method, *pattern;
		enum problem_kind kind;
		bool told;
	} rows[] = {
		{"POST", "/emails", PROBLEM_ATTACHMENT, true},
		{"POST", "/emails", PROBLEM_DOMAIN, true},
		{"POST", "/emails", PROBLEM_MISSING_FIELD, true},
		{"POST", "/emails", PROBLEM_NOT_FOUND, false},
		{"POST", "/emails", PROBLEM_PARAMETER, false},
		{"POST", "/emails/batch", PROBLEM_ATTACHMENT, true},
		{"GET", "/emails", PROBLEM_PARAMETER, true},
		{"GET", "/emails/{}", PROBLEM_NOT_FOUND, true},
		{"POST", "/domains", PROBLEM_REGION, true},
		{"PATCH", "/domains/{}", PROBLEM_REGION, false},
		{"DELETE", "/domains/{}", PROBLEM_DOMAIN, true},
		{"GET", "/domains/{}", PROBLEM_DOMAIN, false},
		{"PATCH", "/api-keys/{}", PROBLEM_MISSING_FIELD, true},
		{"POST", "/api-keys", PROBLEM_MISSING_FIELD, false},
	};
	json_t *item, *operation;
	const char *path, *method;
	size_t met = 0;

	json_object_foreach(json_object_get(*state, "paths"), path, item)
		json_object_foreach(item, method, operation)
			for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
				const struct route route = {
					.method = rows[i].method,
					.pattern = rows[i].pattern,
				};

				if (!openapi_is_operation(&route, path, method))
					continue;
				assert_int_equal(tells(*state, &route, operation, rows[i].kind),
					rows[i].told);
				met++;
			}
	assert_int_equal(met, ARRAY_SIZE(rows));
}

/* The schema Error lists the statuses, and of each the names, that the table
 * of problems has, and no other. */
static void test_errors(void **state)
{
	json_t *row, *name;
	size_t i, k;

	for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_LOGIN; kind++) {
		struct problem problem = {.kind = (enum problem_kind)kind};

		assert_true(has_string(
			names_of_status(*state, problem_status(&problem)), problem_name(&problem)));
	}
	json_array_foreach(
		FIND(*state, *state, "components", "schemas", "Error", "oneOf"), i, row) {
		json_int_t status = json_integer_value(
			FIND(*state, row, "properties", "statusCode", "const"));

		json_array_foreach(FIND(*state, row, "properties", "name", "enum"), k, name) {
			int kind = PROBLEM_NONE + 1;

			for (; kind < PROBLEM_LOGIN; kind++) {
				struct problem problem = {.kind = (enum problem_kind)kind};

				if (problem_status(&problem) == status &&
					str_eq(problem_name(&problem), json_string_value(name)))
					break;
			}
			assert_int_not_equal(kind, PROBLEM_LOGIN);
		}
	}
}

static void test_version(void **state)
{
	assert_string_equal(
		json_string_value(FIND(*state, *state, "info", "version")), POSTERN_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_problems_by_columns),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests_name("openapi", tests, read_document, free_document);
}
