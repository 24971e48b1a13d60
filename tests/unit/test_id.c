/*
 * UUIDs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"

static void test_new(void **state)
{
	char before[ID_SIZE] = "";

	(void)state;
	for (int i = 0; i < 100; i++) {
		char id[ID_SIZE], again[ID_SIZE];

		id_new(id);
		assert_int_equal(strlen(id), ID_SIZE - 1);
		assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
		assert_int_equal(id[14], '7');           /* the version */
		assert_non_null(strchr("89ab", id[19])); /* the variant */
		assert_true(id_parse(id, again));
		assert_string_equal(id, again);
		assert_string_not_equal(id, before);
		memcpy(before, id, sizeof(before));
	}
}

/* The first 48 bits are the time in milliseconds. */
static int64_t time_of(const char *id)
{
	char digits[13];

	snprintf(digits, sizeof(digits), "%.8s%.4s", id, id + 9);
	return (int64_t)strtoull(digits, NULL, 16);
}

static void test_new_has_the_time(void **state)
{
	int64_t before_ms = clock_now_us(&clock_system) / 1000;
	char id[ID_SIZE];

	(void)state;
	id_new(id);
	assert_in_range(time_of(id), before_ms, clock_now_us(&clock_system) / 1000);
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		const char *id; /* NULL: is none */
	} cases[] = {
		{"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"},
		{"49A3999C-0CE1-4EA6-AB68-AFCD6DC2E794", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"},
		{"00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"},
		{"", NULL},
		{"x", NULL},
		{"49a3999c0ce14ea6ab68afcd6dc2e794", NULL},
		{"49a3999c-0ce1-4ea6-ab68-afcd6dc2e79", NULL},
		{"49a3999c-0ce1-4ea6-ab68-afcd6dc2e7944", NULL},
		{"49a3999c-0ce1-4ea6-ab68-afcd6dc2e79g", NULL},
		{"49a3999c-0ce1-4ea6-ab68-afcd6dc2e79 ", NULL},
		{" 49a3999c-0ce1-4ea6-ab68-afcd6dc2e79", NULL},
		{"49a3999c00ce1-4ea6-ab68-afcd6dc2e794", NULL},
		{"{49a3999c-0ce1-4ea6-ab68-afcd6dc2e7}", NULL},
		{"------------------------------------", NULL},
		{"+9a3999c-0ce1-4ea6-ab68-afcd6dc2e794", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[ID_SIZE] = "untouched", again[ID_SIZE] = "untouched";
		uint8_t bytes[ID_BYTES];

		if (id_parse(cases[i].text, id) != (cases[i].id != NULL))
			fail_msg("\"%s\"", cases[i].text);
		assert_string_equal(id, cases[i].id ? cases[i].id : "untouched");
		if (id_bytes(cases[i].text, bytes))
			id_format(bytes, again);
		assert_string_equal(again, id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_new_has_the_time),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
