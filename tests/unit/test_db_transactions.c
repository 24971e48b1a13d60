/*
 * db: transactions, what waits for the disk, and writers beside each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/count_syncs.h"
#include "tests/unit/item_db.h"

static void test_transactions(void **state)
{
	struct temp_db *temp = *state;

	assert_false(db_in_transaction(temp->db));
	OK(db_begin(temp->db, &why));
	assert_true(db_in_transaction(temp->db));
	OK(item_db_add(temp->db, "a", &why));
	db_rollback(temp->db);
	assert_false(db_in_transaction(temp->db));
	db_rollback(temp->db);
	assert_int_equal(item_db_count(temp->db), 0);

	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "a", &why));
	OK(db_savepoint(temp->db, &why));
	OK(item_db_add(temp->db, "b", &why));
	db_undo(temp->db);
	OK(db_savepoint(temp->db, &why));
	OK(item_db_add(temp->db, "c", &why));
	OK(db_release(temp->db, &why));
	OK(db_commit(temp->db, &why));
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM item"
				 " WHERE name IN ('a', 'c')"),
		2);
	assert_int_equal(item_db_count(temp->db), 2);
}

/* A reference is checked at once, or at the latest here. */
static void test_commit_fails(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db, "PRAGMA defer_foreign_keys=ON", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) VALUES (7)", &why));
	assert_int_equal(db_commit(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(item_db_count(temp->db), 0);
}

enum way { ALONE, ALL_AT_ONCE, COMMIT, COMMIT_EMPTY, COMMIT_LAZY, ROLLBACK };

static void write_in_this_way(struct db *db, enum way way)
{
	static const char sql_write[] = "INSERT INTO item (data) VALUES (1)";

	if (way == ALL_AT_ONCE)
		OK(db_exec(db, sql_write, &why));
	if (way > ALL_AT_ONCE)
		OK(db_begin(db, &why));
	if (way != ALL_AT_ONCE && way != COMMIT_EMPTY)
		OK(item_db_add(db, NULL, &why));
	if (way == COMMIT || way == COMMIT_EMPTY)
		OK(db_commit(db, &why));
	if (way == COMMIT_LAZY)
		OK(db_commit_lazy(db, &why));
	if (way == ROLLBACK)
		db_rollback(db);
}

/* Who is told of success has waited for the disk, or did not want to. One that
 * wrote nothing waits too: for what others have written lazily. */
static void test_syncs(void **state)
{
	ONLY_SQLITE(state);
	static const struct {
		enum way way;
		int syncs;
	} cases[] = {
		{ALONE, 1},
		{ALL_AT_ONCE, 1},
		{COMMIT, 1},
		{COMMIT_EMPTY, 1},
		{COMMIT_LAZY, 0},
		{ROLLBACK, 0},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int before = count_syncs();

		write_in_this_way(temp->db, cases[i].way);
		assert_int_equal(count_syncs() - before, cases[i].syncs);
	}
	assert_int_equal(item_db_count(temp->db), 4);
}

static void test_reading_syncs_nothing(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	int before = count_syncs();

	OK(db_open(temp->name, DB_READ, &read, &why));
	assert_int_equal(item_db_count(read), 0);
	assert_int_equal(count_syncs(), before);
}

static int64_t log_size(const struct temp_db *temp)
{
	_cleanup_free_ char *path = mem_printf("%s-wal", temp->path);
	struct stat info;

	assert_int_equal(stat(path, &info), 0);
	return info.st_size;
}

/* The disk fails when all is written: nobody is told of success. The kernel forgets what it could
 * not write, so the next commit empties the log instead of trusting another sync. */
static void test_sync_fails(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "x", &why));
	count_syncs_fail(true);
	assert_int_equal(db_commit(temp->db, &err), -1);
	count_syncs_fail(false);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "Input/output error"));
	assert_false(db_in_transaction(temp->db));
	assert_true(log_size(temp) > 0);
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "y", &why));
	OK(db_commit(temp->db, &why));
	assert_int_equal(log_size(temp), 0);
	assert_int_equal(item_db_count(temp->db), 2);
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "z", &why));
	OK(db_commit(temp->db, &why));
	assert_true(log_size(temp) > 0);
}

