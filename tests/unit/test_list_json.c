/* list_json: which part of a list a query asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/json/list_json.h"

#define ID    "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
#define UPPER "3C0D6A52-6C7B-4A0A-9B1C-2B5B7F5A8F11"

static const struct {
	const char *query;
	struct page page;
} good[] = {
	{"", {.limit = 20}},
	{"limit=1", {.limit = 1}},
	{"limit=100&other=x", {.limit = 100}},
	{"limit=%31%30", {.limit = 10}},
	{"after=" ID, {.limit = 20, .after = ID}},
	{"limit=7&before=" UPPER, {.limit = 7, .before = ID}},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct problem problem = PROBLEM_INIT;
		struct page page;

		if (list_json_parse(good[i].query, &page, &problem) < 0)
			fail_msg("%s: %s", good[i].query, problem.text);
		assert_int_equal(page.limit, good[i].page.limit);
		assert_string_equal(page.after, good[i].page.after);
		assert_string_equal(page.before, good[i].page.before);
	}
}

static const struct {
	const char *query;
	const char *text;
} bad[] = {
	{"limit=0", "`limit` parameter must be a number between 1 and 100"},
	{"limit=101", "`limit`"},
	{"limit=-1", "`limit`"},
	{"limit=", "`limit`"},
	{"limit", "`limit`"},
	{"limit=1.5", "`limit`"},
	{"limit=5x", "`limit`"},
	{"limit=+5", "`limit`"},
	{"limit=%205", "`limit`"},
	{"limit=99999999999999999999", "`limit`"},
	{"limit=5&limit=5", "`limit` parameter must be given only once"},
	{"after=x", "`after` parameter must be a valid UUID"},
	{"after=", "`after`"},
	{"before=" ID "0", "`before` parameter must be a valid UUID"},
	{"after=" ID "&before=" ID, "`after` and `before`"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct problem problem = PROBLEM_INIT;
		struct page page;

		if (list_json_parse(bad[i].query, &page, &problem) == 0)
			fail_msg("taken: %s", bad[i].query);
		assert_int_equal(problem_status(&problem), 422);
		assert_string_equal(problem_name(&problem), "invalid_parameter");
		if (strstr(problem.text, bad[i].text) == NULL)
			fail_msg("%s: %s", bad[i].query, problem.text);
	}
}

static void test_render(void **state)
{
	json_t *list = list_json_render(json_pack("[i]", 1), true);
	char *text = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);

	(void)state;
	assert_string_equal(text, "{\"data\":[1],\"has_more\":true,\"object\":\"list\"}");
	free(text);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
