/* percent: escapes, read strictly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/http/uri.h"

enum { SIZE = 6 };

static const struct {
	const char *text;
	const char *decoded; /* NULL: refused */
} cases[] = {
	{"", ""},
	{"abc", "abc"},
	{"abcde", "abcde"},
	{"abcdef", NULL},
	{"%61%62%63%64%65", "abcde"},
	{"%61%62%63%64%65%66", NULL},
	{"a+b", "a+b"},
	{"%2B%2b", "++"},
	{"%25", "%"},
	{"%ff", "\xff"},
	{"%", NULL},
	{"%2", NULL},
	{"%2g", NULL},
	{"%g2", NULL},
	{"% 2", NULL},
	{"a%00", NULL},
};

static void test_decode(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct span text = {cases[i].text, strlen(cases[i].text)};
		char out[SIZE];
		bool good = percent_decode(text, out, sizeof(out));

		if (good != (cases[i].decoded != NULL))
			fail_msg("%s: %d", cases[i].text, good);
		if (good)
			assert_string_equal(out, cases[i].decoded);
	}
}

/* What stands behind the text is not looked at. */
static void test_end(void **state)
{
	const struct span text = {"a%61", 3};
	char out[SIZE];

	(void)state;
	assert_false(percent_decode(text, out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
