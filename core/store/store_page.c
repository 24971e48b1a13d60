/*
 * store_page: what the lists of the store share.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_page.h"

#include <string.h>

#include "core/base/mem.h"

static void reverse(const struct rows *rows, size_t size)
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

int store_page_read(struct db_stmt *stmt, const struct page *page,
	const struct rows_kind *kind, struct rows *rows_r, struct err *err)
{
	if (store_rows_read(stmt, kind, (size_t)page->limit, rows_r, err) < 0)
		return -1;
	if (store_page_backwards(page))
		reverse(rows_r, kind->size);
	return 0;
}
