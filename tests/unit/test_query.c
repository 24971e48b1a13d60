/* query: parameters, told apart and decoded strictly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/http/uri.h"

/* What the parameter `after` is. */
static const struct {
	const char *query;
	int found;
	const char *value; /* or a part of the problem */
} cases[] = {
	{"", 0, NULL},
	{"&", 0, NULL},
	{"=", 0, NULL},
	{"limit=5", 0, NULL},
	{"aft=5", 0, NULL},
	{"afters=5", 0, NULL},
	{"After=5", 0, NULL},
	{"after", 1, ""},
	{"after=", 1, ""},
	{"after=5", 1, "5"},
	{"&&after=5&", 1, "5"},
	{"limit=1&after=5&before=7", 1, "5"},
	{"after=a=b", 1, "a=b"},
	{"after=a+b", 1, "a+b"},
	{"after=%35%2d%2D%26", 1, "5--&"},
	{"after=%c3%a4", 1, "\xc3\xa4"},
	{"%61fter=5", 1, "5"},
	{"after=5;after=6", 1, "5;after=6"},
	{"limit=%zz&after=5", 1, "5"},
	{"after=5&after=5", -1, "`after` parameter must be given only once"},
	{"after=5&%61fter=6", -1, "only once"},
	{"after&after", -1, "only once"},
	{"after=%", -1, "`after` parameter is too long or not properly"},
	{"after=%4", -1, "not properly encoded"},
	{"after=%4g", -1, "not properly encoded"},
	{"after=5%00", -1, "not properly encoded"},
	{"%4=5", -1, "query string is not properly encoded"},
	{"a%00=5&after=5", -1, "query string is not properly encoded"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct problem problem = PROBLEM_INIT;
		char value[QUERY_VALUE_MAX] = "";
		int found = query_get(cases[i].query, "after", value, &problem);
		const char *said = found < 0 ? problem.text : value;

		if (found != cases[i].found)
			fail_msg("%s: %d", cases[i].query, found);
		if (found > 0 && strcmp(value, cases[i].value) != 0)
			fail_msg("%s: %s", cases[i].query, value);
		if (found < 0 &&
			(strstr(said, cases[i].value) == NULL || problem.kind != PROBLEM_PARAMETER))
			fail_msg("%s: %s", cases[i].query, said);
	}
}

static void test_length(void **state)
{
	(void)state;
	for (size_t len = QUERY_VALUE_MAX - 2; len <= QUERY_VALUE_MAX; len++) {
		_cleanup_buf_ struct buf query = BUF_INIT;
		struct problem problem = PROBLEM_INIT;
		char value[QUERY_VALUE_MAX];

		buf_add_str(&query, "after=");
		for (size_t i = 0; i < len; i++)
			buf_add_char(&query, 'x');
		assert_int_equal(query_get(buf_str(&query), "after", value, &problem),
			len < QUERY_VALUE_MAX ? 1 : -1);
		if (problem.kind == PROBLEM_NONE)
			assert_int_equal(strlen(value), len);
	}
}

/* Which of them are known, and blanks. */
static void test_known(void **state)
{
	static const char *const names[] = {"after", "limit", NULL};
	static const struct {
		const char *query;
		const char *problem; /* NULL: none */
	} queries[] = {
		{"", NULL},
		{"&&", NULL},
		{"after=1&limit&after=2", NULL},
		{"%61fter=%zz", NULL},
		{"before=1", "The `before` parameter is not known here."},
		{"limit=1&x", "The `x` parameter"},
		{"=1", "The `` parameter"},
		{"%ff=1", "parameter is not known here."},
		{"a%00=1", "not properly encoded"},
		{"%4=1", "not properly encoded"},
	};
	char value[QUERY_VALUE_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct problem problem = PROBLEM_INIT;
		int result = query_known(queries[i].query, names, &problem);

		assert_int_equal(result, queries[i].problem ? -1 : 0);
		if (queries[i].problem && strstr(problem.text, queries[i].problem) == NULL)
			fail_msg("%s: %s", queries[i].query, problem.text);
	}
	assert_int_equal(query_get_words("x=a+b%2Bc%20d", "x", value, NULL), 1);
	assert_string_equal(value, "a b+c d");
	assert_int_equal(query_get_words("y=1", "x", value, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
