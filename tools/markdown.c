/*
 * markdown: prints the tables as sections of doc/HTTP-API.md.
 *
 * Threads: any; holds no state.
 */
#include "tools/markdown.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_key.h"
#include "httpd/describe/describe.h"

/* A link to the schema's heading, which counts in lower case. */
static void add_link(const struct schema_about *schema, struct buf *out)
{
	buf_printf(out, "[%s](#", schema->name);
	for (const char *c = schema->name; *c; c++)
		buf_add_char(
			out, *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c);
	buf_add_char(out, ')');
}

/* A single value stands for itself. */
static void add_values(const char *const *values, struct buf *out)
{
	if (values[1])
		buf_add_str(out, "one of ");
	for (size_t i = 0; values[i]; i++)
		buf_printf(out, "%s`%s`", i ? ", " : "", values[i]);
}

static void add_shape(const struct field_about *field, struct buf *out)
{
	if (field->shape == SHAPE_ONE_OF) {
		add_values(field->values, out);
		return;
	}
	buf_add_str(out, describe_shape_words(field));
	if (field->schema) {
		buf_add_char(out, ' ');
		add_link(field->schema, out);
	}
}

static void begin_table(const char *what, struct buf *out)
{
	buf_printf(out, "| %s | | |\n|---|---|---|\n", what);
}

static void add_field(const struct field_about *field, struct buf *out)
{
	buf_printf(out, "| `%s` | ", field->name);
	add_shape(field, out);
	buf_printf(out, "%s | %s |\n", field->required ? ", required" : "",
		field->help ? field->help : "");
}

static void add_parameters(
	const char *what, const struct field_about *fields, struct buf *out)
{
	if (fields == NULL)
		return;
	begin_table(what, out);
	for (; fields->name; fields++)
		add_field(fields, out);
	buf_add_char(out, '\n');
}

static void add_fields(
	const char *what, const struct schema_about *schema, struct buf *out)
{
	const struct field_about *field;

	begin_table(what, out);
	for (size_t i = 0; (field = describe_field(schema, i)) != NULL; i++)
		add_field(field, out);
	buf_add_char(out, '\n');
}

static void add_json(const char *text, struct buf *out)
{
	json_t *value = json_loads(text, 0, NULL);
	_cleanup_free_ char *pretty = json_dumps(value, JSON_INDENT(2));

	json_decref(value);
	buf_add_str(out, pretty);
}

/* The options of a form, each on a line of its own. */
static void add_options(const char *options, struct buf *out)
{
	buf_add_str(out, " \\\n  ");
	for (; *options; options++)
		if (*options == '\n')
			buf_add_str(out, " \\\n  ");
		else
			buf_add_char(out, *options);
}

static void add_body(const struct route *route, struct buf *out)
{
	const char *example = route->about->example;

	if (example == NULL)
		return;
	if (route->body == BODY_FORM) {
		add_options(example, out);
		return;
	}
	buf_add_str(
		out, " \\\n  -H 'Content-Type: application/json' \\\n  -d '");
	add_json(example, out);
	buf_add_char(out, '\'');
}

static void add_url(const struct route *route, struct buf *out)
{
	const char *hole = strstr(route->pattern, "{}");
	int before = hole ? (int)(hole - route->pattern) : 0;

	if (hole)
		buf_printf(out, "\"$POSTERN_URL%.*s%s%s\"", before,
			route->pattern, route->about->example_param, hole + 2);
	else
		buf_printf(out, "\"$POSTERN_URL%s\"", route->pattern);
}

static void add_curl(const struct route *route, struct buf *out)
{
	static const char *const keys[] = {
		[AUTH_NONE] = "",
		[AUTH_BEARER] =
			" \\\n  -H \"Authorization: Bearer $POSTERN_KEY\"",
		[AUTH_BASIC] = " \\\n  -u \"api:$POSTERN_KEY\"",
	};
	bool has_body = route->about->example != NULL;

	buf_add_str(out, "```sh\ncurl ");
	if (!str_eq(route->method, has_body ? "POST" : "GET"))
		buf_printf(out, "-X %s ", route->method);
	add_url(route, out);
	buf_add_str(out, keys[route->auth]);
	add_body(route, out);
	buf_add_str(out, "\n```\n\n");
}

