/* store_page: rows in pages, in both directions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_page.h"
#include "tests/unit/temp_db.h"

enum { LIMIT = 3, ITEMS_MAX = LIMIT + 1 };

/* Numbers, the first ones of 7, 6, 5 ... or, backwards, of 1, 2, 3 ... */
static const char sql_newest[] =
	"WITH RECURSIVE t(n) AS (SELECT 7 UNION ALL SELECT n - 1 FROM t)"
	" SELECT n FROM t LIMIT $rows";
static const char sql_oldest[] =
	"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
	" SELECT n FROM t LIMIT $rows";

static const struct {
	const char *after, *before;
	int64_t rows; /* that the statement gives */
	const char *cursor;
	int64_t items[ITEMS_MAX]; /* newest first; 0 behind the last */
	bool more;
} cases[] = {
	{"", "", 0, NULL, {0}, false},
	{"", "", 1, NULL, {7}, false},
	{"", "", LIMIT, NULL, {7, 6, 5}, false},
	{"", "", LIMIT + 1, NULL, {7, 6, 5}, true},
	{"x", "", LIMIT + 1, "x", {7, 6, 5}, true},
	{"x", "", 2, "x", {7, 6}, false},
	{"", "y", 0, "y", {0}, false},
	{"", "y", 1, "y", {1}, false},
	{"", "y", 2, "y", {2, 1}, false},
	{"", "y", LIMIT, "y", {3, 2, 1}, false},
	{"", "y", LIMIT + 1, "y", {3, 2, 1}, true},
};

static int read_number(struct db_stmt *stmt, void *item, struct err *err)
{
	(void)err;
	*(int64_t *)item = db_int(stmt, 0);
	return 0;
}

static void clear_number(void *item)
{
	(void)item;
}

static const struct rows_kind numbers = {
	sizeof(int64_t), read_number, clear_number};

static void test_pages(void **state)
{
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct page page = {.limit = LIMIT};
		struct rows rows;
		struct db_stmt *stmt;
		const int64_t *items;
		size_t n = 0;

		stpcpy(page.after, cases[i].after);
		stpcpy(page.before, cases[i].before);
		if (cases[i].cursor)
			assert_string_equal(
				store_page_cursor(&page), cases[i].cursor);
		else
			assert_null(store_page_cursor(&page));
		OK(db_prepare(temp->db,
			store_page_backwards(&page) ? sql_oldest : sql_newest,
			&stmt, &why));
		db_bind_int(stmt, "$rows", cases[i].rows);
		OK(store_page_read(stmt, &page, &numbers, &rows, &why));
		items = rows.items;
		for (; cases[i].items[n]; n++)
			assert_true(n < rows.n && items[n] == cases[i].items[n]);
		assert_int_equal(rows.n, n);
		assert_int_equal(rows.more, cases[i].more);
		free(rows.items);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_pages, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
