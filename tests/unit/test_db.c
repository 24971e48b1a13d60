/*
 * db: opening, files, errors and statements, on SQLite and real files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/db/db_private.h"
#include "tests/unit/item_db.h"

enum { NOBODY = 65534 };

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
		{"none/x.db", NULL, DB_CREATE, ERR_CONFIG, "the folder of the database is missing"},
		{"text.db",
			"This is no database, whatever its name says. It goes on until it is "
			"longer than a header, which has a hundred bytes.",
			DB_WRITE, ERR_CONFIG, "not a database"},
		{"text.db", "the same, but shorter", DB_READ, ERR_CONFIG, "not a database"},
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
	ONLY_SQLITE(state);
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

	OK(db_open(temp->name, DB_READ, &read, &why));
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
	return item_db_add(db, "from a daemon", NULL) == 0 ? 0 : 2;
}

/* SQLite's; its header is for the engine alone. */
extern long long sqlite3_memory_used(void);

/* A count of all memory would be kept under one lock for all threads. */
static void test_memory_is_not_counted(void **state)
{
	struct temp_db *temp = *state;

	assert_int_equal(item_db_count(temp->db), 0);
	assert_int_equal(sqlite3_memory_used(), 0);
}

/* What root makes, the daemons can use, while root still has it open and after
 * that. */
static void test_owner_of_files(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	mode_t mask = umask(0077);

	OK(item_db_add(temp->db, "from a command", &why));
	assert_made_for_nobody(temp->path, "");
	assert_made_for_nobody(temp->path, "-wal");
	assert_made_for_nobody(temp->path, "-shm");
	temp_db_in_child(write_as_nobody, temp->path, true);
	assert_int_equal(item_db_count(temp->db), 2);
	umask(mask);
}

static int write_read_only(void *path)
{
	_cleanup_(db) struct db *db = NULL;
	struct err err = ERR_INIT;

	if (db_open(path, DB_WRITE, &db, &err) == 0)
		item_db_add(db, "x", &err);
	return err.code == ERR_CONFIG ? 0 : 1;
}

static void test_no_permission(void **state)
{
	ONLY_SQLITE(state);
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
	};
	struct temp_db *temp = *state;

	OK(item_db_add(temp->db, "a", &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(db_exec(temp->db, cases[i].sql, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, temp->db->path));
	}
}

/* A statement of ours that does not fit means another schema. */
static void test_other_schema(void **state)
{
	ONLY_SQLITE(state);
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	assert_int_equal(db_start(temp->db, "SELECT 1 FROM nowhere", NULL, &stmt, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "no such table: nowhere"));
}

static void test_reader_cannot_write(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(db) struct db *read = NULL;
	struct err err = ERR_INIT;

	OK(db_open(temp->name, DB_READ, &read, &why));
	assert_int_equal(item_db_add(read, "x", &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_int_equal(item_db_count(temp->db), 0);
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
	static const char sql_add[] =
		"INSERT INTO item (count, data, name)"
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
		OK(db_start(temp->db, sql_add,
			DB_PARAMS(DB_TEXT("$name", cases[i].name), DB_BLOB("$data", "\0\xff\0", 3),
				DB_INT("$count", cases[i].count)),
			&stmt, &why));
		assert_int_equal(db_step(stmt, NULL), 1);
		assert_row(stmt, cases[i].name, cases[i].count);
		assert_int_equal(db_step(stmt, NULL), 0);
	}
	assert_int_equal(item_db_count(temp->db), ARRAY_SIZE(cases));
}

static void test_number_of_new_row(void **state)
{
	static const char sqlite[] =
		"CREATE TABLE numbered (seq INTEGER PRIMARY KEY, name TEXT UNIQUE)";
	static const char postgresql[] =
		"CREATE TABLE numbered (seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
		" name text UNIQUE)";
	static const char sql_add[] = "INSERT INTO numbered (name) VALUES ($name)" DB_RETURNING_SEQ;
	static const char sql_find[] = "SELECT seq FROM numbered WHERE name = $name";
	static const char *const names[] = {"a", "b", "a", "c"};
	struct temp_db *temp = *state;
	struct db_stmt *stmt;

	OK(db_exec(temp->db, temp_db_sql(temp->db, sqlite, postgresql), &why));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct db_param *name = DB_PARAMS(DB_TEXT("$name", names[i]));
		struct err err = ERR_INIT;
		int64_t number;

		OK(db_start(temp->db, sql_add, name, &stmt, &why));
		if (i == 2) {
			assert_int_equal(db_insert(stmt, &number, &err), -1);
			assert_int_equal(err.code, ERR_EXISTS);
			continue;
		}
		OK(db_insert(stmt, &number, &why));
		FOUND(db_first(temp->db, sql_find, name, &stmt, &why));
		assert_true(db_int(stmt, 0) == number);
		db_reset(stmt);
	}
}

