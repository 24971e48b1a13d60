/*
 * The time as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

static void test_iso8601(void **state)
{
	static const struct {
		int64_t time_us;
		const char *text;
	} cases[] = {
		{0, "1970-01-01T00:00:00.000000+00:00"},
		{1, "1970-01-01T00:00:00.000001+00:00"},
		{-1, "1969-12-31T23:59:59.999999+00:00"},
		{-1000000, "1969-12-31T23:59:59.000000+00:00"},
		{1795228998123456, "2026-11-21T02:43:18.123456+00:00"},
		{951782400000000, "2000-02-29T00:00:00.000000+00:00"},
		{4102444799999999, "2099-12-31T23:59:59.999999+00:00"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CLOCK_TEXT_SIZE];

		clock_iso8601(cases[i].time_us, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_parse(void **state)
{
	enum { NOW = 100000000 }; /* in seconds */
	static const struct {
		const char *text;
		int64_t time_us; /* -1: none */
	} cases[] = {
		{"2026-11-21T02:43:18.123456+00:00", 1795228998123456},
		{"2026-11-21T02:43:18.123456", 1795228998123456},
		{"2026-11-21T02:43:18Z", 1795228998000000},
		{"2026-11-21T03:43:18.5+01:00", 1795228998500000},
		{"2026-11-20T22:13:18-04:30", 1795228998000000},
		{"2026-11-20T22:13:18-0430", 1795228998000000},
		{"2026-11-21T03:43:18.123+01", 1795228998123000},
		{"2026-11-21T02:43:18.1234567Z", 1795228998123456},
		{"2026-11-21T02:43", 1795228980000000},
		{"2026-11-21 02:43", 1795228980000000},
		{"2026-11-21 02:43:18Z", 1795228998000000},
		{"2026-11-21 03:43:18.5+01", 1795228998500000},
		{"2000-02-29", 951782400000000},
		{"1970-01-01", 0},
		{"30s", (NOW - 30) * INT64_C(1000000)},
		{"2h", (NOW - 7200) * INT64_C(1000000)},
		{"7d", (NOW - 604800) * INT64_C(1000000)},
		{"99999d", 0},
		{"106751991d", 0},
		{"106751992d", -1}, /* no int64_t holds it */
		{"200000000d", -1},
		{"5124095577h", -1},
		{"99999999999999999999s", -1},
		{"", -1},
		{"d", -1},
		{"7", -1},
		{"7w", -1},
		{"7d ", -1},
		{"-7d", -1},
		{"2001-02-29", -1},
		{"2026-13-01", -1},
		{"2026-11-21  02:43", -1},
		{"2026-11-21\t02:43", -1},
		{"2026-11-21 ", -1},
		{" 2026-11-21", -1},
		{"2026-11-21 02:43 ", -1},
		{"2026-11-21 02:43:18 Z", -1},
		{"2026-11-21T", -1},
		{"2026-11-21T02:43:18+1:00", -1},
		{"2026-11-21T02:43:18+01:00x", -1},
		{"2026-11-21T02:43:18+01:", -1},
		{"2026-11-21T02:43:18+01:0", -1},
		{"2026-11-21T02:43:18+010", -1},
		{"2026-11-21T02:43:18+0:100", -1},
		{"2026-11-21T02:43:18+01000", -1},
		{"2026-11-21T02:43:18+", -1},
		{"2026-11-21T02:43:18+24:00", -1},
		{"2026-11-21T02:43:18+00:60", -1},
		{"2026-11-21T02:43:18 Z", -1},
		{" 2026-11-21", -1},
		{"1969-12-31", -1},
		{"yesterday", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t time_us = -1;
		bool read = clock_parse(cases[i].text, NOW * INT64_C(1000000), &time_us);

		if (time_us != cases[i].time_us || read != (time_us >= 0))
			fail_msg("%s: %lld", cases[i].text, (long long)time_us);
	}
}

static void test_rfc5322(void **state)
{
	static const struct {
		int64_t time_us;
		const char *text;
	} cases[] = {
		{0, "Thu, 1 Jan 1970 00:00:00 +0000"},
		{-1, "Wed, 31 Dec 1969 23:59:59 +0000"},
		{1795228998123456, "Sat, 21 Nov 2026 02:43:18 +0000"},
		{951782400000000, "Tue, 29 Feb 2000 00:00:00 +0000"},
		{4102444799999999, "Thu, 31 Dec 2099 23:59:59 +0000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CLOCK_TEXT_SIZE];

		clock_rfc5322(cases[i].time_us, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* Neither the zone nor the locale of the process has a say. */
static void test_zone_is_ignored(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	clock_rfc5322(0, text);
	assert_string_equal(text, "Thu, 1 Jan 1970 00:00:00 +0000");
	clock_iso8601(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000000+00:00");
	unsetenv("TZ");
	tzset();
}

/* Whatever the number, the text fits. */
static void test_extremes(void **state)
{
	static const int64_t times[] = {INT64_MIN, INT64_MAX, INT64_MIN / 1000, INT64_MAX / 1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char text[CLOCK_TEXT_SIZE];

		clock_iso8601(times[i], text);
		assert_true(strlen(text) < CLOCK_TEXT_SIZE);
		clock_rfc5322(times[i], text);
		assert_true(strlen(text) < CLOCK_TEXT_SIZE);
	}
}

static int64_t noon(const struct clock *clock)
{
	(void)clock;
	return 43200000000;
}

/* The monotonic clock goes on meanwhile, which counts as put back. */
static void test_put_back(void **state)
{
	const int64_t noon_us = 43200 * SECOND_US;
	int64_t offset_us = 0;

	(void)state;
	assert_int_equal(clock_put_back_us(&offset_us, noon_us), 0);
	assert_int_equal(clock_put_back_us(&offset_us, noon_us + HOUR_US), 0);
	assert_true(clock_put_back_us(&offset_us, noon_us) >= HOUR_US);
	assert_int_equal(clock_put_back_us(&offset_us, noon_us + HOUR_US / 2), 0);
}

static void test_stamp(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_stamp(INT64_C(1763692998123456), text);
	assert_string_equal(text, "20251121T024318Z");
	clock_stamp(-1, text);
	assert_string_equal(text, "19691231T235959Z");
}

static void test_clocks(void **state)
{
	const struct clock fake = {.now_us = noon};
	int64_t before = clock_monotonic_us();
	int64_t now = clock_now_us(&clock_system);

	(void)state;
	assert_true(now / 1000000 - (int64_t)time(NULL) <= 1);
	assert_true(now > 1577836800000000); /* 2020 */
	assert_true(clock_monotonic_us() >= before);
	assert_int_equal(clock_now_us(&fake), 43200000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iso8601),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_rfc5322),
		cmocka_unit_test(test_zone_is_ignored),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_put_back),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
