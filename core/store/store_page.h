/*
 * store_page: a part of a list that is too long to be read at once.
 *
 * Lists are newest first. A page begins behind the item `after`, or ends in
 * front of the item `before`, or begins with the newest.
 */
#ifndef POSTERN_STORE_STORE_PAGE_H
#define POSTERN_STORE_STORE_PAGE_H

#include <stddef.h>

#include "core/base/id.h"

struct page {
	int limit;           /* items, at most; over 0 */
	char after[ID_SIZE]; /* "": not given; never both */
	char before[ID_SIZE];
};

/* The id that the page is told by, NULL for the first page. */
const char *store_page_cursor(const struct page *page);

/* Turns the order of n items of size bytes each: a page in front of an item is
 * read from that item on. */
void store_page_reverse(void *items, size_t n, size_t size);

#endif
