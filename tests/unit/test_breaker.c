/* breaker: when it opens, who probes, when it closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/outbox/breaker.h"

enum { MS = 1000, FIRST = BREAKER_FIRST_MS * MS };

static int setup(void **state)
{
	struct breaker *breaker = mem_new(struct breaker);

	breaker_init(breaker);
	*state = breaker;
	return 0;
}

static int teardown(void **state)
{
	breaker_destroy(*state);
	free(*state);
	return 0;
}

static void test_pauses_grow(void **state)
{
	struct breaker *breaker = *state;
	const int64_t most = BREAKER_MOST_MS * INT64_C(1000);
	int64_t now = 1000, pause = FIRST, open_us;

	assert_true(breaker_enter(breaker, now));
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "refused", now));
	for (int i = 0; i < 60; i++) {
		assert_false(breaker_enter(breaker, now + pause - 1));
		now += pause;
		assert_true(breaker_enter(breaker, now));
		assert_false(breaker_enter(breaker, now)); /* one at a time */
		assert_false(breaker_trip(breaker, BREAKER_AWAY, "refused", now));
		pause = (now - 1000) / 4 > FIRST ? (now - 1000) / 4 : FIRST;
		pause = pause < most ? pause : most;
	}
	assert_int_equal(pause, most);
	now += pause;
	assert_true(breaker_enter(breaker, now));
	assert_true(breaker_close(breaker, now, &open_us));
	assert_int_equal(open_us, now - 1000);
	assert_true(breaker_enter(breaker, now));
	assert_true(breaker_enter(breaker, now));
	assert_false(breaker_close(breaker, now, &open_us));
}

/* What fails behind the first one had begun before it: the pause does not grow. */
static void test_failures_at_once(void **state)
{
	struct breaker *breaker = *state;
	struct breaker_state seen;

	assert_true(breaker_trip(breaker, BREAKER_AWAY, "one", 0));
	for (int i = 0; i < 10; i++)
		assert_false(breaker_trip(breaker, BREAKER_AWAY, "more", 1));
	assert_int_equal(breaker_until_us(breaker), FIRST);
	breaker_state_get(breaker, &seen);
	assert_int_equal(seen.cause, BREAKER_AWAY);
	assert_string_equal(seen.words, "one");
	assert_int_equal(seen.trips, 1);
}

static void test_probe_that_tells_nothing(void **state)
{
	struct breaker *breaker = *state;

	breaker_trip(breaker, BREAKER_AWAY, "away", 0);
	assert_true(breaker_enter(breaker, FIRST));
	breaker_forget(breaker);
	assert_true(breaker_enter(breaker, FIRST));
}

static void test_counts_are_in_a_row(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < BREAKER_UNRECORDED; i++)
			assert_false(breaker_count_unrecorded(breaker));
		for (int i = 1; i < BREAKER_PUT_OFF; i++)
			assert_false(breaker_count_put_off(breaker));
		if (round == 0)
			assert_false(breaker_close(breaker, 0, &open_us));
	}
	assert_true(breaker_count_unrecorded(breaker));
	assert_true(breaker_count_put_off(breaker));
	/* A probe is enough. */
	breaker_trip(breaker, BREAKER_NO_RECORDS, "not asked", 0);
	assert_true(breaker_enter(breaker, FIRST));
	assert_true(breaker_count_unrecorded(breaker));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(pauses_grow),
		TEST(failures_at_once),
		TEST(probe_that_tells_nothing),
		TEST(counts_are_in_a_row),
	};

	return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
