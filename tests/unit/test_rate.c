/* rate: the token bucket, step by step under a clock of the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include "core/base/mem.h"
#include "core/policy/rate.h"

enum { MS = 1000, SECOND = 1000 * MS, HOUR_S = 3600 };

/* One request, and what must come of it. */
struct step {
	int64_t at_us; /* since the start */
	bool taken;
	int64_t remaining, reset_s, retry_s;
};

static const struct step two_a_second[] = {
	{0, true, 1, 1, 0},
	{0, true, 0, 1, 0},
	{0, false, 0, 1, 1},
	{499 * MS, false, 0, 1, 1},
	{500 * MS, true, 0, 1, 0},
	{500 * MS, false, 0, 1, 1},
	{10 * SECOND, true, 1, 1, 0},
};

static const struct step one_a_second_burst_3[] = {
	{0, true, 2, 1, 0},
	{0, true, 1, 2, 0},
	{0, true, 0, 3, 0},
	{0, false, 0, 3, 1},
	{999 * MS, false, 0, 3, 1},
	{1 * SECOND, true, 0, 3, 0},
	{3 * SECOND, true, 1, 2, 0},
	{100 * SECOND, true, 2, 1, 0},
};

/* Less in store than comes in a second: the requests are spread over it. */
static const struct step ten_a_second_burst_1[] = {
	{0, true, 0, 1, 0},
	{99 * MS, false, 0, 1, 1},
	{100 * MS, true, 0, 1, 0},
	{100 * MS, false, 0, 1, 1},
};

/* What was refused costs nothing. */
static const struct step refused_is_free[] = {
	{0, true, 0, 1, 0},
	{100 * MS, false, 0, 1, 1},
	{200 * MS, false, 0, 1, 1},
	{900 * MS, false, 0, 1, 1},
	{1 * SECOND, true, 0, 1, 0},
};

#define STEPS(table) (table), ARRAY_SIZE(table)

static const struct {
	struct rate_limit limit;
	const struct step *steps;
	size_t n;
} cases[] = {
	{{2, 2}, STEPS(two_a_second)},
	{{1, 3}, STEPS(one_a_second_burst_3)},
	{{10, 1}, STEPS(ten_a_second_burst_1)},
	{{1, 1}, STEPS(refused_is_free)},
};

static void run(
	const struct rate_limit *limit, const struct step *steps, size_t n, int64_t start_us)
{
	struct rate_bucket bucket = {0};

	for (size_t i = 0; i < n; i++) {
		struct rate_state state;

		assert_int_equal(rate_take(&bucket, limit, start_us + steps[i].at_us, &state),
			steps[i].taken);
		assert_int_equal(state.limit, limit->burst);
		assert_int_equal(state.remaining, steps[i].remaining);
		assert_int_equal(state.reset_s, steps[i].reset_s);
		assert_int_equal(state.retry_s, steps[i].retry_s);
	}
}

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Just booted, and up for ten years. */
		run(&cases[i].limit, cases[i].steps, cases[i].n, 0);
		run(&cases[i].limit, cases[i].steps, cases[i].n,
			(int64_t)SECOND * HOUR_S * 24 * 365 * 10);
	}
}

/* However requests are spread, a span of t seconds has at most burst + t *
 * per_s of them. */
static void test_the_bound_holds(void **state)
{
	static const struct rate_limit limits[] = {
		{1, 1}, {3, 7}, {7, 3}, {1000, 1000}, {1000000, 1000000}};
	static const int64_t steps_us[] = {1, 777, 100 * MS, 333 * MS};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		for (size_t k = 0; k < ARRAY_SIZE(steps_us); k++) {
			const struct rate_limit *limit = &limits[i];
			struct rate_bucket bucket = {0};
			struct rate_state status;
			int64_t taken = 0, now_us = 0;

			for (int n = 0; n < 20000; n++, now_us += steps_us[k])
				taken += rate_take(&bucket, limit, now_us, &status);
			assert_true(taken <= limit->burst + 1 + now_us * limit->per_s / SECOND);
			/* And it does not fall short while requests pour in. */
			if (limit->burst > 1 && steps_us[k] * limit->per_s < SECOND)
				assert_true(taken >= now_us * limit->per_s / SECOND - 1);
		}
}

/* A limit that is changed holds from the next request on. */
static void test_another_limit(void **state)
{
	const struct rate_limit slow = {1, 1000}, fast = {100, 100};
	struct rate_bucket bucket = {0};
	struct rate_state status;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(rate_take(&bucket, &slow, 0, &status));
	assert_int_equal(status.reset_s, 1000);
	assert_false(rate_take(&bucket, &fast, 0, &status));
	assert_int_equal(status.reset_s, 1);
	assert_true(rate_take(&bucket, &fast, 10 * MS, &status));
	assert_true(rate_take(&bucket, &slow, 10 * MS, &status));
	assert_int_equal(status.remaining, 998);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_the_bound_holds),
		cmocka_unit_test(test_another_limit),
	};

	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
