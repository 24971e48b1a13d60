/*
 * store_page: what the lists of the store share.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include "core/store/store_page.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_row.h"

const char *store_page_cursor(const struct page *page)
{
	if (page->after[0])
		return page->after;
	return page->before[0] ? page->before : NULL;
}

bool store_page_backwards(const struct page *page)
{
	return page->before[0] != '\0';
}

static void reverse(struct page_rows *rows, size_t size)
{
	_cleanup_free_ char *held = mem_alloc(1, size);
	char *low = rows->items;

	for (size_t i = 0; i < rows->n / 2; i++) {
		char *a = low + i * size, *b = low + (rows->n - 1 - i) * size;

		memcpy(held, a, size);
		memcpy(a, b, size);
		memcpy(b, held, size);
	}
}

int store_page_read(struct db_stmt *stmt, const struct page *page, size_t size,
	int (*read_row)(struct db_stmt *stmt, void *item, struct err *err),
	struct page_rows *rows, struct err *err)
{
	int result;

	while ((result = db_step(stmt, err)) == 1) {
		rows->more = rows->n == (size_t)page->limit;
		if (rows->more) {
			db_reset(stmt);
			break;
		}
		rows->items = store_row_grow(rows->items, rows->n, size);
		if (read_row(stmt, (char *)rows->items + rows->n++ * size, err) <
			0)
			return -1;
	}
	if (store_page_backwards(page))
		reverse(rows, size);
	return result < 0 ? -1 : 0;
}
