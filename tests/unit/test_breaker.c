/* breaker: when it opens, who probes, when it closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/outbox/breaker.h"

enum { MS = 1000, FIRST = BREAKER_FIRST_MS * MS };
static const char A[] = "a0000000-0000-4000-8000-000000000000";
static const char B[] = "b0000000-0000-4000-8000-000000000000";

static bool enter(struct breaker *breaker, const char *company_id, int64_t now_us, bool probes)
{
	bool probing, enters = breaker_enter(breaker, company_id, now_us, &probing);

	assert_true(probing == probes);
	return enters;
}

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

	assert_true(enter(breaker, A, now, false));
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "refused", NULL, now));
	for (int i = 0; i < 60; i++) {
		assert_false(enter(breaker, A, now + pause - 1, false));
		now += pause;
		assert_true(enter(breaker, A, now, true));
		assert_false(enter(breaker, B, now, false)); /* one at a time */
		assert_false(breaker_trip(breaker, BREAKER_AWAY, "refused", NULL, now));
		pause = (now - 1000) / 4 > FIRST ? (now - 1000) / 4 : FIRST;
		pause = pause < most ? pause : most;
	}
	assert_int_equal(pause, most);
	now += pause;
	assert_true(enter(breaker, A, now, true));
	assert_int_equal(breaker_close(breaker, A, true, true, now, &open_us), BREAKER_WAS_OPEN);
	assert_int_equal(open_us, now - 1000);
	assert_true(enter(breaker, A, now, false));
	assert_true(enter(breaker, A, now, false));
	assert_int_equal(breaker_close(breaker, A, true, false, now, &open_us), BREAKER_NO_NEWS);
}

/* What fails behind the first one had begun before it: the pause does not grow. */
static void test_failures_at_once(void **state)
{
	struct breaker *breaker = *state;
	struct breaker_state seen;

	assert_true(breaker_trip(breaker, BREAKER_AWAY, "one", NULL, 0));
	for (int i = 0; i < 10; i++)
		assert_false(breaker_trip(breaker, BREAKER_AWAY, "more", NULL, 1));
	assert_int_equal(breaker_until_us(breaker), FIRST);
	breaker_state_get(breaker, &seen);
	assert_int_equal(seen.cause, BREAKER_AWAY);
	assert_string_equal(seen.reason, "one");
	assert_int_equal(seen.trips, 1);
}

static void test_probe_that_tells_nothing(void **state)
{
	struct breaker *breaker = *state;

	breaker_trip(breaker, BREAKER_AWAY, "away", NULL, 0);
	assert_true(enter(breaker, A, FIRST, true));
	breaker_forget(breaker);
	assert_true(enter(breaker, A, FIRST, true));
}

static void test_counts_are_in_a_row(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < BREAKER_UNRECORDED; i++)
			assert_false(breaker_count_unrecorded(breaker, A, false));
		for (int i = 1; i < BREAKER_PUT_OFF; i++)
			assert_false(breaker_count_put_off(breaker, A, false));
		if (round == 0)
			breaker_close(breaker, A, true, false, 0, &open_us);
	}
	assert_true(breaker_count_unrecorded(breaker, A, false));
	assert_true(breaker_count_put_off(breaker, A, false));
	/* A probe is enough. */
	breaker_trip(breaker, BREAKER_NO_RECORDS, "not asked", NULL, 0);
	assert_true(enter(breaker, A, FIRST, true));
	assert_true(breaker_count_unrecorded(breaker, A, true));
}

static void fail_in_a_row(struct breaker *breaker, const char *company_id, bool trips)
{
	bool enough = false;

	for (int i = 0; i < BREAKER_UNRECORDED; i++)
		enough = breaker_count_unrecorded(breaker, company_id, false);
	assert_true(enough == trips);
	if (enough)
		breaker_trip(breaker, BREAKER_NO_RECORDS, "no record", company_id, 0);
}

static enum breaker_cause cause_of(struct breaker *breaker)
{
	struct breaker_state seen;

