/* breaker: when it opens, who probes, when it closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/outbox/breaker.h"

enum { MS = 1000, FIRST = BREAKER_FIRST_MS * MS };
static const char A[] = "a0000000-0000-4000-8000-000000000000";
static const char B[] = "b0000000-0000-4000-8000-000000000000";
static const char C[] = "c0000000-0000-4000-8000-000000000000";

static bool enter(struct breaker *breaker, const char *company_id, int64_t now_us, bool probes)
{
	bool probing, enters = breaker_enter(breaker, company_id, false, now_us, &probing);

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
	assert_false(enter(breaker, A, FIRST - 1, false));
	assert_true(enter(breaker, A, FIRST, true));
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
	breaker_forget(breaker, A);
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
	assert_int_equal(cause_of(breaker), BREAKER_NO_RECORDS);
	assert_int_equal(breaker_close(breaker, B, true, false, 1, &open_us), BREAKER_OWN_FAULT);
	assert_int_equal(breaker_close(breaker, B, true, false, 1, &open_us), BREAKER_NO_NEWS);
	assert_non_null(breaker_circuit_of(breaker, A));
	assert_null(breaker_circuit_of(breaker, B));
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
	assert_null(breaker_circuit_of(breaker, A));
}

static bool is_news(struct breaker *breaker, const char *company_id)
{
	for (size_t i = 0; i < breaker->n; i++)
		if (strcmp(breaker->companies[i].id, company_id) == 0)
			return breaker->companies[i].is_news;
	return false;
}

/* Emails of two companies fail: a third one goes on, whatever the two do, and shows whose fault it
 * is. */
static void test_two_companies(void **state)
{
	struct breaker *breaker = *state;
	struct breaker_state seen;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	fail_in_a_row(breaker, B, true);
	assert_false(enter(breaker, A, 0, false));
	assert_false(enter(breaker, B, 0, false));
	assert_true(enter(breaker, C, 0, false));
	breaker_state_get(breaker, &seen);
	assert_int_equal(seen.cause, BREAKER_NO_RECORDS);
	assert_int_equal(seen.trips, 1);
	assert_int_equal(breaker_close(breaker, C, true, false, 1, &open_us), BREAKER_OWN_FAULT);
	assert_true(is_news(breaker, A) && is_news(breaker, B));
	assert_int_equal(cause_of(breaker), BREAKER_CLOSED);
	/* Each probes by itself. */
	for (int64_t now = FIRST, i = 0; i < 40; i++, now *= 2) {
		assert_true(enter(breaker, A, now, true));
		assert_true(enter(breaker, B, now, true));
		assert_true(breaker_count_unrecorded(breaker, A, true));
		assert_false(breaker_trip(breaker, BREAKER_NO_RECORDS, "no record", A, now));
		assert_true(breaker_count_unrecorded(breaker, B, true));
		assert_false(breaker_trip(breaker, BREAKER_NO_RECORDS, "no record", B, now));
		assert_false(enter(breaker, A, now, false));
		assert_true(enter(breaker, C, now, false));
	}
	assert_int_equal(
		breaker_close(breaker, B, true, true, 2 * FIRST, &open_us), BREAKER_ONE_IS_BACK);
	assert_true(enter(breaker, B, 2 * FIRST, false));
	assert_false(enter(breaker, A, 2 * FIRST, false));
	/* One after the other, with a third one's emails between them or not. */
	fail_in_a_row(breaker, B, true);
	assert_true(enter(breaker, C, 3 * FIRST, false));
	assert_int_equal(
		breaker_close(breaker, C, true, false, 3 * FIRST, &open_us), BREAKER_OWN_FAULT);
	assert_true(is_news(breaker, B) && !is_news(breaker, A));
	/* With failures of both kinds, and in turns. */
	for (int i = 1; i < BREAKER_PUT_OFF; i++) {
		assert_false(breaker_count_put_off(breaker, A, false));
		assert_false(breaker_count_put_off(breaker, B, false));
	}
	assert_true(enter(breaker, C, 3 * FIRST, false));
}

static char *nth_company(char id[ID_SIZE], int n)
{
	snprintf(id, ID_SIZE, "d0000%03d-0000-4000-8000-000000000000", n);
	return id;
}

