/*
 * store_page: what the lists of the store share.
 *
 * Threads: any; holds no state.
 */
#include "core/store/store_page.h"

#include <string.h>

#include "core/base/mem.h"

const char *store_page_cursor(const struct page *page)
{
	if (page->after[0])
		return page->after;
	return page->before[0] ? page->before : NULL;
}

void store_page_reverse(void *items, size_t n, size_t size)
{
	_cleanup_free_ char *held = mem_alloc(1, size);
	char *low = items;

	for (size_t i = 0; i < n / 2; i++) {
		char *a = low + i * size, *b = low + (n - 1 - i) * size;

		memcpy(held, a, size);
		memcpy(a, b, size);
		memcpy(b, held, size);
	}
}
