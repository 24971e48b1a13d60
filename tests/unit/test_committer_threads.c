/*
 * committer: many threads at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "tests/unit/commit_rig.h"

enum { THREADS = 6, JOBS_OF_EACH = 150 };

struct submitter {
	struct committer *committer;
	int number;
	int failures;
};

static void *submit_many(void *arg)
{
	struct submitter *submitter = arg;
	struct commit_item *items = mem_alloc(JOBS_OF_EACH, sizeof(*items));

	for (int i = 0; i < JOBS_OF_EACH; i++) {
		commit_rig_item(&items[i], submitter->number * 10000 + i);
		if (committer_run(submitter->committer, commit_rig_run_item,
			    &items[i], NULL) != 0)
			submitter->failures++;
	}
	free(items);
	return NULL;
}

static void run_many_threads(struct temp_db *temp, struct committer *committer)
{
	struct submitter submitters[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		submitters[i] = (struct submitter){committer, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many,
					 &submitters[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(submitters[i].failures, 0);
	}
	assert_int_equal(committer_stats(committer).jobs, THREADS * JOBS_OF_EACH);
	committer_free(committer);
	assert_int_equal(commit_rig_count(temp->db), THREADS * JOBS_OF_EACH);
}

static void test_many_threads(void **state)
{
	run_many_threads(*state, commit_rig_start(*state));
}

static void test_many_threads_share(void **state)
{
	run_many_threads(*state, commit_rig_start_shared(*state));
}

/* The first commits, and does not get on until it may; the others come
 * meanwhile. */
struct sharer {
	struct committer *committer;
	pthread_t thread;
	int number;
	sem_t open;
	atomic_bool running;
	int result;
};

static int run_when_open(struct db *db, void *arg, struct err *err)
{
	struct sharer *sharer = arg;

	sharer->running = true;
	while (sharer->number == 0 && sem_wait(&sharer->open) != 0)
		;
	return commit_rig_insert(db, sharer->number, NULL, err);
}

static void *share(void *arg)
{
	struct sharer *sharer = arg;

	sharer->result = committer_run(
		sharer->committer, run_when_open, sharer, NULL);
	return NULL;
}

/* Returns when the thread's job is in the committer's hands. */
static void start_sharer(
	struct sharer *sharer, struct committer *committer, int number)
{
	*sharer = (struct sharer){.committer = committer, .number = number};
	sem_init(&sharer->open, 0, 0);
	assert_int_equal(pthread_create(&sharer->thread, NULL, share, sharer), 0);
	while (number == 0 ? !sharer->running
			   : committer_stats(committer).waiting < (size_t)number)
		sched_yield();
}

/* Who waits while another commits is in the next commit, with all the others. */
static void test_shared_batches(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start_shared(temp);
	struct sharer sharers[THREADS];

	for (int i = 0; i < THREADS; i++)
		start_sharer(&sharers[i], committer, i);
	sem_post(&sharers[0].open);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(sharers[i].thread, NULL);
		assert_int_equal(sharers[i].result, 0);
		sem_destroy(&sharers[i].open);
	}
	assert_int_equal(committer_stats(committer).jobs, THREADS);
	assert_int_equal(committer_stats(committer).commits, 2);
	committer_free(committer);
	assert_int_equal(commit_rig_count(temp->db), THREADS);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(many_threads),
		TEST(many_threads_share),
		TEST(shared_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
