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
#include "core/store/row.h"
#include "core/store/store_rows.h"

#define store_page_cursor    page_cursor
#define store_page_backwards page_backwards

/* Reads the rows of a statement that selects one more than the page may have:
 * newest first, whichever way it selects them. */
int store_page_read(struct db_stmt *stmt, const struct page *page,
	const struct rows_kind *kind, struct rows *rows_r, struct err *err);

#endif
