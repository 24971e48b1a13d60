/* key_json: what clients want of a new key, and how a key is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/json/api_json.h"

#define ID    "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
#define TEN   "\u00e4123456789"
#define FIFTY TEN TEN TEN TEN TEN

static const struct {
	const char *body;
	struct key_request wanted;
} good[] = {
	{"{}", {(char *)"", KEY_ALL, ""}},
	{"{\"name\":\"\",\"permission\":null}", {(char *)"", KEY_ALL, ""}},
	{"{\"name\":\"x\",\"permission\":\"full_access\"}", {(char *)"x", KEY_ALL, ""}},
	{"{\"name\":\"" FIFTY "\",\"permission\":\"sending_access\"}",
		{(char *)FIFTY, KEY_SENDING, ""}},
	{"{\"domain_id\":\"" ID "\",\"other\":[]}", {(char *)"", KEY_ALL, ID}},
};

static int parse(const char *text, struct key_request *wanted, struct problem *problem)
{
	json_t *body = json_loads(text, 0, NULL);
	int result;

	assert_non_null(body);
	result = key_json_parse(body, wanted, problem);
	json_decref(body);
	return result;
}

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct problem problem = PROBLEM_INIT;
		struct key_request wanted;

		if (parse(good[i].body, &wanted, &problem) < 0)
			fail_msg("%s: %s", good[i].body, problem.text);
		assert_string_equal(wanted.name, good[i].wanted.name);
		assert_int_equal(wanted.scopes, good[i].wanted.scopes);
		assert_string_equal(wanted.domain_id, good[i].wanted.domain_id);
		free(wanted.name);
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
		struct key_request wanted;

		if (parse(bad[i].body, &wanted, &problem) == 0)
			fail_msg("taken: %s", bad[i].body);
		assert_int_equal(problem_status(&problem), 422);
		assert_string_equal(problem_name(&problem), "validation_error");
		if (strstr(problem.text, bad[i].text) == NULL)
			fail_msg("%s: %s", bad[i].body, problem.text);
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
		_cleanup_free_ char *name = NULL;
		int result = key_json_parse_name(body, &name, &problem);

		json_decref(body);
		if ((result == 0) != (names[i].name != NULL))
			fail_msg("%s: %s", names[i].body, problem.text);
		if (result == 0)
			assert_string_equal(name, names[i].name);
		else
			assert_string_equal(problem_name(&problem), names[i].problem);
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
