/*
 * store_row: what the files of the store share when they read rows and check
 * names. Only for them.
 */
#ifndef POSTERN_STORE_STORE_ROW_H
#define POSTERN_STORE_STORE_ROW_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"

enum { STORE_NAME_MAX = 200 };

/* Copies an id out of a column. */
void store_row_id(struct db_stmt *stmt, int column, char id[static ID_SIZE]);

/* The place of a column's text among n words, n for one that is not there. */
size_t store_row_word(const char *const *words, size_t n, const char *text);

/* What to say of a row with such a text, which the table rules out: somebody
 * else wrote it. Ends the statement. */
int store_row_bad_word(struct db_stmt *stmt, int column, struct err *err);

/* Runs a statement that concerns at most one row: 1, 0 when there was none, or
 * -1. */
int store_row_change(struct db *db, struct db_stmt *stmt, struct err *err);

/* ERR_INVALID, beginning with what, for a name over STORE_NAME_MAX bytes, or
 * one that is not UTF-8 or has control characters. */
int store_row_check_name(const char *what, const char *name, struct err *err);

/* ERR_INVALID, beginning with what, for a list that cannot be kept as lines:
 * one item is empty or has a line break. */
int store_row_check_lines(
	const char *what, const struct strv *list, struct err *err);

#endif
