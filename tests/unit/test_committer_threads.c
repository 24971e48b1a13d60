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
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
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
		if (committer_run(submitter->committer, commit_rig_run_item, &items[i], NULL) != 0)
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
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
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
	int64_t row;
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
	return commit_rig_insert(db, sharer->row, NULL, err);
}

static void *share(void *arg)
{
	struct sharer *sharer = arg;

	sharer->result = committer_run(sharer->committer, run_when_open, sharer, NULL);
	return NULL;
}

/* Returns when the thread's job is in the committer's hands. */
static void start_sharer(
	struct sharer *sharer, struct committer *committer, int number, int64_t row)
{
	*sharer = (struct sharer){.committer = committer, .number = number, .row = row};
	sem_init(&sharer->open, 0, 0);
	assert_int_equal(pthread_create(&sharer->thread, NULL, share, sharer), 0);
	while (number == 0 ? !sharer->running : committer_stats(committer).waiting < (size_t)number)
		sched_yield();
}

/* Who waits while another commits is in the next commit, with all the others. */
static void test_shared_batches(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start_shared(temp);
	struct sharer sharers[THREADS];

	for (int i = 0; i < THREADS; i++)
		start_sharer(&sharers[i], committer, i, i);
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

/* Two jobs in one commit, behind one that holds the committer. The rows are new ones. */
static void commit_two_at_once(struct committer *committer, int64_t row)
{
	struct sharer sharers[3];

	for (int i = 0; i < 3; i++)
		start_sharer(&sharers[i], committer, i, row + i);
	sem_post(&sharers[0].open);
	for (int i = 0; i < 3; i++) {
		pthread_join(sharers[i].thread, NULL);
		assert_int_equal(sharers[i].result, 0);
		sem_destroy(&sharers[i].open);
	}
}

static void *run_one(void *committer)
{
	committer_run(committer, commit_rig_run_one, NULL, NULL);
	return NULL;
}

/* Behind a commit of several jobs, one waits for a caller who is expected. It waits for
 * milliseconds only, so the caller may be late, but not always. */
static void test_shared_gathers(void **state)
{
	enum { TRIES = 1000 };
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start_shared(temp);
	uint64_t commits = 0;
	pthread_t thread;

	for (int i = 0; i < TRIES && commits != 1; i++) {
		uint64_t before;

		commit_two_at_once(committer, i * 3);
		before = committer_stats(committer).commits;
		committer_expect(committer, 2);
		assert_int_equal(pthread_create(&thread, NULL, run_one, committer), 0);
		while (committer_stats(committer).waiting == 0 &&
			committer_stats(committer).commits == before)
			sched_yield();
		run_one(committer);
		pthread_join(thread, NULL);
		committer_expect(committer, -2);
		commits = committer_stats(committer).commits - before;
	}
	assert_int_equal(commits, 1);
	committer_free(committer);
}

static void submit_patient(struct committer *committer, struct commit_item *item, int64_t number)
{
	commit_rig_item(item, number);
	item->job.lazy = item->job.patient = true;
	committer_submit(committer, &item->job);
}

/* Patient jobs are done alone, when nobody else comes; with others; and at the
 * end. What gathers has one commit. */
static void test_patient(void **state)
{
	enum { PATIENT = 100 };
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[PATIENT], with, last;

	for (int i = 0; i < PATIENT; i++) {
		submit_patient(committer, &items[i], i);
		sched_yield();
	}
	while (committer_stats(committer).jobs < PATIENT)
		sched_yield();
	assert_true(committer_stats(committer).commits < PATIENT / 2);
	submit_patient(committer, &with, PATIENT);
	commit_rig_item(&last, PATIENT + 1);
	assert_int_equal(committer_run(committer, commit_rig_run_item, &last, NULL), 0);
	assert_true(commit_rig_has(temp->db, PATIENT));
	submit_patient(committer, &last, PATIENT + 2);
	committer_free(committer);
	assert_int_equal(last.told, 1);
	assert_int_equal(commit_rig_count(temp->db), PATIENT + 3);
}

static int see_other(struct db *db, void *arg, struct err *err)
{
	const struct commit_item *item = arg;

	(void)err;
	return commit_rig_has(db, item->number + 1);
}

/* A patient job that is to be durable lets lazy ones commit without it, until its patience is over:
 * at the latest on a machine that is slow enough for that to happen a hundred times in a row. */
static void test_patient_durable(void **state)
{
	struct temp_db *temp = *state;
	bool apart = false;

	for (int i = 0; i < 100 && !apart; i++) {
		struct committer *committer = commit_rig_start(temp);
		struct commit_item durable, lazy;
		struct commit_gate gate;
		uint64_t jobs;

		commit_rig_close_gate(committer, &gate);
		commit_rig_item(&durable, 2 * i);
		durable.job.patient = true;
		committer_submit(committer, &durable.job);
		commit_rig_item(&lazy, 2 * i + 1);
		lazy.job.lazy = true;
		committer_submit(committer, &lazy.job);
		sem_post(&gate.open);
		while ((jobs = committer_stats(committer).jobs) < 2)
			sched_yield();
		apart = jobs == 2 && committer_stats(committer).waiting == 1;
		committer_free(committer);
		assert_int_equal(durable.told + lazy.told, 2);
	}
	assert_true(apart);
}

/* The job that somebody waits for is the first of its transaction, and so needs no savepoint. */
static void test_patient_last(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[2];
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	submit_patient(committer, &items[0], 2);
	commit_rig_item(&items[1], 1);
	items[1].job.run = see_other;
	committer_submit(committer, &items[1].job);
	sem_post(&gate.open);
	committer_free(committer);
	assert_int_equal(items[1].result, 0);
	assert_int_equal(items[0].told, 1);
	assert_true(commit_rig_has(temp->db, 2));
}

/* The order in which jobs run, and in which transaction. */
struct turns {
	struct committer *committer;
	char order[64];
};
struct turn {
	struct commit_job job;
	struct turns *turns;
	const char *name;
};

static int run_turn(struct db *db, void *arg, struct err *err)
{
	struct turn *turn = arg;
	struct turns *turns = turn->turns;
	size_t len = strlen(turns->order);

	(void)db;
	(void)err;
	snprintf(turns->order + len, sizeof(turns->order) - len, "%s%d ", turn->name,
		(int)committer_stats(turns->committer).commits);
	return 0;
}

static void turn_done(void *arg, int result, const struct err *err)
{
	(void)arg;
	(void)err;
	assert_int_equal(result, 0);
}

struct turn_row {
	const char *name, *company_id;
	unsigned weight;
};

/* Submits all while another commit is under way. */
static void play_turns(
	struct temp_db *temp, const struct turn_row *rows, size_t n, const char *expected)
{
	struct turns turns = {.committer = commit_rig_start(temp)};
	struct turn *all = mem_alloc(n, sizeof(*all));
	struct commit_gate gate;

	commit_rig_close_gate(turns.committer, &gate);
	for (size_t i = 0; i < n; i++) {
		all[i] = (struct turn){
			.job = {.run = run_turn,
				.done = turn_done,
				.arg = &all[i],
				.company_id = rows[i].company_id,
				.weight = rows[i].weight},
			.turns = &turns,
			.name = rows[i].name,
		};
		committer_submit(turns.committer, &all[i].job);
	}
	sem_post(&gate.open);
	committer_free(turns.committer);
	assert_string_equal(turns.order, expected);
	free(all);
}

/* A company that submits many long jobs holds up short ones, and the long ones of other companies,
 * by one of them. */
static void test_long(void **state)
{
	static const struct turn_row rows[] = {
		{"a", "A", COMMIT_LONG},
		{"a", "A", COMMIT_LONG},
		{"a", "A", COMMIT_LONG},
		{"b", "B", COMMIT_LONG},
		{"s", NULL, 0},
		{"s", "A", 0},
	};

	play_turns(*state, rows, ARRAY_SIZE(rows), "a1 s2 s2 b3 a4 a5 ");
}

/* A company gets no more than its share of a transaction, and keeps the order of its jobs; what
 * others have submitted after it does not wait for the rest. */
static void test_shares(void **state)
{
	static const struct turn_row rows[] = {
		{"a", "A", COMMIT_SHARE / 2},
		{"b", "A", COMMIT_SHARE / 2},
		{"c", "A", COMMIT_SHARE},
		{"d", "A", 0},
		{"x", "B", 0},
		{"y", NULL, COMMIT_LONG},
	};

	play_turns(*state, rows, ARRAY_SIZE(rows), "a1 b1 x1 y1 c2 d3 ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(many_threads),
		TEST(many_threads_share),
		TEST(shared_batches),
		TEST(shared_gathers),
		TEST(patient),
		TEST(patient_last),
		TEST(patient_durable),
		TEST(long),
		TEST(shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
