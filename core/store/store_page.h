/*
 * store_page: a part of a list that is too long to be read at once.
 *
 * Lists are newest first. A page begins behind the item `after`, or ends in
 * front of the item `before`, or begins with the newest.
 */
#ifndef POSTERN_STORE_STORE_PAGE_H
#define POSTERN_STORE_STORE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/id.h"
#include "core/db/db.h"

struct page {
	int limit;           /* items, at most; over 0 */
	char after[ID_SIZE]; /* "": not given; never both */
	char before[ID_SIZE];
};

/* The id that the page is told by, NULL for the first page. */
const char *store_page_cursor(const struct page *page);

/* Whether the rows are to be selected from the cursor towards the newest. */
bool store_page_backwards(const struct page *page);

/* What was read of a page: items of one size, newest first. */
struct page_rows {
	void *items;
	size_t n;
	bool more;
};

/* Reads the rows of a statement that selects one more than the page may have;
 * read_row makes an item of one, or gives -1 with the statement at its end. rows,
 * which starts zeroed, has what was read also when this fails: the caller frees it. */
int store_page_read(struct db_stmt *stmt, const struct page *page, size_t size,
	int (*read_row)(struct db_stmt *stmt, void *item, struct err *err),
	struct page_rows *rows, struct err *err);

#endif
