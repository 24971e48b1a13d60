/*
 * openapi_responses: what a route answers, when all goes well and when not.
 *
 * Threads: any; holds no state.
 */
#include <stdio.h>

#include "core/base/mem.h"
#include "httpd/describe/describe.h"
#include "httpd/describe/openapi_private.h"

/* What HTTP itself may answer to any request. */
static const char http_problems[] =
	"What is wrong with the request as HTTP: 400, 408, 417, 431, 501 or "
	"505.";

static json_t *headers_of(const struct route *route, int status)
{
	json_t *headers = json_object();

	json_object_set_new(headers, "X-Request-Id",
		openapi_ref("headers", "X-Request-Id"));
	if (route->auth != AUTH_NONE && status != 401) {
		static const char *const names[] = {"RateLimit-Limit",
			"RateLimit-Remaining", "RateLimit-Reset"};

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			json_object_set_new(headers, names[i],
				openapi_ref("headers", names[i]));
	}
	if (status == 429 || status == 503)
		json_object_set_new(headers, "Retry-After",
			openapi_ref("headers", "Retry-After"));
	return headers;
}

static json_t *success(const struct route *route)
{
	const struct route_about *about = route->about;
	json_t *media = openapi_content("application/json",
		openapi_ref("schemas", about->answer->name));
	json_t *example = about->example_answer
				  ? json_loads(about->example_answer, 0, NULL)
				  : NULL;

	if (example)
		json_object_set_new(json_object_get(media, "application/json"),
			"example", example);
	return json_pack("{s:s, s:o, s:o}", "description", about->answer->help,
		"headers", headers_of(route, about->status), "content", media);
}

/* The problems of a status, by their names. */
static json_t *names_of(
	const struct route *route, const enum problem_kind *kinds, int status)
{
	json_t *names = json_array();

	for (; *kinds != PROBLEM_NONE; kinds++)
		if (describe_status(route, *kinds) == status)
			json_array_append_new(names,
				json_string(problem_name(
					&(struct problem){.kind = *kinds})));
	return names;
}

/* What cannot be read as HTTP has no route, and so no dialect but JSON. */
static json_t *any_error(const struct route *route)
{
	json_t *error = openapi_ref("schemas", about_error.name);

	if (route->dialect == DIALECT_JSON)
		return error;
	return json_pack("{s:[o, o]}", "anyOf",
		openapi_ref("schemas", about_form_error.name), error);
}

static json_t *error_schema(int status, json_t *names)
{
	return json_pack("{s:[o, {s:{s:{s:i}, s:{s:o}}}]}", "allOf",
		openapi_ref("schemas", about_error.name), "properties",
		"statusCode", "const", status, "name", "enum", names);
}

static json_t *error_content(
	const struct route *route, const enum problem_kind *kinds, int status)
{
	if (route->dialect == DIALECT_JSON)
		return openapi_content("application/json",
			error_schema(status, names_of(route, kinds, status)));
	if (status == 401)
		return openapi_content(
			"text/plain", json_pack("{s:s}", "type", "string"));
	return openapi_content("application/json",
		status == 400 ? any_error(route)
			      : openapi_ref("schemas", about_form_error.name));
}

static void add_problem(json_t *responses, const struct route *route,
	const enum problem_kind *kinds, int status)
{
	char key[8];

	snprintf(key, sizeof(key), "%d", status);
	json_object_set_new(responses, key,
		json_pack("{s:s, s:o, s:o}", "description",
			describe_reason(status), "headers",
			headers_of(route, status), "content",
			error_content(route, kinds, status)));
}

json_t *openapi_responses(const struct route *route)
{
	enum problem_kind kinds[PROBLEM_KINDS];
	json_t *all = json_object();
	char key[8];

	snprintf(key, sizeof(key), "%d", route->about->status);
	json_object_set_new(all, key, success(route));
	describe_problems(route, kinds);
	for (const enum problem_kind *kind = kinds; *kind; kind++)
		add_problem(all, route, kinds, describe_status(route, *kind));
	json_object_set_new(all, "default",
		json_pack("{s:s, s:o}", "description", http_problems, "content",
			openapi_content("application/json", any_error(route))));
	return all;
}
