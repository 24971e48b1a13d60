/* describe: the tables of routes and schemas are sound, and what is printed of
 * them is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/describe/describe.h"
#include "httpd/describe/openapi.h"
#include "httpd/routes.h"
#include "tools/markdown.h"

static void check_fields(const struct field_about *fields)
{
	for (const struct field_about *f = fields; f && f->name; f++) {
		bool has_schema = f->shape == SHAPE_OBJECT ||
				  f->shape == SHAPE_OBJECTS;
		json_t *shape = describe_shape(f);

		assert_true(json_is_object(shape));
		json_decref(shape);
		assert_int_equal(f->values != NULL, f->shape == SHAPE_ONE_OF);
		assert_int_equal(f->schema != NULL, has_schema);
	}
}

static void check_schema(const struct schema_about *schema)
{
	const struct field_about *a, *b;

	check_fields(schema->fields);
	if (schema->base)
		check_fields(schema->base->fields);
	for (size_t i = 0; (a = describe_field(schema, i)) != NULL; i++)
		for (size_t k = 0; k < i; k++) {
			b = describe_field(schema, k);
			assert_string_not_equal(a->name, b->name);
		}
}

static bool is_json(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	json_decref(value);
	return value != NULL;
}

static void check_examples(const struct route *route)
{
	const struct route_about *about = route->about;

	assert_int_equal(about->example != NULL, about->request != NULL);
	assert_int_equal(about->example_param != NULL, about->param != NULL);
	if (about->example && route->body == BODY_JSON)
		assert_true(is_json(about->example));
	if (about->example_answer)
		assert_true(is_json(about->example_answer));
	/* It stands in single quotes. */
	if (about->example && route->body == BODY_JSON)
		assert_null(strchr(about->example, '\''));
}

static void test_routes(void **state)
{
	(void)state;
	for (const struct route *route = routes; route->method; route++) {
		const struct route_about *about = route->about;

		if (about == NULL)
			fail_msg("%s %s has no row in httpd/describe",
				route->method, route->pattern);
		assert_true(about->status == 200 || about->status == 201);
		assert_non_null(about->answer);
		assert_int_equal(about->param != NULL,
			strstr(route->pattern, "{}") != NULL);
		assert_int_equal(
			about->request != NULL, route->body != BODY_IGNORED);
		check_fields(about->query);
		check_fields(about->headers);
		check_examples(route);
		for (const struct route *other = routes; other < route; other++)
			assert_ptr_not_equal(other->about, about);
	}
}

static void test_schemas(void **state)
{
	struct schema_set set;

	(void)state;
	describe_schemas(routes, &set);
	assert_true(set.n > 5);
	for (size_t i = 0; i < set.n; i++) {
		assert_true(strlen(set.items[i]->help) > 5);
		check_schema(set.items[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(
				set.items[i]->name, set.items[k]->name);
	}
}

static bool has(const enum problem_kind *kinds, enum problem_kind kind)
{
	while (*kinds != PROBLEM_NONE && *kinds != kind)
		kinds++;
	return *kinds == kind;
}

/* What follows from the columns, and what is said by hand. */
static void test_problems(void **state)
{
	static const struct {
		const char *name;
		enum problem_kind kind;
		bool has;
	} cases[] = {
		{"sendEmail", PROBLEM_RESTRICTED_KEY, true},
		{"sendEmail", PROBLEM_MEDIA_TYPE, true},
		{"sendEmail", PROBLEM_ATTACHMENT, true},
		{"sendEmail", PROBLEM_RATE, true},
		{"sendEmail", PROBLEM_NOT_FOUND, false},
		{"sendEmail", PROBLEM_CONCURRENT, true},
		{"sendBatch", PROBLEM_OTHER_PAYLOAD, true},
		{"sendForm", PROBLEM_IDEMPOTENCY_KEY, false},
		{"getEmail", PROBLEM_NOT_FOUND, true},
		{"getEmail", PROBLEM_RESTRICTED_KEY, false},
		{"getEmail", PROBLEM_MEDIA_TYPE, false},
		{"sendForm", PROBLEM_NOT_FOUND, true},
		{"getOpenapi", PROBLEM_MISSING_KEY, false},
		{"getOpenapi", PROBLEM_INTERNAL, true},
	};
	size_t met = 0;

	(void)state;
	for (const struct route *route = routes; route->method; route++)
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			enum problem_kind kinds[PROBLEM_KINDS];

			if (!str_eq(route->about->name, cases[k].name))
				continue;
			describe_problems(route, kinds);
			assert_int_equal(has(kinds, cases[k].kind), cases[k].has);
			met++;
		}
	assert_int_equal(met, ARRAY_SIZE(cases));
}

/* Each status that a problem can have is explained. */
static void test_reasons(void **state)
{
	(void)state;
	for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_KINDS; kind++)
		assert_non_null(describe_reason(
			problem_status(&(struct problem){.kind = kind})));
	assert_null(describe_reason(200));
	assert_null(describe_reason(418));
}

/* Every route stands in both documents. */
static void test_documents(void **state)
{
	json_t *document = openapi_document(routes), *paths;
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	assert_true(markdown_section("json", routes, &text));
	assert_true(markdown_section("form", routes, &text));
	assert_true(markdown_section("objects", routes, &text));
	assert_true(markdown_section("errors", routes, &text));
	assert_false(markdown_section("nonsense", routes, &text));
	paths = json_object_get(document, "paths");
	for (const struct route *route = routes; route->method; route++) {
		_cleanup_buf_ struct buf path = BUF_INIT;
		_cleanup_free_ char *heading = NULL;

		describe_path(route, &path);
		assert_non_null(json_object_get(paths, buf_str(&path)));
		heading = mem_printf(
			"### %s %s\n", route->method, buf_str(&path));
		assert_non_null(strstr(buf_str(&text), heading));
	}
	json_decref(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_schemas),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
