/*
 * db: what the interface promises, on SQLite and real files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/str.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/temp_db.h"

enum { NOBODY = 65534 };

static const char sql_table[] =
	"CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE,"
	" data BLOB, count INTEGER CHECK (count <> 13),"
	" parent INTEGER REFERENCES item (id) ON DELETE CASCADE)";
static const char sql_items[] = "SELECT count(*) FROM item";

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	OK(db_exec(temp->db, sql_table, &why));
	return 0;
}

static int add_named(struct db *db, const char *name, struct err *err)
{
	static const char sql_add[] = "INSERT INTO item (name) VALUES ($name)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_add, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	return db_run(stmt, err);
}

static void test_open_faults(void **state)
{
	static const struct {
		const char *name, *content;
		enum db_mode mode;
		enum err_code code;
		const char *text;
	} cases[] = {
		{"none.db", NULL, DB_READ, ERR_CONFIG, "postern db migrate"},
		{"none.db", NULL, DB_WRITE, ERR_CONFIG, "no such database"},
		{"none/x.db", NULL, DB_CREATE, ERR_CONFIG,
			"No such file or directory"},
		{"text.db",
			"This is no database, whatever its name says. It "
			"goes on until it is longer than a header, which "
			"has a hundred bytes.",
			DB_WRITE, ERR_CONFIG, "not a database"},
		{"text.db", "the same, but shorter", DB_READ, ERR_CONFIG,
			"not a database"},
		{".", NULL, DB_WRITE, ERR_TEMPORARY, "unable to open"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path = temp_db_file(*state, cases[i].name);
		struct err err = ERR_INIT;
		struct db *db = NULL;

		if (cases[i].content) {
			FILE *file = fopen(path, "w");

			fputs(cases[i].content, file);
			fclose(file);
		}
		assert_int_equal(db_open(path, cases[i].mode, &db, &err), -1);
		assert_null(db);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, cases[i].text));
	}
}

static void test_pragmas(void **state)
{
	static const struct {
		const char *sql, *write, *read;
	} cases[] = {
		{"PRAGMA journal_mode", "wal", "wal"},
		{"PRAGMA synchronous", "1", NULL},
		{"PRAGMA foreign_keys", "1", "1"},
		{"PRAGMA query_only", "0", "1"},
		{"PRAGMA trusted_schema", "0", "0"},
		{"PRAGMA temp_store", "2", "2"},
		{"PRAGMA wal_autocheckpoint", "4000", NULL},
		{"PRAGMA journal_size_limit", "67108864", NULL},
	};
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;

	OK(db_open(temp->path, DB_READ, &read, &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *w = temp_db_text(temp->db, cases[i].sql);
		_cleanup_free_ char *r = temp_db_text(read, cases[i].sql);

		assert_string_equal(w, cases[i].write);
		if (cases[i].read)
			assert_string_equal(r, cases[i].read);
	}
}

static void assert_made_for_nobody(const char *path, const char *suffix)
{
	_cleanup_free_ char *file = mem_printf("%s%s", path, suffix);
	struct stat info;

	assert_int_equal(stat(file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);
	assert_int_equal(info.st_uid, geteuid() == 0 ? NOBODY : geteuid());
}

static int write_as_nobody(void *path)
{
	_cleanup_(db) struct db *db = NULL;

	if (db_open(path, DB_WRITE, &db, NULL) != 0)
		return 1;
	return add_named(db, "from a daemon", NULL) == 0 ? 0 : 2;
}

/* SQLite's; its header is for the engine alone. */
extern long long sqlite3_memory_used(void);

/* A count of all memory would be kept under one lock for all threads. */
static void test_memory_is_not_counted(void **state)
{
	struct temp_db *temp = *state;

	assert_int_equal(temp_db_number(temp->db, sql_items), 0);
	assert_int_equal(sqlite3_memory_used(), 0);
}

/* What root makes, the daemons can use, while root still has it open and after
 * that. */
