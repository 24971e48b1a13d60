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

/* Of IPv6 a network of 64 bits is one; of loopback, and of what is no address, there is no limit.
 */
static void test_addresses(void **state)
{
	static const struct {
		const char *fails, *asks;
		bool limited;
	} cases[] = {
		{"2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"192.0.2.1", "192.0.2.1", true},
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
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
