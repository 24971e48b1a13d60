/*
 * drain: who is waited for, and who is turned away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "milter/drain.h"

enum { THREADS = 8, ROUNDS = 2000, LONG_MS = 60 * 1000 };

static void test_idle(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();

	(void)state;
	assert_true(drain_wait(drain, LONG_MS));
	drain_close(drain);
}

static void test_time_is_up(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();

	(void)state;
	assert_true(drain_begin(drain));
	assert_false(drain_wait(drain, 0));
	assert_false(drain_wait(drain, 20));
	drain_end(drain);
	assert_true(drain_wait(drain, 0));
	drain_close(drain);
}

/* Those that begin later are served but not waited for. */
static void test_late_message(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();

	(void)state;
	assert_true(drain_wait(drain, 0));
	assert_false(drain_begin(drain));
	assert_true(drain_enter(drain));
	drain_leave(drain);
	drain_close(drain);
}

static void test_late_decision(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();

	(void)state;
	assert_true(drain_enter(drain));
	drain_leave(drain);
	drain_close(drain);
	assert_false(drain_enter(drain));
}

static void test_answers(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();

	(void)state;
	assert_true(drain_wait_answers(drain, LONG_MS));
	drain_answer(drain);
	drain_answer(drain);
	drain_answered(drain);
	drain_close(drain);
	assert_false(drain_wait_answers(drain, 20));
	drain_answered(drain);
	assert_true(drain_wait_answers(drain, 0));
}

struct traffic {
	struct drain *drain;
	atomic_int deciding;
	atomic_bool closed;
	atomic_int begun;
};

/* Messages one after the other until a decision is turned away. */
static void *run_traffic(void *arg)
{
	struct traffic *traffic = arg;

	for (;;) {
		bool counted = drain_begin(traffic->drain);
		bool entered = drain_enter(traffic->drain);

		traffic->begun++;
		if (entered) {
			traffic->deciding++;
			sched_yield();
			assert_false(traffic->closed);
			traffic->deciding--;
			drain_leave(traffic->drain);
		}
		if (counted)
			drain_end(traffic->drain);
		if (!entered)
			return NULL;
	}
}

static void test_many_at_once(void **state)
{
	_cleanup_(drain) struct drain *drain = drain_new();
	struct traffic traffic = {.drain = drain};
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_traffic, &traffic);
	while (traffic.begun < ROUNDS)
		sched_yield();
	assert_true(drain_wait(drain, LONG_MS));
	drain_close(drain);
	assert_int_equal(traffic.deciding, 0);
	traffic.closed = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_time_is_up),
		cmocka_unit_test(test_late_message),
		cmocka_unit_test(test_late_decision),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