static void test_owner_of_files(void **state)
{
	struct temp_db *temp = *state;
	mode_t mask = umask(0077);

	OK(add_named(temp->db, "from a command", &why));
	assert_made_for_nobody(temp->path, "");
	assert_made_for_nobody(temp->path, "-wal");
	assert_made_for_nobody(temp->path, "-shm");
	temp_db_in_child(write_as_nobody, temp->path, true);
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
	umask(mask);
}

static int write_read_only(void *path)
{
	_cleanup_(db) struct db *db = NULL;
	struct err err = ERR_INIT;

	if (db_open(path, DB_WRITE, &db, &err) == 0)
		add_named(db, "x", &err);
	return err.code == ERR_CONFIG ? 0 : 1;
}

static void test_no_permission(void **state)
{
	struct temp_db *temp = *state;

	assert_int_equal(chmod(temp->path, 0400), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(temp->path, 0, 0), 0);
	temp_db_in_child(write_read_only, temp->path, true);
}

static void test_meaning_of_errors(void **state)
{
	static const struct {
		const char *sql;
		enum err_code code;
	} cases[] = {
		{"INSERT INTO item (name) VALUES ('a')", ERR_EXISTS},
		{"INSERT INTO item (id) VALUES (1)", ERR_EXISTS},
		{"INSERT INTO item (parent) VALUES (77)", ERR_NOT_FOUND},
		{"INSERT INTO item (count) VALUES (13)", ERR_INTERNAL},
		{"INSERT INTO item (nowhere) VALUES (13)", ERR_INTERNAL},
	};
	struct temp_db *temp = *state;

	OK(add_named(temp->db, "a", &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(db_exec(temp->db, cases[i].sql, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, temp->path));
	}
}

/* A statement of ours that does not fit means another schema. */
static void test_other_schema(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	assert_int_equal(
		db_prepare(temp->db, "SELECT 1 FROM nowhere", &stmt, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "no such table: nowhere"));
}

static void test_reader_cannot_write(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	struct err err = ERR_INIT;

	OK(db_open(temp->path, DB_READ, &read, &why));
	assert_int_equal(add_named(read, "x", &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);
}

static void bind_all(struct db_stmt *stmt, const char *name, int64_t count)
{
	db_bind_text(stmt, "$name", name);
	db_bind_blob(stmt, "$data", "\0\xff\0", 3);
	db_bind_int(stmt, "$count", count);
}

static void assert_row(struct db_stmt *stmt, const char *name, int64_t count)
{
	_cleanup_free_ char *copy = db_copy(stmt, 0);
	size_t len;

	if (name == NULL) {
		assert_null(db_text(stmt, 0));
		assert_null(copy);
	} else {
		assert_string_equal(db_text(stmt, 0), name);
		assert_string_equal(copy, name);
	}
	assert_memory_equal(db_blob(stmt, 1, &len), "\0\xff\0", 3);
	assert_int_equal(len, 3);
	assert_true(db_int(stmt, 2) == count);
}

static void test_values(void **state)
{
	static const char sql_add[] = "INSERT INTO item (count, data, name)"
				      " VALUES ($count, $data, $name)"
				      " RETURNING name, data, count";
	static const struct {
		const char *name;
		int64_t count;
	} cases[] = {
		{"a", 0},
		{"", INT64_MIN},
		{"grüße\n'\"", INT64_MAX},
		{NULL, -1},
	};
	struct temp_db *temp = *state;
	struct db_stmt *stmt;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OK(db_prepare(temp->db, sql_add, &stmt, &why));
		bind_all(stmt, cases[i].name, cases[i].count);
		assert_int_equal(db_step(stmt, NULL), 1);
		assert_row(stmt, cases[i].name, cases[i].count);
		assert_int_equal(db_step(stmt, NULL), 0);
	}
	assert_int_equal(temp_db_number(temp->db, sql_items), ARRAY_SIZE(cases));
}

static void test_value_too_large(void **state)
{
	static const char sql_add[] = "INSERT INTO item (data) VALUES ($data)";
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	OK(db_prepare(temp->db, sql_add, &stmt, &why));
	db_bind_blob(stmt, "$data", "", (size_t)3 << 30);
	assert_int_equal(db_run(stmt, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);

	OK(db_prepare(temp->db, sql_add, &stmt, &why));
	db_bind_blob(stmt, "$data", "", 0);
	OK(db_run(stmt, &why));
}

static void test_statements_are_kept(void **state)
{
	static const char sql_one[] = "SELECT $x";
	static const char sql_two[] = "SELECT $x, 2";
	struct temp_db *temp = *state;
	struct db_stmt *one, *two, *again;

	OK(db_prepare(temp->db, sql_one, &one, &why));
	OK(db_prepare(temp->db, sql_two, &two, &why));
	assert_ptr_not_equal(one, two);
	db_bind_int(one, "$x", 7);
	assert_int_equal(db_step(one, NULL), 1);
	assert_int_equal(db_int(one, 0), 7);

	OK(db_prepare(temp->db, sql_one, &again, &why));
	assert_ptr_equal(again, one);
	assert_int_equal(db_step(again, NULL), 1);
	assert_null(db_text(again, 0));
	db_reset(again);
}

static void test_many_statements(void **state)
{
	enum { MANY = 300 };
	struct temp_db *temp = *state;
	struct db_stmt *stmts[MANY], *stmt;
	char texts[MANY][32];

	for (int i = 0; i < MANY; i++) {
		snprintf(texts[i], sizeof(texts[i]), "SELECT %d", i);
		OK(db_prepare(temp->db, texts[i], &stmts[i], &why));
	}
	for (int i = 0; i < MANY; i++) {
		OK(db_prepare(temp->db, texts[i], &stmt, &why));
		assert_ptr_equal(stmt, stmts[i]);
		assert_int_equal(temp_db_number(temp->db, texts[i]), i);
	}
}

static void test_changes(void **state)
{
	static const char sql_update[] = "UPDATE item SET count = 1";
	static const char sql_delete[] = "DELETE FROM item WHERE name = 'a'";
	struct temp_db *temp = *state;
	struct db_stmt *stmt;

	OK(add_named(temp->db, "a", &why));
	OK(add_named(temp->db, "b", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) SELECT id FROM item",
		&why));
	OK(db_prepare(temp->db, sql_update, &stmt, &why));
	OK(db_run(stmt, &why));
	assert_int_equal(db_changes(temp->db), 4);
	assert_int_equal(temp_db_number(temp->db, sql_items), 4);
	assert_int_equal(db_changes(temp->db), 4);

	OK(db_prepare(temp->db, sql_delete, &stmt, &why));
	OK(db_run(stmt, &why));
	assert_int_equal(db_changes(temp->db), 1);
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
}

static void test_transactions(void **state)
{
	struct temp_db *temp = *state;

	assert_false(db_in_transaction(temp->db));
	OK(db_begin(temp->db, &why));
	assert_true(db_in_transaction(temp->db));
	OK(add_named(temp->db, "a", &why));
	db_rollback(temp->db);
	assert_false(db_in_transaction(temp->db));
	db_rollback(temp->db);
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);

	OK(db_begin(temp->db, &why));
	OK(add_named(temp->db, "a", &why));
	OK(db_savepoint(temp->db, &why));
	OK(add_named(temp->db, "b", &why));
	db_undo(temp->db);
	OK(db_savepoint(temp->db, &why));
	OK(add_named(temp->db, "c", &why));
	OK(db_release(temp->db, &why));
	OK(db_commit(temp->db, &why));
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM item"
						  " WHERE name IN ('a', 'c')"),
		2);
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
}

