/* rate_table: a bucket for each company, in a fixed number of places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>

#include "core/base/id.h"
#include "core/policy/rate.h"

enum { SECOND = 1000000, MANY = 50000, THREADS = 4, EACH = 20000 };

static int setup(void **state)
{
	*state = rate_table_new();
	return 0;
}

static int teardown(void **state)
{
	rate_table_free(*state);
	return 0;
}

static void name(int n, char id[static ID_SIZE])
{
	snprintf(id, ID_SIZE, "%08x-0000-4000-8000-000000000000", n);
}

static bool take(struct rate_table *table, int n, int64_t now_us)
{
	const struct rate_limit limit = {1, 1};
	struct rate_state state;
	char id[ID_SIZE];

	name(n, id);
	return rate_table_take(table, id, &limit, now_us, &state);
}

static void test_companies_do_not_share(void **state)
{
	for (int64_t now_us = SECOND; now_us < 4 * SECOND; now_us += SECOND)
		for (int n = 0; n < 100; n++) {
			assert_true(take(*state, n, now_us));
			assert_false(take(*state, n, now_us));
		}
}

/* More companies than there are places: none is refused wrongly, and the last
 * ones are still known. */
static void test_more_than_fit(void **state)
{
	for (int n = 0; n < MANY; n++)
		assert_true(take(*state, n, SECOND + n));
	for (int n = MANY - 100; n < MANY; n++)
		assert_false(take(*state, n, SECOND + MANY));
}

/* A company whose bucket is not full is not forgotten for one whose is. */
static void test_full_buckets_give_way(void **state)
{
	const struct rate_limit slow = {1, 100};
	struct rate_state status;
	char id[ID_SIZE];

	name(MANY, id);
	for (int i = 0; i < 100; i++)
		assert_true(rate_table_take(*state, id, &slow, SECOND, &status));
	for (int n = 0; n < MANY; n++)
		assert_true(take(*state, n, SECOND + n));
	assert_false(rate_table_take(*state, id, &slow, SECOND, &status));
}

static void *take_many(void *arg)
{
	const struct rate_limit limit = {1, THREADS * EACH / 2};
	char id[ID_SIZE];
	size_t taken = 0;

	name(1, id);
	for (int i = 0; i < EACH; i++) {
		struct rate_state status;

		taken += rate_table_take(arg, id, &limit, SECOND, &status);
	}
	return (void *)taken;
}

static void test_many_threads(void **state)
{
	pthread_t threads[THREADS];
	size_t taken = 0;

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_many, *state);
	for (size_t i = 0; i < THREADS; i++) {
		void *n;

		pthread_join(threads[i], &n);
		taken += (size_t)n;
	}
	assert_int_equal(taken, THREADS * EACH / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_companies_do_not_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_buckets_give_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
	};

	return cmocka_run_group_tests_name("rate_table", tests, NULL, NULL);
}
