/* task_queue: tasks from many threads run once each, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/worker/task_queue.h"

enum { THREADS = 4, TASKS = 2000 };

struct numbered {
	struct task task; /* first */
	int sender;
	int number;
};

static struct {
	struct task_queue *tasks;
	struct event_base *base;
	int next[THREADS];
	int ran;
} seen;

static void run(struct task *task)
{
	struct numbered *numbered = (struct numbered *)task;

	assert_int_equal(numbered->number, seen.next[numbered->sender]++);
	free(numbered);
	if (++seen.ran == THREADS * TASKS)
		event_base_loopbreak(seen.base);
}

static void *post_all(void *arg)
{
	int sender = *(int *)arg;

	for (int i = 0; i < TASKS; i++) {
		struct numbered *numbered = mem_new(struct numbered);

		numbered->task.run = run;
		numbered->sender = sender;
		numbered->number = i;
		task_queue_post(seen.tasks, &numbered->task);
	}
	return NULL;
}

static void set_up_seen(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.base = event_base_new();
	seen.tasks = task_queue_new(seen.base);
	assert_non_null(seen.tasks);
}

static void test_many_threads(void **state)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	(void)state;
	set_up_seen();
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, post_all, &numbers[i]);
	}
	event_base_dispatch(seen.base);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen.ran, THREADS * TASKS);
	task_queue_free(seen.tasks);
	event_base_free(seen.base);
}

static void test_free_runs_the_rest(void **state)
{
	int sender = 0;

	(void)state;
	set_up_seen();
	post_all(&sender);
	assert_int_equal(seen.ran, 0);
	task_queue_free(seen.tasks);
	assert_int_equal(seen.ran, TASKS);
	event_base_free(seen.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_free_runs_the_rest),
	};
	int failed;

	evthread_use_pthreads();
	failed = cmocka_run_group_tests_name("task_queue", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