static int add_two(struct db *db, void *name, struct err *err)
{
	if (item_db_add(db, "first", err) != 0)
		return -1;
	return item_db_add(db, name, err) == 0 ? 5 : -1;
}

static void test_atomic(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	assert_int_equal(db_atomic(temp->db, add_two, (void *)"first", &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(item_db_count(temp->db), 0);

	assert_int_equal(db_atomic(temp->db, add_two, (void *)"second", &err), 5);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(item_db_count(temp->db), 2);
}

static void test_atomic_joins(void **state)
{
	struct temp_db *temp = *state;

	OK(db_begin(temp->db, &why));
	assert_int_equal(db_atomic(temp->db, add_two, (void *)"second", NULL), 5);
	assert_true(db_in_transaction(temp->db));
	db_rollback(temp->db);
	assert_int_equal(item_db_count(temp->db), 0);
}

static void test_disk_full(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_free_ char *big = mem_alloc(1, 1 << 20);
	struct err err = ERR_INIT;

	memset(big, 'x', (1 << 20) - 1);
	OK(item_db_add(temp->db, "a", &why));
	temp_db_number(temp->db, "PRAGMA max_page_count=40");
	OK(db_begin(temp->db, &why));
	assert_int_equal(item_db_add(temp->db, big, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "full"));
	db_undo(temp->db);
	db_rollback(temp->db);
	assert_false(db_in_transaction(temp->db));
	OK(item_db_add(temp->db, "b", &why));
	assert_int_equal(item_db_count(temp->db), 2);
}

static void test_busy(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *other = NULL;
	struct err err = ERR_INIT;

	OK(db_open(temp->name, DB_WRITE, &other, &why));
	db_set_wait(other, 0);
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "w", &why));
	/* The lock is missed at the beginning or by the first statement. */
	assert_int_equal(db_begin(other, &err) < 0 ? -1 : item_db_add(other, "x", &err), -1);
	db_rollback(other);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "locked"));
	assert_false(db_in_transaction(other));
	assert_int_equal(item_db_add(other, "x", &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	OK(db_commit(temp->db, &why));
	OK(item_db_add(other, "x", &why));
}

/* Who waits for another writer sleeps, here instead of in libc; the other one
 * commits meanwhile. */
static struct {
	struct db *committing;
	int n;
} sleeps;

int nanosleep(const struct timespec *span, struct timespec *left)
{
	sleeps.n++;
	if (sleeps.committing)
		OK(db_commit(TAKE_PTR(sleeps.committing), &why));
	return clock_nanosleep(CLOCK_MONOTONIC, 0, span, left);
}

static void test_waits_for_writer(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *other = NULL;
	int before = sleeps.n;

	OK(db_open(temp->name, DB_WRITE, &other, &why));
	OK(db_begin(temp->db, &why));
	OK(item_db_add(temp->db, "a", &why));
	sleeps.committing = temp->db;
	OK(db_begin(other, &why));
	assert_true(sleeps.n > before);
	assert_int_equal(item_db_count(other), 1);
	OK(db_commit(other, &why));
}

/* Each row by itself or all at once, whatever is in them. */
static void test_post_rows(void **state)
{
	static const char sql_add[] =
		"INSERT INTO item (name, data, count)"
		" VALUES ($name, $data, coalesce(nullif($count, 13), $count + 1))";
	static const char sql_change[] =
		"UPDATE item SET count = $count WHERE name = $name AND (count <> $count OR $count > 7)";
	static const char sql_remove[] =
		"DELETE FROM item WHERE name = $name AND $this_host <> 'another'";
	static const char *const names[] = {"a", "{b,\"c\"}", "\\d'", "e f\n", "", "NULL"};
	struct temp_db *temp = *state;
	struct db_rows rows = {0}, changes = {0};

	for (size_t n = 0; n <= ARRAY_SIZE(names); n += 2) {
		OK(db_begin(temp->db, &why));
		for (size_t i = 0; i < n; i++)
			db_rows_add(&rows, DB_PARAMS(DB_INT("$count", 12 + (int64_t)i),
						   DB_TEXT("$name", names[i]),
						   DB_BLOB("$data", i == 2 ? NULL : "\\x\0,", 4)));
		OK(db_post_rows(temp->db, sql_add, &rows, &why));
		OK(db_commit(temp->db, &why));
		assert_int_equal(item_db_count(temp->db), n);
		for (size_t i = 0; i < n; i++)
			db_rows_add(&changes,
				DB_PARAMS(DB_TEXT("$name", names[i]), DB_INT("$count", 7)));
		OK(db_begin(temp->db, &why));
		OK(db_post_rows(temp->db, sql_change, &changes, &why));
		OK(db_commit(temp->db, &why));
		assert_int_equal(temp_db_number(temp->db,
					 "SELECT count(*) FROM item WHERE count = 7"
					 " AND (data IS NULL OR length(data) = 4)"),
			n);
		free(changes.items);
		changes = (struct db_rows){0};
		for (size_t i = 0; i < n; i++)
			db_rows_add(&changes, DB_PARAMS(DB_TEXT("$name", names[i])));
		OK(db_begin(temp->db, &why));
		OK(db_post_rows(temp->db, sql_remove, &changes, &why));
		OK(db_commit(temp->db, &why));
		assert_int_equal(item_db_count(temp->db), 0);
		free(rows.items);
		free(changes.items);
		rows = changes = (struct db_rows){0};
	}
}

/* Nobody waits for anybody: with a wait of 0 it would fail. */
static void test_reader_and_writer(void **state)
{
	static const char sql_names[] = "SELECT name FROM item ORDER BY id";
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	struct db_stmt *stmt;

	OK(db_open(temp->name, DB_READ, &read, &why));
	db_set_wait(read, 0);
	db_set_wait(temp->db, 0);
	OK(item_db_add(temp->db, "a", &why));
	OK(item_db_add(temp->db, "b", &why));
	OK(db_start(read, sql_names, NULL, &stmt, &why));
	assert_int_equal(db_step(stmt, NULL), 1);

	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db, "UPDATE item SET name = name || '2'", &why));
	OK(item_db_add(temp->db, "c", &why));
	assert_int_equal(item_db_count(read), 2);
	OK(db_commit(temp->db, &why));

	assert_int_equal(db_step(stmt, NULL), 1);
	assert_string_equal(db_text(stmt, 0), "b");
	assert_int_equal(db_step(stmt, NULL), 0);
	assert_int_equal(item_db_count(read), 3);
}

enum { WRITES = 200 };

static int write_many(void *path)
{
	_cleanup_(db) struct db *db = NULL;
	char name[32];

	if (db_open(path, DB_WRITE, &db, NULL) != 0)
		return 1;
	for (int i = 0; i < WRITES; i++) {
		snprintf(name, sizeof(name), "%d-%d", (int)getpid(), i);
		if (item_db_add(db, name, NULL) != 0)
			return 2;
	}
	return 0;
}

static void test_processes_write_at_once(void **state)
{
	struct temp_db *temp = *state;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(write_many(temp->name));
	assert_int_equal(write_many(temp->name), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(item_db_count(temp->db), 2 * WRITES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, item_db_setup, temp_db_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(transactions),
		TEST(commit_fails),
		TEST(syncs),
		TEST(reading_syncs_nothing),
		TEST(sync_fails),
		TEST(atomic),
		TEST(atomic_joins),
		TEST(disk_full),
		TEST(busy),
		TEST(waits_for_writer),
		TEST(post_rows),
		TEST(reader_and_writer),
		TEST(processes_write_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