/* A reference is checked at once, or at the latest here. */
static void test_commit_fails(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db, "PRAGMA defer_foreign_keys=ON", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) VALUES (7)", &why));
	assert_int_equal(db_commit(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);
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
		OK(add_named(db, NULL, &why));
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
	assert_int_equal(temp_db_number(temp->db, sql_items), 4);
}

static void test_reading_syncs_nothing(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	int before = count_syncs();

	OK(db_open(temp->path, DB_READ, &read, &why));
	assert_int_equal(temp_db_number(read, sql_items), 0);
	assert_int_equal(count_syncs(), before);
}

/* The disk fails when all is written: nobody is told of success. */
static void test_sync_fails(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_begin(temp->db, &why));
	OK(add_named(temp->db, "x", &why));
	count_syncs_fail(true);
	assert_int_equal(db_commit(temp->db, &err), -1);
	count_syncs_fail(false);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "Input/output error"));
	assert_false(db_in_transaction(temp->db));
}

static int add_two(struct db *db, void *name, struct err *err)
{
	if (add_named(db, "first", err) != 0)
		return -1;
	return add_named(db, name, err) == 0 ? 5 : -1;
}

static void test_atomic(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	assert_int_equal(db_atomic(temp->db, add_two, (void *)"first", &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);

	assert_int_equal(db_atomic(temp->db, add_two, (void *)"second", &err), 5);
	assert_false(db_in_transaction(temp->db));
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
}

static void test_atomic_joins(void **state)
{
	struct temp_db *temp = *state;

	OK(db_begin(temp->db, &why));
	assert_int_equal(db_atomic(temp->db, add_two, (void *)"second", NULL), 5);
	assert_true(db_in_transaction(temp->db));
	db_rollback(temp->db);
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);
}

