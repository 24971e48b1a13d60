/*
 * store_page: a part of a list that is too long to be read at once.
 *
 * Lists are newest first. A page begins behind the item `after`, or ends in
 * front of the item `before`, or begins with the newest.
 */
#ifndef POSTERN_STORE_STORE_PAGE_H
#define POSTERN_STORE_STORE_PAGE_H

#include <stdbool.h>

#include "core/base/id.h"
#include "core/store/store_rows.h"

struct page {
	int limit;           /* items, at most; over 0 */
	char after[ID_SIZE]; /* "": not given; never both */
	char before[ID_SIZE];
};

/* The id that the page is told by, NULL for the first page. */
const char *store_page_cursor(const struct page *page);

/* Whether the rows are to be selected from the cursor towards the newest. */
bool store_page_backwards(const struct page *page);

/* Reads the rows of a statement that selects one more than the page may have:
 * newest first, whichever way it selects them. */
int store_page_read(struct db_stmt *stmt, const struct page *page,
	const struct rows_kind *kind, struct rows *rows_r, struct err *err);

#endif
