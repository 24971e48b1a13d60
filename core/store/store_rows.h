/*
 * store_rows: the rows of a statement, as a list. Only for the files of the
 * store.
 */
#ifndef POSTERN_STORE_STORE_ROWS_H
#define POSTERN_STORE_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/db/db.h"
#include "core/store/row.h"

/* What the rows become. */
struct rows_kind {
	size_t size; /* of an item */
	/* Fills an item, which is zeroed, from the row at which the statement
	 * is: 0; or -1 with the statement at its end. */
	int (*read)(struct db_stmt *stmt, void *item, struct err *err);
	/* Frees what an item has, also one that could not be read. */
	void (*clear)(void *item);
};

#define STORE_ROWS_ALL SIZE_MAX

/* Reads the rows of a statement that has its parameters, limit of them at the
 * most. It is at its end afterwards. */
int store_rows_read(struct db_stmt *stmt, const struct rows_kind *kind,
	size_t limit, struct rows *rows_r, struct err *err);

#endif
