/*
 * store_rows: the rows of a statement, as a list.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_rows.h"

#include <string.h>

#include "core/base/mem.h"

static void *item_at(const struct rows *rows, size_t size, size_t i)
{
	return (char *)rows->items + i * size;
}

/* A new item, zeroed. The room doubles when n is 0 or a power of two: that is
 * when it is used up. */
static void *add_item(struct rows *rows, size_t size)
{
	size_t n = rows->n++;

	if ((n & (n - 1)) == 0)
		rows->items = mem_grow(rows->items, n ? n * 2 : 1, size);
	return memset(item_at(rows, size, n), 0, size);
}

static void free_rows(struct rows *rows, const struct rows_kind *kind)
{
	for (size_t i = 0; i < rows->n; i++)
		kind->clear(item_at(rows, kind->size, i));
	free(rows->items);
}

int store_rows_read(struct db_stmt *stmt, const struct rows_kind *kind,
	size_t limit, struct rows *rows_r, struct err *err)
{
	struct rows rows = {0};
	int result;

	while ((result = db_step(stmt, err)) == 1) {
		rows.more = rows.n == limit;
		if (rows.more) {
			db_reset(stmt);
			result = 0;
			break;
		}
		result = kind->read(stmt, add_item(&rows, kind->size), err);
		if (result < 0)
			break;
	}
	if (result == 0)
		*rows_r = rows;
	else
		free_rows(&rows, kind);
	return result;
}
