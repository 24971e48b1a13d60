/*
 * committer: what fails, fails for those whom it concerns, and it goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdio.h>

#include "tests/unit/commit_rig.h"

/* Nothing is written to a file that nobody finds again. */
static void test_replaced_file(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	_cleanup_free_ char *aside = temp_db_file(temp, "aside.db");
	struct err err = ERR_INIT;

	assert_int_equal(committer_run(committer, commit_rig_run_one, NULL, &err), 1);
	assert_int_equal(rename(temp->path, aside), 0);
	assert_int_equal(committer_run(committer, commit_rig_run_one, NULL, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(rename(aside, temp->path), 0);
	assert_int_equal(committer_run(committer, commit_rig_run_one, NULL, &err), 1);
	committer_free(committer);
}

static int limit_pages(struct db *db, void *arg, struct err *err)
{
	static const char sql_limit[] = "PRAGMA max_page_count=60";
	struct db_stmt *stmt;

	(void)arg;
	if (db_start(db, sql_limit, NULL, &stmt, err) != 0 || db_step(stmt, err) != 1)
		return -1;
	db_reset(stmt);
	return 0;
}

/* The engine is full in the middle of a batch. What was told is what is there,
 * and afterwards it goes on. */
static void test_full(void **state)
{
	ONLY_SQLITE(state);
	enum { JOBS = 5, LARGE = 2 };
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[JOBS], after;
	struct commit_gate gate;

	OK(committer_run(committer, limit_pages, NULL, &why));
	commit_rig_close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		commit_rig_item(&items[i], i);
		items[i].bytes = i == LARGE ? 1 << 20 : 10;
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	/* In the batch, or in the next one; the one after that is free. */
	committer_run(committer, commit_rig_run_one, NULL, NULL);
	commit_rig_item(&after, JOBS);
	OK(committer_run(committer, commit_rig_run_item, &after, &why));
	committer_free(committer);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, commit_rig_has(temp->db, i) ? 0 : -1);
	}
	assert_int_equal(items[LARGE].result, -1);
	assert_int_equal(items[LARGE].code, ERR_TEMPORARY);
	OK(db_check(temp->db, &why));
}

/* The engine gives up the whole transaction, as it does on i/o errors. */
static int run_and_lose(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	db_rollback(db);
	return err_set(err, ERR_TEMPORARY, "gone");
}

static int run_or_lose(struct db *db, void *arg, struct err *err)
{
	const struct commit_item *item = arg;

	return item->bytes ? run_and_lose(db, NULL, err) : 0;
}

/* What others write says nothing about what could not be written. */
static void test_failure_is_told(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[2];

	assert_string_equal(committer_stats(committer).failure, "");
	for (int i = 0; i < 2; i++) {
		commit_rig_item(&items[i], i);
		items[i].job.run = run_or_lose;
		items[i].bytes = i == 0;
		committer_submit(committer, &items[i].job);
		/* In the same transaction, or in the next one. */
		committer_run(committer, commit_rig_run_one, NULL, NULL);
		assert_int_equal(committer_run(committer, commit_rig_run_one, NULL, NULL), 1);
		assert_string_equal(committer_stats(committer).failure, i == 0 ? "gone" : "");
	}
	committer_free(committer);
}

static int run_and_lose_silently(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	db_rollback(db);
	return 0;
}

static void test_lost_transaction(void **state)
{
	static const struct {
		int (*run)(struct db *db, void *arg, struct err *err);
		int first; /* of the items; each case has its own */
	} cases[] = {
		{run_and_lose, 10},
		{run_and_lose_silently, 20},
	};
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		struct commit_item items[3], after;
		struct commit_gate gate;

		commit_rig_close_gate(committer, &gate);
		for (int i = 0; i < 3; i++) {
			commit_rig_item(&items[i], cases[c].first + i);
			if (i == 1)
				items[i].job.run = cases[c].run;
			committer_submit(committer, &items[i].job);
		}
		sem_post(&gate.open);
		commit_rig_item(&after, cases[c].first + 3);
		/* In the batch, or in the next one. */
		committer_run(committer, commit_rig_run_item, &after, NULL);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(items[i].told, 1);
			assert_int_equal(items[i].result, -1);
			assert_int_equal(items[i].code, ERR_TEMPORARY);
			assert_false(commit_rig_has(temp->db, cases[c].first + i));
		}
	}
	committer_free(committer);
}

static int defer_orphan(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	return db_exec(db,
		"PRAGMA defer_foreign_keys=ON;"
		"INSERT INTO email_content (seq, html, text)"
		" VALUES (7, '', '')",
		err);
}

static void test_commit_fails(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item good, bad, denied;
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	commit_rig_item(&good, 1);
	commit_rig_item(&bad, 2);
	commit_rig_item(&denied, 3);
	bad.job.run = defer_orphan;
	denied.job.run = commit_rig_run_and_fail;
	committer_submit(committer, &good.job);
	committer_submit(committer, &bad.job);
	committer_submit(committer, &denied.job);
	sem_post(&gate.open);
	committer_free(committer);
	assert_int_equal(good.result, -1);
	assert_int_equal(bad.result, -1);
	assert_int_equal(denied.result, -1);
	/* No verdict on what another has undone. */
	assert_int_equal(denied.code, good.code);
	assert_int_equal(commit_rig_count(temp->db), 0);
}

static int no_waiting(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	db_set_wait(db, 0);
	return 0;
}

static void test_begin_fails(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item item;
	struct err err = ERR_INIT;

	commit_rig_item(&item, 1);
	OK(committer_run(committer, no_waiting, NULL, &why));
	OK(db_begin(temp->db, &why));
	assert_int_equal(commit_rig_count(temp->db), 0);
	assert_int_equal(committer_run(committer, commit_rig_run_item, &item, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	db_rollback(temp->db);
	OK(committer_run(committer, commit_rig_run_item, &item, &why));
	committer_free(committer);
	assert_int_equal(commit_rig_count(temp->db), 1);
}

static int post_twice(struct db *db, void *arg, struct err *err)
{
	static const char sql_post[] = "INSERT INTO item (number, data) VALUES ($number, 'posted')";
	const struct commit_item *item = arg;

	for (int i = 0; i < 2; i++)
		if (db_post(db, sql_post, DB_PARAMS(DB_INT("$number", item->number)), err) < 0)
			return -1;
	return 0;
}

/* Also if the engine learns it with the commit, the others of the batch are committed. */
static void test_posted_fails(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = commit_rig_start(temp);
	struct commit_item items[4];
	struct commit_gate gate;

	commit_rig_close_gate(committer, &gate);
	for (int i = 0; i < 4; i++) {
		commit_rig_item(&items[i], i + 1);
		items[i].job.repeatable = true;
		if (i % 2 == 1)
			items[i].job.run = post_twice;
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	committer_free(committer);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, i % 2 == 1 ? -1 : 0);
		assert_int_equal(items[i].code, i % 2 == 1 ? ERR_EXISTS : ERR_NONE);
		assert_int_equal(commit_rig_has(temp->db, i + 1), i % 2 == 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(replaced_file),
		TEST(full),
		TEST(failure_is_told),
		TEST(lost_transaction),
		TEST(commit_fails),
		TEST(begin_fails),
		TEST(posted_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