static void add_scopes(const struct route *route, struct buf *out)
{
	static const struct {
		unsigned scopes;
		const char *text;
	} words[] = {
		{KEY_SENDING, "The key needs the scope `sending`."},
		{KEY_READING, "The key needs the scope `reading`."},
		{KEY_MANAGING, "The key needs the scope `managing`."},
		{KEY_ALL, "The key may have any scope."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (route->auth != AUTH_NONE && words[i].scopes == route->scopes)
			buf_printf(out, " %s", words[i].text);
}

static void add_answer(const struct route *route, struct buf *out)
{
	const struct route_about *about = route->about;

	buf_printf(out, "Answers %d", about->status);
	if (describe_field(about->answer, 0)) {
		buf_add_str(out, about->answer->is_array ? " and an array of "
							 : " and ");
		add_link(about->answer, out);
	}
	if (about->example_answer == NULL) {
		buf_add_str(out, ".\n\n");
		return;
	}
	buf_add_str(out, ":\n\n```json\n");
	add_json(about->example_answer, out);
	buf_add_str(out, "\n```\n\n");
}

/* Of one status all names; the form dialect has none. */
static void add_names(const struct route *route, const enum problem_kind *kinds,
	int status, struct buf *out)
{
	const char *before = " ";

	buf_printf(out, "%d", status);
	if (route->dialect == DIALECT_FORM)
		return;
	for (; *kinds != PROBLEM_NONE; kinds++) {
		const struct problem problem = {.kind = *kinds};

		if (problem_status(&problem) != status)
			continue;
		buf_printf(out, "%s`%s`", before, problem_name(&problem));
		before = ", ";
	}
}

static void add_problems(const struct route *route, struct buf *out)
{
	enum problem_kind kinds[PROBLEM_KINDS];
	const char *before = "Errors: ";

	describe_problems(route, kinds);
	for (int status = 400; status < 600; status++) {
		const enum problem_kind *kind = kinds;

		while (*kind != PROBLEM_NONE &&
			describe_status(route, *kind) != status)
			kind++;
		if (*kind == PROBLEM_NONE)
			continue;
		buf_add_str(out, before);
		add_names(route, kinds, status, out);
		before = "; ";
	}
	buf_add_str(out, ".\n\n");
}

static void add_route(const struct route *route, struct buf *out)
{
	const struct route_about *about = route->about;

	buf_printf(out, "### %s ", route->method);
	describe_path(route, out);
	buf_printf(out, "\n\n%s. %s", about->summary, about->text);
	add_scopes(route, out);
	buf_add_str(out, "\n\n");
	add_curl(route, out);
	add_parameters("in the query", about->query, out);
	add_parameters("in the header", about->headers, out);
	if (about->request) {
		buf_printf(out, "%s\n\n", about->request->help);
		add_fields("in the body", about->request, out);
	}
	add_answer(route, out);
	add_problems(route, out);
}

static void add_routes(
	const struct route *routes, enum route_dialect dialect, struct buf *out)
{
	for (const struct route *route = routes; route->method; route++)
		if (route->dialect == dialect)
			add_route(route, out);
}

static void add_json_routes(const struct route *routes, struct buf *out)
{
	add_routes(routes, DIALECT_JSON, out);
}

static void add_form_routes(const struct route *routes, struct buf *out)
{
	add_routes(routes, DIALECT_FORM, out);
}

static bool is_request(
	const struct route *routes, const struct schema_about *schema)
{
	for (const struct route *route = routes; route->method; route++)
		if (route->about->request == schema)
			return true;
	return false;
}

static void add_objects(const struct route *routes, struct buf *out)
{
	struct schema_set set;

	describe_schemas(routes, &set);
	for (size_t i = 0; i < set.n; i++) {
		const struct schema_about *schema = set.items[i];

		if (is_request(routes, schema) ||
			describe_field(schema, 0) == NULL)
			continue;
		buf_printf(out, "### %s\n\n%s\n\n", schema->name, schema->help);
		add_fields("field", schema, out);
	}
}

/* Each name once. */
static void add_error_names(int status, struct buf *out)
{
	const char *last = "", *before = " ";

	for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_KINDS; kind++) {
		const struct problem problem = {.kind = (enum problem_kind)kind};

		if (problem_status(&problem) != status ||
			str_eq(problem_name(&problem), last))
			continue;
		last = problem_name(&problem);
		buf_printf(out, "%s`%s`", before, last);
		before = ", ";
	}
}

static void add_errors(const struct route *routes, struct buf *out)
{
	(void)routes;
	buf_add_str(out, "| status | name | |\n|---|---|---|\n");
	for (int status = 400; status < 600; status++) {
		const char *reason = describe_reason(status);

		if (reason == NULL)
			continue;
		buf_printf(out, "| %d |", status);
		add_error_names(status, out);
		buf_printf(out, " | %s |\n", reason);
	}
	buf_add_char(out, '\n');
}

static const struct {
	const char *name;
	void (*add)(const struct route *routes, struct buf *out);
} sections[] = {
	{"json", add_json_routes},
	{"form", add_form_routes},
	{"objects", add_objects},
	{"errors", add_errors},
};

bool markdown_section(
	const char *name, const struct route *routes, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (!str_eq(sections[i].name, name))
			continue;
		sections[i].add(routes, out);
		return true;
	}
	return false;
}
