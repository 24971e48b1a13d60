/* json_text: what a body of JSON costs, told before it is parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/http/json_text.h"

/* What a body of so many values and no bytes costs. */
static uint64_t of_values(size_t n)
{
	char commas[64];

	assert_true(n > 0 && n <= sizeof(commas));
	memset(commas, ',', sizeof(commas));
	return json_text_cost(commas, n - 1) - (n - 1);
}

static void test_cost(void **state)
{
	static const struct {
		const char *text;
		size_t values;
	} cases[] = {
		{"", 1},
		{"7", 1},
		{"[]", 2},
		{"[1,true,null]", 4},
		{"{\"a\":1,\"b\":{}}", 4},
		{"[[[[", 5},
		/* Nothing counts inside a string. */
		{"\"a,b,[{\"", 1},
		{"[\"a,\\\",\",null]", 3},
		{"[\"\\\\\",null]", 3},
		{"[\"a,b,c", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);

		assert_int_equal(json_text_cost(cases[i].text, len),
			of_values(cases[i].values) + len);
	}
	assert_true(of_values(60) > of_values(6) * 8);
	/* Numbers take less. */
	assert_true(json_text_cost(",2", 2) < json_text_cost(",x", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