	breaker_state_get(breaker, &seen);
	return seen.cause;
}

/* Emails of one company fail: others go on, and show whose fault it is. */
static void test_one_company(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	assert_int_equal(cause_of(breaker), BREAKER_NO_RECORDS);
	assert_false(enter(breaker, A, FIRST - 1, false));
	assert_true(enter(breaker, B, FIRST - 1, false));
	assert_int_equal(breaker_close(breaker, B, false, false, 1, &open_us), BREAKER_NO_NEWS);
	assert_null(breaker_one_company(breaker));
	assert_int_equal(breaker_close(breaker, B, true, false, 1, &open_us), BREAKER_FOR_ONE);
	assert_int_equal(breaker_close(breaker, B, true, false, 1, &open_us), BREAKER_NO_NEWS);
	assert_string_equal(breaker_one_company(breaker), A);
	assert_int_equal(cause_of(breaker), BREAKER_CLOSED);
	/* What A had under way counts against nobody. */
	fail_in_a_row(breaker, A, false);
	assert_false(breaker_count_unrecorded(breaker, B, false));
	/* Its own email probes, and ends it. */
	assert_true(enter(breaker, A, FIRST, true));
	assert_false(enter(breaker, A, FIRST, false));
	assert_true(enter(breaker, B, FIRST, false));
	assert_int_equal(
		breaker_close(breaker, A, true, true, FIRST, &open_us), BREAKER_ONE_IS_BACK);
	assert_false(breaker_is_open(breaker));
}

/* Those of others fail as well. */
static void test_all_companies(void **state)
{
	struct breaker *breaker = *state;
	struct breaker_state seen;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	fail_in_a_row(breaker, B, true);
	assert_false(enter(breaker, A, 0, false));
	assert_false(enter(breaker, B, 0, false));
	breaker_state_get(breaker, &seen);
	assert_int_equal(seen.cause, BREAKER_NO_RECORDS);
	assert_int_equal(seen.trips, 1);
	assert_int_equal(breaker_close(breaker, B, true, false, 1, &open_us), BREAKER_WAS_OPEN);
	/* In one row. */
	for (int i = 1; i < BREAKER_PUT_OFF; i++)
		assert_false(breaker_count_put_off(breaker, A, false));
	assert_true(breaker_count_put_off(breaker, B, false));
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "451", B, 2));
	assert_false(enter(breaker, A, 3, false));
	assert_false(enter(breaker, B, 3, false));
	/* A connection that is lost concerns all. */
	assert_int_equal(breaker_close(breaker, B, true, true, 3, &open_us), BREAKER_WAS_OPEN);
	fail_in_a_row(breaker, A, true);
	assert_int_equal(breaker_close(breaker, B, true, false, 4, &open_us), BREAKER_FOR_ONE);
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "lost", NULL, 5));
	assert_false(enter(breaker, B, 5, false));
	assert_int_equal(cause_of(breaker), BREAKER_AWAY);
}

/* Postfix is away as well: when it is back, nothing shows yet that the milter is asked. */
static void test_away_without_records(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	assert_false(breaker_trip(breaker, BREAKER_AWAY, "refused", NULL, 1));
	assert_int_equal(cause_of(breaker), BREAKER_NO_RECORDS);
	assert_false(enter(breaker, B, 2, false));
	assert_true(enter(breaker, B, 1 + FIRST, true));
	assert_int_equal(
		breaker_close(breaker, B, false, true, 1 + FIRST, &open_us), BREAKER_NO_NEWS);
	assert_true(breaker_is_open(breaker));
	assert_int_equal(
		breaker_close(breaker, B, true, true, 1 + FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_int_equal(open_us, 1 + FIRST);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(pauses_grow),
		TEST(failures_at_once),
		TEST(probe_that_tells_nothing),
		TEST(counts_are_in_a_row),
		TEST(one_company),
		TEST(all_companies),
		TEST(away_without_records),
	};

	return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
