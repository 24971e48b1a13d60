/*
 * committer: transactions that fail for no fault of their own, on a server. Those whose jobs can
 * all be repeated are repeated; the others fail as temporary.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/commit_rig.h"

#define ONLY_SERVER(state)                                                                         \
	do {                                                                                       \
		if (!db_is_url(((const struct temp_db *)*(state))->name))                          \
			skip();                                                                    \
	} while (0)

/* A job that adds an item and then meets a fault, the first times that it runs. */
struct unlucky {
	struct commit_job job;
	int (*fault)(struct db *db, struct unlucky *unlucky, struct err *err);
	int faults; /* how often */
	int runs;
	int64_t number;
	int result;
	struct err err;
	bool told;
	struct db *watcher; /* on no committer */
	struct db *other;   /* on which another program has a transaction */
	pthread_t thread;
};

static int unlucky_run(struct db *db, void *arg, struct err *err)
{
	struct unlucky *unlucky = arg;

	if (commit_rig_insert(db, unlucky->number, "x", err) < 0)
		return -1;
	return unlucky->runs++ < unlucky->faults ? unlucky->fault(db, unlucky, err) : 0;
}

static void unlucky_done(void *arg, int result, const struct err *err)
{
	struct unlucky *unlucky = arg;

	unlucky->result = result;
	unlucky->err = *err;
	unlucky->told = true;
}

static int serialization_fault(struct db *db, struct unlucky *unlucky, struct err *err)
{
	(void)unlucky;
	return db_exec(db, "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$", err);
}

/* An admin, or a server that stops, ends the connection (57P01). */
static int shutdown_fault(struct db *db, struct unlucky *unlucky, struct err *err)
{
	(void)unlucky;
	return db_exec(db, "SELECT pg_terminate_backend(pg_backend_pid())", err);
}

static int ordinary_fault(struct db *db, struct unlucky *unlucky, struct err *err)
{
	(void)unlucky;
	return db_exec(db, "SELECT 1 / 0", err);
}

static void *wait_for_writers(void *arg)
{
	struct unlucky *unlucky = arg;

	OK(db_exec(unlucky->other, "SELECT pg_advisory_xact_lock(8101115116101114); COMMIT", &why));
	return NULL;
}

/* Another program has locked item 1 and waits for our turn to end; we now want item 1. It never
 * looks for deadlocks, so the server takes us for the victim. */
static int deadlock_fault(struct db *db, struct unlucky *unlucky, struct err *err)
{
	static const char sql_waiting[] =
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
		" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

	assert_int_equal(pthread_create(&unlucky->thread, NULL, wait_for_writers, unlucky), 0);
	while (temp_db_number(unlucky->watcher, sql_waiting) == 0)
		usleep(1000);
	return db_exec(db, "UPDATE item SET data = 'ours' WHERE number = 1", err);
}

static void run_unlucky(struct temp_db *temp, struct unlucky *unlucky, int n)
{
	struct committer *committer = commit_rig_start(temp);
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	for (int i = 0; i < n; i++) {
		unlucky[i].job.run = unlucky_run;
		unlucky[i].job.done = unlucky_done;
		unlucky[i].job.arg = &unlucky[i];
		unlucky[i].number = 10 + i;
		committer_submit(committer, &unlucky[i].job);
	}
	sem_post(&gate.open);
	committer_free(committer);
	for (int i = 0; i < n; i++)
		assert_true(unlucky[i].told);
}

static void test_repeated(void **state)
{
	static const struct {
		int (*fault)(struct db *db, struct unlucky *unlucky, struct err *err);
		int faults, at; /* the job that meets it */
		bool repeatable;
		int runs, result;
	} cases[] = {
		{serialization_fault, 1, 0, true, 2, 0},
		{serialization_fault, 4, 1, true, 5, 0},
		{serialization_fault, 100, 1, true, 5, -1},
		{serialization_fault, 1, 1, false, 1, -1},
		{shutdown_fault, 1, 0, true, 2, 0},
		{shutdown_fault, 2, 2, true, 3, 0},
		{shutdown_fault, 1, 0, false, 1, -1},
		/* Run again in a savepoint. */
		{ordinary_fault, 100, 1, true, 2, -1},
		{ordinary_fault, 1, 1, false, 1, -1},
	};
	struct temp_db *temp = *state;

	ONLY_SERVER(state);
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		struct unlucky jobs[3] = {0};
		/* A lost connection takes all with it. */
		bool all = cases[c].fault == shutdown_fault && cases[c].result < 0;

		for (int i = 0; i < 3; i++)
			jobs[i].job.repeatable = cases[c].repeatable;
		jobs[cases[c].at].fault = cases[c].fault;
		jobs[cases[c].at].faults = cases[c].faults;
		run_unlucky(temp, jobs, 3);
		for (int i = 0; i < 3; i++) {
			bool failed = cases[c].result < 0 && (all || i == cases[c].at);

			if (jobs[i].result != (failed ? -1 : 0) ||
				commit_rig_has(temp->db, jobs[i].number) == failed)
				fail_msg("case %zu, job %d: %s", c, i, jobs[i].err.text);
			if (failed && cases[c].fault != ordinary_fault)
				assert_int_equal(jobs[i].err.code, ERR_TEMPORARY);
		}
		assert_int_equal(jobs[cases[c].at].runs, cases[c].runs);
		OK(db_exec(temp->db, "DELETE FROM item", &why));
	}
}

static void test_deadlock(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *other = NULL, *watcher = NULL;

	ONLY_SERVER(state);
	OK(commit_rig_insert(temp->db, 1, "before", &why));
	OK(db_open(temp->name, DB_CREATE, &other, &why));
	OK(db_open(temp->name, DB_READ, &watcher, &why));
	OK(db_exec(other, "SET deadlock_timeout = '1h'", &why));
	for (int repeatable = 0; repeatable < 2; repeatable++) {
		struct unlucky jobs[2] = {0};

		OK(db_exec(other, "BEGIN; UPDATE item SET data = 'theirs' WHERE number = 1", &why));
		for (int i = 0; i < 2; i++)
			jobs[i].job.repeatable = repeatable;
		jobs[1].fault = deadlock_fault;
		jobs[1].faults = 1;
		jobs[1].other = other;
		jobs[1].watcher = watcher;
		run_unlucky(temp, jobs, 2);
		pthread_join(jobs[1].thread, NULL);
		assert_int_equal(jobs[0].result, 0);
		assert_int_equal(jobs[1].result, repeatable ? 0 : -1);
		assert_int_equal(jobs[1].runs, 1 + repeatable);
		if (!repeatable) {
			assert_int_equal(jobs[1].err.code, ERR_TEMPORARY);
			assert_non_null(strstr(jobs[1].err.text, "40P01"));
		}
		OK(db_exec(temp->db, "DELETE FROM item WHERE number >= 10", &why));
	}
}

/* One statement is a transaction by itself. */
static void test_single_statement(void **state)
{
	struct temp_db *temp = *state;

	ONLY_SERVER(state);
	OK(db_exec(temp->db,
		"CREATE SEQUENCE tries;"
		"CREATE FUNCTION fail_twice() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
		" IF nextval('tries') < 3 THEN"
		"  RAISE EXCEPTION 'no' USING ERRCODE = '40P01'; END IF;"
		" RETURN 7; END $$",
		&why));
	assert_int_equal(temp_db_number(temp->db, "SELECT fail_twice()"), 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(repeated),
		TEST(deadlock),
		TEST(single_statement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
