/* store_rows: rows become items, and nothing stays of a list that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "core/store/store_rows.h"
#include "tests/unit/temp_db.h"

struct item {
	char *text; /* of a row that could be read */
	bool was_zeroed;
};

static const char sql_numbers[] =
	"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
	" SELECT n FROM t LIMIT $rows";

/* How the next lists go: the row that cannot be read, how many items were
 * cleared. */
static int64_t bad_row;
static size_t cleared;

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	struct item *it = item;

	it->was_zeroed = it->text == NULL;
	if (db_int(stmt, 0) == bad_row) {
		db_reset(stmt);
		return err_set(err, ERR_CONFIG, "bad row");
	}
	it->text = db_copy(stmt, 0);
	return 0;
}

static void clear_item(void *item)
{
	free(((struct item *)item)->text);
	cleared++;
}

static const struct rows_kind kind = {sizeof(struct item), read_item, clear_item};

static struct db_stmt *numbers(struct db *db, int64_t n)
{
	struct db_stmt *stmt;

	OK(db_prepare(db, sql_numbers, &stmt, &why));
	db_bind_int(stmt, "$rows", n);
	return stmt;
}

static void check_items(const struct rows *rows)
{
	const struct item *items = rows->items;

	for (size_t i = 0; i < rows->n; i++) {
		assert_true(items[i].was_zeroed);
		assert_int_equal(atoi(items[i].text), i + 1);
	}
}

static void free_items(const struct rows *rows)
{
	struct item *items = rows->items;

	for (size_t i = 0; i < rows->n; i++)
		clear_item(&items[i]);
	free(items);
}

static void test_reads(void **state)
{
	static const struct {
		int64_t rows;
		size_t limit;
		size_t items;
		bool more;
	} cases[] = {
		{0, STORE_ROWS_ALL, 0, false},
		{1, STORE_ROWS_ALL, 1, false},
		{9, STORE_ROWS_ALL, 9, false},
		{100, STORE_ROWS_ALL, 100, false},
		{0, 3, 0, false},
		{2, 3, 2, false},
		{3, 3, 3, false},
		{4, 3, 3, true},
		{1, 0, 0, true},
	};
	struct temp_db *temp = *state;

	bad_row = 0;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rows rows;

		OK(store_rows_read(numbers(temp->db, cases[i].rows), &kind,
			cases[i].limit, &rows, &why));
		assert_int_equal(rows.n, cases[i].items);
		assert_int_equal(rows.more, cases[i].more);
		check_items(&rows);
		free_items(&rows);
	}
}

/* The items before the bad row are freed, it too, and the result is as it was. */
static void test_fails(void **state)
{
	struct temp_db *temp = *state;
	const struct rows before = {.n = 77};

	for (bad_row = 1; bad_row <= 5; bad_row++) {
		struct err err = ERR_INIT;
		struct rows rows = before;

		cleared = 0;
		assert_int_equal(store_rows_read(numbers(temp->db, 5), &kind,
					 STORE_ROWS_ALL, &rows, &err),
			-1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_int_equal(cleared, bad_row);
		assert_memory_equal(&rows, &before, sizeof(rows));
	}
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(reads),
		TEST(fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
