/*
 * work_pool: whose turn it is, and that nobody takes all threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/worker/work_pool.h"

enum { WORKS = 64 };

struct rig;

struct job {
	struct work work; /* first */
	struct rig *rig;
	char name;
	int pieces;  /* left */
	sem_t *gate; /* waited for in each piece; NULL: none */
};

struct rig {
	struct event_base *base;
	struct task_queue *tasks;
	struct work_pool *pool;
	struct job jobs[WORKS];
	size_t n, back;
	pthread_t loop;
	sem_t started;
	pthread_mutex_t lock;
	char order[WORKS * 4]; /* names of the pieces as they were done */
	char returned[WORKS];  /* and of the jobs as they came back */
};

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);

	rig->base = event_base_new();
	rig->tasks = task_queue_new(rig->base);
	rig->pool = work_pool_new(2);
	assert_non_null(rig->pool);
	rig->loop = pthread_self();
	sem_init(&rig->started, 0, 0);
	pthread_mutex_init(&rig->lock, NULL);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	work_pool_free(rig->pool);
	task_queue_free(rig->tasks);
	event_base_free(rig->base);
	sem_destroy(&rig->started);
	pthread_mutex_destroy(&rig->lock);
	free(rig);
	return 0;
}

static bool run(struct work *work)
{
	struct job *job = (struct job *)work;
	struct rig *rig = job->rig;

	assert_false(pthread_equal(pthread_self(), rig->loop));
	sem_post(&rig->started);
	if (job->gate)
		sem_wait(job->gate);
	pthread_mutex_lock(&rig->lock);
	rig->order[strlen(rig->order)] = job->name;
	pthread_mutex_unlock(&rig->lock);
	return --job->pieces <= 0;
}

static void on_back(struct task *task)
{
	struct job *job = (struct job *)task;
	struct rig *rig = job->rig;

	assert_true(pthread_equal(pthread_self(), rig->loop));
	rig->returned[rig->back++] = job->name;
	if (rig->back == rig->n)
		event_base_loopbreak(rig->base);
}

static void submit(struct rig *rig, const char *company, char name, int pieces, sem_t *gate)
{
	struct job *job = &rig->jobs[rig->n++];

	*job = (struct job){
		.work = {.done = {.run = on_back},
			.tasks = rig->tasks,
			.company_id = company,
			.run = run},
		.rig = rig,
		.name = name,
		.pieces = pieces,
		.gate = gate,
	};
	work_pool_submit(rig->pool, &job->work);
}

static void wait_for_all(struct rig *rig)
{
	if (rig->back < rig->n)
		event_base_dispatch(rig->base);
	assert_int_equal(rig->back, rig->n);
}

static void test_work_comes_back(void **state)
{
	struct rig *rig = *state;

	submit(rig, "A", 'a', 3, NULL);
	wait_for_all(rig);
	assert_string_equal(rig->order, "aaa");
	assert_string_equal(rig->returned, "a");
}

/* However much one company wants done, and while its work does not end, another
 * one's is. */
static void test_no_company_takes_all_threads(void **state)
{
	struct rig *rig = *state;
	sem_t gate;

	sem_init(&gate, 0, 0);
	for (int i = 0; i < 5; i++)
		submit(rig, "greedy", 'g', 1, &gate);
	sem_wait(&rig->started);
	submit(rig, "other", 'o', 2, NULL);
	while (rig->back == 0)
		event_base_loop(rig->base, EVLOOP_ONCE);
	assert_string_equal(rig->returned, "o");
	assert_string_equal(rig->order, "oo");
	for (int i = 0; i < 5; i++)
		sem_post(&gate);
	wait_for_all(rig);
	assert_string_equal(rig->returned, "oggggg");
	sem_destroy(&gate);
}

/* On what threads are left, companies take turns, and so do the works of one. */
static void test_companies_take_turns(void **state)
{
	struct rig *rig = *state;
	sem_t gate;

	sem_init(&gate, 0, 0);
	submit(rig, "blocker", '.', 1, &gate);
	sem_wait(&rig->started);
	/* One thread is left. */
	submit(rig, "first", 'x', 1, &gate);
	sem_wait(&rig->started);
	submit(rig, "A", 'a', 3, NULL);
	submit(rig, "A", 'b', 1, NULL);
	submit(rig, "B", 'c', 2, NULL);
	submit(rig, "C", 'd', 1, NULL);
	sem_post(&gate);
	while (rig->back < 5)
		event_base_loop(rig->base, EVLOOP_ONCE);
	sem_post(&gate);
	wait_for_all(rig);
	/* Either of the first two was let go. */
	rig->order[strcspn(rig->order, ".")] = 'x';
	assert_string_equal(rig->order, "xacdbcaax");
	sem_destroy(&gate);
}

static void test_many(void **state)
{
	static const char *const companies[] = {"A", "B", "C", "D", "E"};
	struct rig *rig = *state;

	for (int i = 0; i < WORKS; i++)
		submit(rig, companies[i % 5], 'x', 1 + i % 3, NULL);
	wait_for_all(rig);
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_work_comes_back),
		WITH_RIG(test_no_company_takes_all_threads),
		WITH_RIG(test_companies_take_turns),
		WITH_RIG(test_many),
	};

	return cmocka_run_group_tests_name("work_pool", tests, NULL, NULL);
}