/* Emails of all fail. */
static void test_all_companies(void **state)
{
	struct breaker *breaker = *state;
	char id[ID_SIZE];
	int64_t open_us;

	for (int i = 1; i < BREAKER_SEVERAL; i++)
		assert_false(breaker_count_put_off(breaker, nth_company(id, i), false));
	assert_true(enter(breaker, C, 0, false));
	assert_true(breaker_count_put_off(breaker, B, false));
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "451", B, 2));
	assert_false(enter(breaker, B, 3, false));
	assert_false(enter(breaker, nth_company(id, 1), 3, false));
	assert_true(enter(breaker, B, 2 + FIRST, true));
	assert_false(enter(breaker, C, 2 + FIRST, false));
	breaker_forget(breaker, B);
	assert_true(enter(breaker, C, 2 + FIRST, true));
	assert_false(enter(breaker, A, 2 + FIRST, false));
	assert_int_equal(
		breaker_close(breaker, C, true, true, 2 + FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_true(enter(breaker, B, 2 + FIRST, false));
	/* An email that went through in between, and there is no row. */
	for (int i = 1; i < BREAKER_SEVERAL; i++)
		assert_false(breaker_count_put_off(breaker, nth_company(id, i), false));
	assert_int_equal(breaker_close(breaker, C, true, false, 3, &open_us), BREAKER_NO_NEWS);
	assert_false(breaker_count_put_off(breaker, B, false));
	/* More companies than there are places fail one after the other, while others go on. */
	for (int i = 1; i < 3 * BREAKER_COMPANIES; i++) {
		fail_in_a_row(breaker, nth_company(id, i), true);
		assert_int_equal(
			breaker_close(breaker, C, true, false, 3, &open_us), BREAKER_OWN_FAULT);
		assert_false(enter(breaker, id, 3, false));
	}
	/* A connection that is lost concerns all, and is no fault of theirs. */
	assert_true(enter(breaker, id, FIRST, true));
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "lost", NULL, FIRST));
	assert_false(enter(breaker, C, FIRST, false));
	assert_false(enter(breaker, id, FIRST, false));
	assert_int_equal(cause_of(breaker), BREAKER_AWAY);
	/* One that is at fault may probe for all, but its failure is its own. */
	assert_true(enter(breaker, id, 2 * FIRST, true));
	assert_false(enter(breaker, C, 2 * FIRST, false));
	assert_true(breaker_count_put_off(breaker, id, true));
	assert_false(breaker_trip(breaker, BREAKER_AWAY, "451", id, 2 * FIRST));
	assert_true(enter(breaker, C, 2 * FIRST, true));
	assert_int_equal(
		breaker_close(breaker, C, true, true, 2 * FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_false(enter(breaker, id, 2 * FIRST, false));
}

static bool fails(struct breaker *breaker, const char *company_id, bool probes, int64_t now_us)
{
	if (breaker_count_put_off(breaker, company_id, probes))
		breaker_trip(breaker, BREAKER_AWAY, "451", company_id, now_us);
	return breaker->all.cause != BREAKER_CLOSED;
}

/* Companies that make their own emails fail, all together and as often as they like: another one
 * waits for a probe of theirs at most. */
static void test_colluding_companies(void **state)
{
	enum { HOSTILE = 100 };
	struct breaker *breaker = *state;
	bool has_opened = false, probes;
	char id[ID_SIZE];
	int64_t now = 1, open_us;
	unsigned told = 0;

	for (int round = 0; round < 100; round++, now += FIRST / 3) {
		for (int i = 0; i < 4 * HOSTILE; i++) {
			nth_company(id, 1 + (round + i) % HOSTILE);
			if (breaker_enter(breaker, id, true, now, &probes))
				has_opened |= fails(breaker, id, probes, now);
		}
		assert_true(breaker_enter(breaker, C, true, now, &probes));
		told += breaker_close(breaker, C, true, probes, now, &open_us) == BREAKER_OWN_FAULT;
		assert_int_equal(cause_of(breaker), BREAKER_CLOSED);
		assert_true(enter(breaker, C, now, false));
		told += breaker_close(breaker, C, true, false, now, &open_us) == BREAKER_OWN_FAULT;
	}
	assert_true(has_opened);
	assert_true(told > 0);
	/* Once an email of their own goes through, their failures count again. */
	for (int i = 1; i <= HOSTILE; i++)
		if (breaker_enter(
			    breaker, nth_company(id, i), false, now += 60 * SECOND_US, &probes))
			breaker_close(breaker, id, true, probes, now, &open_us);
	for (int i = 1; i < BREAKER_SEVERAL; i++)
		assert_false(fails(breaker, nth_company(id, i), false, now));
	assert_true(fails(breaker, B, false, now));
}

/* An email of a company that fails once is among theirs. Its next one has its turn, though the
 * others make a request at every moment. */
static void test_turns_of_those_that_failed(void **state)
{
	struct breaker *breaker = *state;
	int64_t now = 1, open_us;
	char id[ID_SIZE];
	bool probes;

	for (int i = 1; i <= BREAKER_SEVERAL; i++)
		fails(breaker, nth_company(id, i), false, now);
	assert_true(breaker_enter(breaker, C, true, now, &probes));
	assert_true(fails(breaker, C, probes, now));
	now += FIRST;
	for (int i = 1; i <= BREAKER_SEVERAL; i++)
		assert_false(breaker_enter(breaker, nth_company(id, i), true, now, &probes));
	assert_false(breaker_enter(breaker, C, true, now, &probes));
	assert_true(enter(breaker, C, now, true));
	assert_int_equal(breaker_close(breaker, C, true, true, now, &open_us), BREAKER_WAS_OPEN);
	assert_true(breaker_enter(breaker, C, true, now, &probes));
	assert_false(probes);
}

/* Emails of all fail, and it is nobody's fault: each company tries once, a few of them. */
static void test_each_tries_once(void **state)
{
	struct breaker *breaker = *state;
	bool probes;
	char id[ID_SIZE];
	int tries = 0;

	for (int i = 1; i <= BREAKER_SEVERAL; i++)
		fails(breaker, nth_company(id, i), false, 1);
	for (int round = 0; round < 3; round++)
		for (int i = 1; i < 2 * BREAKER_COMPANIES; i++)
			if (breaker_enter(breaker, nth_company(id, i), false, 2, &probes)) {
				assert_true(probes);
				assert_false(enter(breaker, C, 2, false));
				assert_true(fails(breaker, id, true, 2));
				tries++;
			}
	assert_int_equal(tries, BREAKER_COMPANIES - BREAKER_SEVERAL);
	assert_true(breaker_is_shut(breaker, 2));
	/* Without a connection nobody has to try. */
	assert_true(enter(breaker, C, 2 + FIRST, true));
	breaker_trip(breaker, BREAKER_AWAY, "refused", NULL, 2 + FIRST);
	assert_true(breaker_is_shut(breaker, 3 + FIRST));
	assert_false(enter(breaker, A, 3 + FIRST, false));
}

/* All of the few who send were put off, and it was not their fault. */
static void test_few_companies(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	fail_in_a_row(breaker, B, true);
	assert_true(enter(breaker, A, FIRST, true));
	assert_int_equal(breaker_close(breaker, A, true, true, FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_int_equal(open_us, FIRST);
	assert_true(enter(breaker, A, FIRST, false));
	assert_true(enter(breaker, B, FIRST, false));
	assert_int_equal(cause_of(breaker), BREAKER_CLOSED);
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
	assert_non_null(breaker_circuit_of(breaker, B));
	assert_int_equal(
		breaker_close(breaker, B, true, true, 1 + FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_int_equal(open_us, 1 + FIRST);
}

/* An email of a company that is put off by its own fault probes for both: when Postfix is back, its
 * own circuit is still open, and its next email may probe. */
static void test_probe_for_both(void **state)
{
	struct breaker *breaker = *state;
	int64_t open_us;

	fail_in_a_row(breaker, A, true);
	assert_int_equal(breaker_close(breaker, C, true, false, 1, &open_us), BREAKER_OWN_FAULT);
	assert_true(breaker_trip(breaker, BREAKER_AWAY, "refused", NULL, FIRST));
	assert_true(enter(breaker, A, 2 * FIRST, true));
	assert_int_equal(
		breaker_close(breaker, A, false, true, 2 * FIRST, &open_us), BREAKER_WAS_OPEN);
	assert_non_null(breaker_circuit_of(breaker, A));
	assert_true(enter(breaker, A, 3 * FIRST, true));
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
		TEST(two_companies),
		TEST(all_companies),
		TEST(colluding_companies),
		TEST(turns_of_those_that_failed),
		TEST(each_tries_once),
		TEST(few_companies),
		TEST(away_without_records),
		TEST(probe_for_both),
	};

	return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
