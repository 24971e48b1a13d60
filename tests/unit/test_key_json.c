/* key_json: what clients want of a new key, and how a key is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/ops/op_key.h"
#include "httpd/json/api_json.h"

#define ID    "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
#define TEN   "\u00e4123456789"
#define FIFTY TEN TEN TEN TEN TEN

static const struct {
	const char *body;
	struct op_key wanted;
} good[] = {
	{"{}", {.name = "", .scopes = "sending,reading,managing"}},
	{"{\"name\":\"\",\"permission\":null}", {.name = "", .scopes = "sending,reading,managing"}},
	{"{\"name\":\"x\",\"permission\":\"full_access\"}",
		{.name = "x", .scopes = "sending,reading,managing"}},
	{"{\"name\":\"" FIFTY "\",\"permission\":\"sending_access\"}",
		{.name = FIFTY, .scopes = "sending"}},
	{"{\"domain_id\":\"" ID "\",\"other\":[]}",
		{.name = "", .scopes = "sending,reading,managing", .domain_id = ID}},
};

/* The body is *body_r, which has the strings. */
static int parse(const char *text, json_t **body_r, struct op_key *wanted, struct problem *problem)
{
	*body_r = json_loads(text, 0, NULL);
	assert_non_null(*body_r);
	*wanted = (struct op_key){0};
	return key_json_parse(*body_r, wanted, problem);
}

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct problem problem = PROBLEM_INIT;
		struct op_key wanted;
		json_t *body;

		if (parse(good[i].body, &body, &wanted, &problem) < 0)
			fail_msg("%s: %s", good[i].body, problem.text);
		assert_string_equal(wanted.name, good[i].wanted.name);
		assert_string_equal(wanted.scopes, good[i].wanted.scopes);
		assert_int_equal(wanted.domain_id != NULL, good[i].wanted.domain_id != NULL);
		if (wanted.domain_id)
			assert_string_equal(wanted.domain_id, good[i].wanted.domain_id);
		json_decref(body);
	}
}

static const struct {
	const char *body;
	const char *text;
} bad[] = {
	{"{\"name\":5}", "`name` field must be a string"},
	{"{\"name\":\"" FIFTY "x\"}", "`name` field must not be longer than 50 characters"},
	{"{\"name\":\"a\\nb\"}", "`name` field must not contain line breaks"},
	{"{\"permission\":\"all\"}", "`permission` field must be"},
	{"{\"permission\":[\"full_access\"]}", "`permission`"},
	{"{\"domain_id\":\"x\"}", "`domain_id` field must be a valid UUID"},
	{"{\"domain_id\":5}", "`domain_id` field must be a string"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct problem problem = PROBLEM_INIT;
		struct op_key wanted;
		json_t *body;

		if (parse(bad[i].body, &body, &wanted, &problem) == 0)
			fail_msg("taken: %s", bad[i].body);
		assert_int_equal(problem_status(&problem), 422);
		assert_string_equal(problem_name(&problem), "validation_error");
		if (strstr(problem.text, bad[i].text) == NULL)
			fail_msg("%s: %s", bad[i].body, problem.text);
		json_decref(body);
	}
}

/* A new name: like that of a new key, but it must be given. */
static const struct {
	const char *body;
	const char *name; /* NULL: refused */
	const char *problem;
} names[] = {
	{"{\"name\":\"x\"}", "x", NULL},
	{"{\"name\":\"\"}", "", NULL},
	{"{\"name\":\"" FIFTY "\",\"other\":1}", FIFTY, NULL},
	{"{}", NULL, "missing_required_field"},
	{"{\"name\":null}", NULL, "missing_required_field"},
	{"{\"name\":\"" FIFTY "x\"}", NULL, "validation_error"},
	{"{\"name\":[\"x\"]}", NULL, "validation_error"},
	{"{\"name\":[]}", NULL, "validation_error"},
	{"{\"name\":{}}", NULL, "validation_error"},
};

static void test_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct problem problem = PROBLEM_INIT;
		json_t *body = json_loads(names[i].body, 0, NULL);
		struct op_key key = {0};
		int result = key_json_parse_name(body, &key, &problem);

		if ((result == 0) != (names[i].name != NULL))
			fail_msg("%s: %s", names[i].body, problem.text);
		if (result == 0)
			assert_string_equal(key.name, names[i].name);
		else
			assert_string_equal(problem_name(&problem), names[i].problem);
		json_decref(body);
	}
}

static void test_render(void **state)
{
	struct key key = {.id = ID, .name = (char *)"n", .created_us = 1};
	static const char *const used[] = {"null", "\"1970-01-01T00:00:00.000002+00:00\""};

	(void)state;
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *wanted = mem_printf("{\"id\":\"" ID
							 "\",\"name\":\"n\",\"created_at\":"
							 "\"1970-01-01T00:00:00.000001+00:00\","
							 "\"last_used_at\":%s}",
			used[i]);
		_cleanup_free_ char *text = NULL;
		json_t *object;

		key.last_used_us = i * 2;
		object = key_json_render(&key);
		text = json_dumps(object, JSON_COMPACT);
		assert_string_equal(text, wanted);
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
