/* pace: when it is time, and for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "core/base/mem.h"
#include "core/base/clock.h"

enum { EVERY_US = 100, THREADS = 4, ROUNDS = 1000 };

static const struct {
	int64_t now_us;
	bool is_time;
} looks[] = {
	{5000, true},
	{5000, false},
	{5099, false},
	{5100, true},
	{5199, false},
	{9000, true},
	{9099, false},
	{9100, true},
};

static void test_now_and_then(void **state)
{
	struct pace pace = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		assert_int_equal(pace_is_time(&pace, EVERY_US, looks[i].now_us), looks[i].is_time);
}

static struct pace shared;
static atomic_int times;

static void *look(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++)
		atomic_fetch_add(&times, pace_is_time(&shared, EVERY_US, i * EVERY_US));
	return arg;
}

/* Those who come too late for a time find it taken. */
static void test_of_several_threads_one(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_in_range(times, 1, ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_now_and_then),
		cmocka_unit_test(test_of_several_threads_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