static void test_disk_full(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *big = mem_alloc(1, 1 << 20);
	struct err err = ERR_INIT;

	memset(big, 'x', (1 << 20) - 1);
	OK(add_named(temp->db, "a", &why));
	temp_db_number(temp->db, "PRAGMA max_page_count=40");
	OK(db_begin(temp->db, &why));
	assert_int_equal(add_named(temp->db, big, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "full"));
	db_undo(temp->db);
	db_rollback(temp->db);
	assert_false(db_in_transaction(temp->db));
	OK(add_named(temp->db, "b", &why));
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
}

static void test_busy(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *other = NULL;
	struct err err = ERR_INIT;

	OK(db_open(temp->path, DB_WRITE, &other, &why));
	db_set_wait(other, 0);
	OK(db_begin(temp->db, &why));
	assert_int_equal(db_begin(other, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "locked"));
	assert_false(db_in_transaction(other));
	assert_int_equal(add_named(other, "x", &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	OK(db_commit(temp->db, &why));
	OK(add_named(other, "x", &why));
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
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *other = NULL;
	int before = sleeps.n;

	OK(db_open(temp->path, DB_WRITE, &other, &why));
	OK(db_begin(temp->db, &why));
	OK(add_named(temp->db, "a", &why));
	sleeps.committing = temp->db;
	OK(db_begin(other, &why));
	assert_true(sleeps.n > before);
	assert_int_equal(temp_db_number(other, sql_items), 1);
	OK(db_commit(other, &why));
}

/* Nobody waits for anybody: with a wait of 0 it would fail. */
static void test_reader_and_writer(void **state)
{
	static const char sql_names[] = "SELECT name FROM item ORDER BY id";
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	struct db_stmt *stmt;

	OK(db_open(temp->path, DB_READ, &read, &why));
	db_set_wait(read, 0);
	db_set_wait(temp->db, 0);
	OK(add_named(temp->db, "a", &why));
	OK(add_named(temp->db, "b", &why));
	OK(db_prepare(read, sql_names, &stmt, &why));
	assert_int_equal(db_step(stmt, NULL), 1);

	OK(db_begin(temp->db, &why));
	OK(db_exec(temp->db, "UPDATE item SET name = name || '2'", &why));
	OK(add_named(temp->db, "c", &why));
	assert_int_equal(temp_db_number(read, sql_items), 2);
	OK(db_commit(temp->db, &why));

	assert_int_equal(db_step(stmt, NULL), 1);
	assert_string_equal(db_text(stmt, 0), "b");
	assert_int_equal(db_step(stmt, NULL), 0);
	assert_int_equal(temp_db_number(read, sql_items), 3);
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
		if (add_named(db, name, NULL) != 0)
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
		_exit(write_many(temp->path));
	assert_int_equal(write_many(temp->path), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(temp_db_number(temp->db, sql_items), 2 * WRITES);
}

static void test_version(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	int64_t first, same, other;

	OK(db_open(temp->path, DB_READ, &read, &why));
	OK(db_version(read, &first, &why));
	OK(db_version(read, &same, &why));
	assert_true(first == same);
	OK(add_named(temp->db, "a", &why));
	OK(db_version(read, &other, &why));
	assert_true(first != other);
}

static void test_backup(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *path = temp_db_file(temp, "copy.db");
	_cleanup_free_ char *nowhere = temp_db_file(temp, "none/copy.db");
	_cleanup_(db) struct db *copy = NULL;
	struct err err = ERR_INIT;
	struct stat info;

	OK(add_named(temp->db, "a", &why));
	OK(db_backup(temp->db, path, &why));
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(db_backup(temp->db, path, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(db_backup(temp->db, nowhere, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);

	OK(add_named(temp->db, "b", &why));
	OK(db_open(path, DB_WRITE, &copy, &why));
	OK(db_check(copy, &why));
	assert_int_equal(temp_db_number(copy, sql_items), 1);
	OK(add_named(copy, "c", &why));
}

static void test_backup_while_another_writes(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *path = temp_db_file(temp, "copy.db");
	_cleanup_(db) struct db *read = NULL, *copy = NULL;

	OK(db_open(temp->path, DB_READ, &read, &why));
	db_set_wait(read, 0);
	OK(add_named(temp->db, "a", &why));
	OK(db_begin(temp->db, &why));
	OK(add_named(temp->db, "b", &why));
	OK(db_backup(read, path, &why));
	OK(db_commit(temp->db, &why));
	OK(db_open(path, DB_READ, &copy, &why));
	assert_int_equal(temp_db_number(copy, sql_items), 1);
}

static void test_check_references(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;

	OK(db_check(temp->db, &why));
	OK(db_exec(temp->db, "PRAGMA foreign_keys=OFF", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) VALUES (7)", &why));
	assert_int_equal(db_check(temp->db, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "item"));
}

/* Overwrites a page. */
static void damage(const char *path, int64_t page)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char noise[4096];

	assert_true(page > 1);
	memset(noise, 0xa5, sizeof(noise));
	assert_int_equal(pwrite(fd, noise, sizeof(noise), (page - 1) * 4096),
		sizeof(noise));
	close(fd);
}

static void test_damaged(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *db = NULL;
	struct err err = ERR_INIT;
	int64_t page;

	OK(add_named(temp->db, "a", &why));
	page = temp_db_number(temp->db,
		"SELECT rootpage FROM sqlite_schema WHERE name = 'item'");
	db_close(TAKE_PTR(temp->db));
	damage(temp->path, page);
	OK(db_open(temp->path, DB_READ, &db, &why));
	assert_int_equal(db_check(db, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, temp->path));

	err = ERR_INIT;
	db_close(TAKE_PTR(db));
	OK(db_open(temp->path, DB_WRITE, &db, &why));
	assert_int_equal(add_named(db, "b", &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(open_faults),
		TEST(pragmas),
		TEST(memory_is_not_counted),
		TEST(owner_of_files),
		TEST(no_permission),
		TEST(meaning_of_errors),
		TEST(other_schema),
		TEST(reader_cannot_write),
		TEST(values),
		TEST(value_too_large),
		TEST(statements_are_kept),
		TEST(many_statements),
		TEST(changes),
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
		TEST(reader_and_writer),
		TEST(processes_write_at_once),
		TEST(version),
		TEST(backup),
		TEST(backup_while_another_writes),
		TEST(check_references),
		TEST(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