static void test_value_too_large(void **state)
{
	static const char sql_add[] = "INSERT INTO item (data) VALUES ($data)";
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	OK(db_start(
		temp->db, sql_add, DB_PARAMS(DB_BLOB("$data", "", (size_t)3 << 30)), &stmt, &why));
	assert_int_equal(db_run(stmt, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);

	OK(db_start(temp->db, sql_add, DB_PARAMS(DB_BLOB("$data", "", 0)), &stmt, &why));
	OK(db_run(stmt, &why));
}

/* One that is left out without a text, and one by its index. */
static void test_parameters(void **state)
{
	static const char sql_with[] = "SELECT $x, $y";
	static const char sql_without[] = "SELECT 'none', $y";
	const struct db_param three = DB_INT(NULL, 3);
	static const char *const texts[] = {"given", NULL};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct db_stmt *stmt;

		OK(db_start(temp->db, texts[i] ? sql_with : sql_without,
			DB_PARAMS(DB_GIVEN_TEXT("$x", texts[i])), &stmt, &why));
		assert_int_equal(db_param_index(stmt, "$x") > 0, texts[i] != NULL);
		db_bind(stmt, db_param_index(stmt, "$y"), &three);
		assert_int_equal(db_step(stmt, NULL), 1);
		assert_string_equal(db_text(stmt, 0), texts[i] ? texts[i] : "none");
		assert_int_equal(db_int(stmt, 1), 3);
		db_reset(stmt);
	}
}

static void test_statements_are_kept(void **state)
{
	static const char sql_one[] = "SELECT $x";
	static const char sql_two[] = "SELECT $x, 2";
	struct temp_db *temp = *state;
	struct db_stmt *one, *two, *again;

	OK(db_start(temp->db, sql_one, DB_PARAMS(DB_INT("$x", 7)), &one, &why));
	OK(db_start(temp->db, sql_two, NULL, &two, &why));
	assert_ptr_not_equal(one, two);
	assert_null(db_stmt_note(one));
	db_stmt_set_note(one, mem_strdup("first"));
	db_stmt_set_note(one, mem_strdup("second"));
	assert_int_equal(db_step(one, NULL), 1);
	assert_int_equal(db_int(one, 0), 7);

	OK(db_start(temp->db, sql_one, NULL, &again, &why));
	assert_ptr_equal(again, one);
	assert_string_equal(db_stmt_note(again), "second");
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
		OK(db_start(temp->db, texts[i], NULL, &stmts[i], &why));
	}
	for (int i = 0; i < MANY; i++) {
		OK(db_start(temp->db, texts[i], NULL, &stmt, &why));
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

	OK(item_db_add(temp->db, "a", &why));
	OK(item_db_add(temp->db, "b", &why));
	OK(db_exec(temp->db, "INSERT INTO item (parent) SELECT id FROM item", &why));
	OK(db_start(temp->db, sql_update, NULL, &stmt, &why));
	OK(db_run(stmt, &why));
	assert_int_equal(db_changes(temp->db), 4);
	assert_int_equal(item_db_count(temp->db), 4);
	assert_int_equal(db_changes(temp->db), 4);

	OK(db_start(temp->db, sql_delete, NULL, &stmt, &why));
	OK(db_run(stmt, &why));
	assert_int_equal(db_changes(temp->db), 1);
	assert_int_equal(item_db_count(temp->db), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, item_db_setup, temp_db_teardown)

int main(void)
{
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
		TEST(number_of_new_row),
		TEST(value_too_large),
		TEST(parameters),
		TEST(statements_are_kept),
		TEST(many_statements),
		TEST(changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
