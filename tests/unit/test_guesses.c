/*
 * Logins that fail: an address has so many a minute, and no other is held up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/guesses.h"
#include "core/base/clock.h"

static void fail_some(struct guesses *guesses, const char *client, int n, int64_t now_us)
{
	for (int i = 0; i < n; i++)
		guesses_add(guesses, client, now_us);
}

static void test_flood(void **state)
{
	_cleanup_(guesses) struct guesses *guesses = guesses_new();
	int told[] = {0, 0, 0, 0};

	(void)state;
	for (int i = 0; i < 10 * GUESSES_MAX; i++) {
		assert_int_equal(
			guesses_limited(guesses, "192.0.2.1", SECOND_US), i >= GUESSES_MAX);
		told[guesses_add(guesses, "192.0.2.1", SECOND_US)]++;
	}
	assert_int_equal(told[GUESS_LOGGED] + told[GUESS_LAST], GUESSES_LOGGED);
	assert_int_equal(told[GUESS_LAST], 1);
	assert_int_equal(told[GUESS_LIMITED], 1);
	/* Of others none but those of its slot, which take turns, is held up. */
	for (int i = 0; i < 256; i++) {
		_cleanup_free_ char *other = mem_printf("198.51.100.%d", i);

		assert_false(guesses_limited(guesses, other, SECOND_US));
	}
	assert_true(guesses_limited(guesses, "192.0.2.1", GUESSES_WINDOW_S * SECOND_US));
	assert_false(guesses_limited(guesses, "192.0.2.1", (GUESSES_WINDOW_S + 1) * SECOND_US));
	assert_int_equal(guesses_add(guesses, "192.0.2.1", (GUESSES_WINDOW_S + 1) * SECOND_US),
		GUESS_LOGGED);
}

/* A flood from more addresses than the table has slots: the log has so many lines a minute, and
 * then the number of those left out. */
static void test_many_addresses(void **state)
{
	_cleanup_(guesses) struct guesses *guesses = guesses_new();
	const int64_t end_us = (1 + GUESSES_WINDOW_S) * SECOND_US;
	int logged = 0, left_out = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 10000; i++) {
			_cleanup_free_ char *client = mem_printf("10.1.%d.%d", i / 250, i % 250);

			if (guesses_add(guesses, client, SECOND_US + i) == GUESS_SILENT)
				left_out++;
			else
				logged++;
		}
		assert_int_equal(logged, GUESSES_LINES);
		assert_int_equal(guesses_left_out(guesses, end_us - 1), 0);
	}
	assert_false(guesses_may_log(guesses, end_us - 1));
	/* Some slots of the table belong to one address, whose later failures are silent anyway. */
	assert_false(guesses_may_log(guesses, end_us));
	assert_in_range(guesses_left_out(guesses, end_us), 20000, left_out + 2);
	assert_int_equal(guesses_left_out(guesses, end_us), 0);
	for (int i = 0; i < GUESSES_LINES; i++)
		assert_true(guesses_may_log(guesses, end_us));
	assert_false(guesses_may_log(guesses, end_us));
	assert_int_equal(guesses_left_out(guesses, end_us), 0);
	assert_int_equal(guesses_left_out(guesses, INT64_MAX), 1);
	/* Without lines left out a new window begins by itself. */
	assert_true(guesses_may_log(guesses, 2 * end_us));
	assert_int_equal(guesses_left_out(guesses, INT64_MAX), 0);
}

/* An IPv6 /64 network counts as one client, a v4-mapped address as its IPv4 address. Loopback
 * addresses and what is no address have no limit. */
static void test_addresses(void **state)
{
	static const struct {
		const char *fails, *asks;
		bool limited;
	} cases[] = {
		{"2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"192.0.2.1", "192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"::ffff:127.0.0.1", "::ffff:127.0.0.1", false},
		{"127.0.0.1", "127.0.0.1", false},
		{"127.9.9.9", "127.9.9.9", false},
		{"::1", "::1", false},
		{"unknown", "unknown", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(guesses) struct guesses *guesses = guesses_new();

		fail_some(guesses, cases[i].fails, GUESSES_MAX, SECOND_US);
		assert_int_equal(
			guesses_limited(guesses, cases[i].asks, SECOND_US), cases[i].limited);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
