/*
 * committer: jobs in batches, each with a result of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <semaphore.h>

#include "tests/unit/commit_rig.h"
#include "tests/unit/count_syncs.h"

static int run_nothing(struct db *db, void *arg, struct err *err)
{
	(void)db;
	(void)arg;
	(void)err;
	return 0;
}

/* A batch waits for the disk unless all its jobs are lazy. */
static void test_lazy_jobs(void **state)
{
	ONLY_SQLITE(state);
	static const struct {
		bool lazy[2];
		int syncs;
	} cases[] = {
		{{false, false}, 1},
		{{true, false}, 1},
		{{false, true}, 1},
		{{true, true}, 0},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct committer *committer = commit_rig_start(temp);
		struct commit_item items[2];
		struct commit_gate gate;
		int before;

		/* The first sync of a handle is one of the folder as well. */
		OK(committer_run(committer, run_nothing, NULL, &why));
		before = count_syncs();
		commit_rig_close_gate(committer, &gate);
		for (int j = 0; j < 2; j++) {
			commit_rig_item(&items[j], (int64_t)i * 2 + j);
			items[j].job.lazy = cases[i].lazy[j];
			committer_submit(committer, &items[j].job);
		}
		sem_post(&gate.open);
		committer_free(committer);
		assert_int_equal(count_syncs() - before, 1 + cases[i].syncs);
		assert_true(commit_rig_has(temp->db, items[0].number));
		assert_true(commit_rig_has(temp->db, items[1].number));
	}
}

static void test_one_commit_for_all(void **state)
{
	enum { JOBS = 300 };
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[JOBS];
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		commit_rig_item(&items[i], i);
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	OK(committer_run(
		committer, commit_rig_run_item, &(struct commit_item){.number = JOBS}, &why));
	assert_int_equal(committer_stats(committer).jobs, JOBS + 2);
	assert_in_range(committer_stats(committer).commits, 2, 3);
	committer_free(committer);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, 0);
	}
	assert_int_equal(commit_rig_count(temp->db), JOBS + 1);
}

static void test_large_batches_are_cut(void **state)
{
	enum { JOBS = 1500 };
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item *items = mem_alloc(JOBS, sizeof(*items));
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		commit_rig_item(&items[i], i);
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	committer_free(committer);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(items[i].told, 1);
	assert_int_equal(commit_rig_count(temp->db), JOBS);
	free(items);
}

/* The first of a batch has no savepoint; nor has one that can be repeated, as all before it. */
static void test_failure_is_undone_alone(void **state)
{
	static const bool repeatable[][4] = {
		{false}, {true, true, true, true}, {true, true}, {true, false, true, true}};
	struct temp_db *temp = *state;

	for (int n = 0; n < 3 * (int)ARRAY_SIZE(repeatable); n++) {
		struct committer *committer = commit_rig_start(temp);
		struct commit_item items[4];
		struct commit_gate gate;
		int failing = n % 3, base = n * 10, kept = failing == 0 ? 1 : 0;

		commit_rig_close_gate(committer, &gate);
		for (int i = 0; i < 4; i++) {
			/* The last one: a double. */
			commit_rig_item(&items[i], base + (i < 3 ? i : kept));
			items[i].job.repeatable = repeatable[n / 3][i];
			if (i == failing)
				items[i].job.run = commit_rig_run_and_fail;
			committer_submit(committer, &items[i].job);
		}
		sem_post(&gate.open);
		committer_free(committer);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(items[i].result, i == failing ? -1 : 0);
			assert_int_equal(commit_rig_has(temp->db, base + i), i != failing);
		}
		assert_int_equal(items[failing].code, ERR_INVALID);
		assert_int_equal(items[3].result, -1);
		assert_int_equal(items[3].code, ERR_EXISTS);
		assert_int_equal(commit_rig_count(temp->db), 2 * (n + 1));
	}
}

static void test_results(void **state)
{
	struct temp_db *temp = *state;
	struct committer *kinds[] = {commit_rig_start(temp), commit_rig_start_shared(temp),
		committer_new_inline(temp->db)};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct commit_item item = {.number = (int64_t)i};
		struct err err = ERR_INIT;

		assert_int_equal(committer_run(kinds[i], commit_rig_run_one, NULL, &err), 1);
		assert_int_equal(committer_run(kinds[i], commit_rig_run_item, &item, &err), 0);
		assert_int_equal(err.code, ERR_NONE);
		assert_int_equal(committer_run(kinds[i], commit_rig_run_item, &item, &err), -1);
		assert_int_equal(err.code, ERR_EXISTS);
		assert_int_equal(committer_run(kinds[i], commit_rig_run_item, &item, NULL), -1);
		assert_int_equal(committer_stats(kinds[i]).jobs, 4);
		assert_int_equal(committer_stats(kinds[i]).commits, 4);
		committer_free(kinds[i]);
		assert_false(db_in_transaction(temp->db));
		assert_true(commit_rig_has(temp->db, (int64_t)i));
	}
}

/* A chain: each done() submits the next. */
struct chain {
	struct commit_item item;
	struct committer *committer;
	int left;
	sem_t *end;
};

static void go_on(void *arg, int result, const struct err *err)
{
	struct chain *chain = arg;

	commit_rig_note(&chain->item, result, err);
	if (--chain->left == 0) {
		sem_post(chain->end);
		return;
	}
	chain->item.number++;
	committer_submit(chain->committer, &chain->item.job);
}

static void test_submit_from_done(void **state)
{
	struct temp_db *temp = *state;
	struct committer *kinds[] = {commit_rig_start(temp), committer_new_inline(temp->db)};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct chain chain = {.committer = kinds[i], .left = 20};
		sem_t end;

		sem_init(&end, 0, 0);
		chain.end = &end;
		commit_rig_item(&chain.item, (int64_t)i * 1000);
		chain.item.job.done = go_on;
		chain.item.job.arg = &chain;
		chain.item.job.run = commit_rig_run_item;
		committer_submit(kinds[i], &chain.item.job);
		while (sem_wait(&end) != 0)
			;
		committer_free(kinds[i]);
		assert_int_equal(chain.item.told, 20);
		assert_int_equal(chain.item.result, 0);
	}
	assert_int_equal(commit_rig_count(temp->db), 40);
}

static void test_no_database(void **state)
{
	static const char path[] = "/nonexistent/postern.db";
	struct committer *committer = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(committer_new(path, &committer, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_int_equal(committer_new_shared(path, &committer, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_null(committer);
	committer_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_commit_for_all),
		TEST(lazy_jobs),
		TEST(large_batches_are_cut),
		TEST(failure_is_undone_alone),
		TEST(results),
		TEST(submit_from_done),
		TEST(no_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
