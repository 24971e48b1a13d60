/* inbox: letters from many threads arrive once each, in order. */
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
#include "httpd/worker/inbox.h"

enum { THREADS = 4, LETTERS = 2000 };

struct numbered {
	struct letter letter; /* first */
	int sender;
	int number;
};

static struct {
	struct inbox *inbox;
	struct event_base *base;
	int next[THREADS];
	int delivered;
} seen;

static void deliver(struct letter *letter)
{
	struct numbered *numbered = (struct numbered *)letter;

	assert_int_equal(numbered->number, seen.next[numbered->sender]++);
	free(numbered);
	if (++seen.delivered == THREADS * LETTERS)
		event_base_loopbreak(seen.base);
}

static void *post_all(void *arg)
{
	int sender = *(int *)arg;

	for (int i = 0; i < LETTERS; i++) {
		struct numbered *numbered = mem_new(struct numbered);

		numbered->letter.deliver = deliver;
		numbered->sender = sender;
		numbered->number = i;
		inbox_post(seen.inbox, &numbered->letter);
	}
	return NULL;
}

static void set_up_seen(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.base = event_base_new();
	seen.inbox = inbox_new(seen.base);
	assert_non_null(seen.inbox);
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
	assert_int_equal(seen.delivered, THREADS * LETTERS);
	inbox_free(seen.inbox);
	event_base_free(seen.base);
}

static void test_free_delivers_the_rest(void **state)
{
	int sender = 0;

	(void)state;
	set_up_seen();
	post_all(&sender);
	assert_int_equal(seen.delivered, 0);
	inbox_free(seen.inbox);
	assert_int_equal(seen.delivered, LETTERS);
	event_base_free(seen.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_free_delivers_the_rest),
	};
	int failed;

	evthread_use_pthreads();
	failed = cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
