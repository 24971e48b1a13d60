/*
 * row: the frame of the store's statements. A table of fields says which column
 * is which member of a struct; by it a row becomes a struct and a struct a row,
 * and what the struct owns is freed. A new column is one line there, one in the
 * statements that want it, and one in schema/.
 *
 * Only for the files of the store. The statements are `static const char`
 * texts, see db_prepare(); params as DB_PARAMS() makes them, NULL for none.
 */
#ifndef POSTERN_STORE_ROW_H
#define POSTERN_STORE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/base/strv.h"
#include "core/db/db.h"

/* Words that stand for the values 0, 1, ... of an enum or a bool. */
struct row_words {
	const char *const *names;
	size_t n;
	bool lenient; /* a word that is none of them is read as n; else it is
		       * ERR_CONFIG: somebody else wrote the row */
};

/* How a member holds its column. */
enum row_kind {
	ROW_ID,    /* char[ID_SIZE] */
	ROW_TEXT,  /* char *, NULL for NULL; the struct's own */
	ROW_LINES, /* struct strv: one item a line; the struct's own */
	ROW_INT64, /* int64_t */
	ROW_UINT,  /* unsigned */
	ROW_BOOL,  /* bool */
	ROW_ENUM,  /* an enum, as a word */
	ROW_FLAG,  /* bool, as a word */
	ROW_HASH,  /* uint8_t[SECRET_HASH_LEN], a BLOB */
};

struct row_field {
	const char *column; /* its parameter is `$column` */
	enum row_kind kind;
	size_t offset;
	const struct row_words *words;
};
#define ROW_FIELD(type_, member_, kind_)                                       \
	{                                                                      \
#member_, (kind_), offsetof(struct type_, member_), NULL       \
	}
#define ROW_FIELD_AS(type_, member_, kind_, column_)                           \
	{                                                                      \
		(column_), (kind_), offsetof(struct type_, member_), NULL      \
	}
#define ROW_WORD(type_, member_, kind_, column_, words_)                       \
	{                                                                      \
		(column_), (kind_), offsetof(struct type_, member_), (words_)  \
	}

struct row_type {
	size_t size;
	const struct row_field *fields;
	size_t n;
};
#define ROW_TYPE(type_, fields_)                                               \
	{                                                                      \
		sizeof(struct type_), (fields_), ARRAY_SIZE(fields_)           \
	}

/* The value of a word; n for one that is not there, or NULL. */
size_t row_word(const struct row_words *words, const char *text);

/* Fills *item_r from the row at which the statement is: each column that is a
 * field's, by name; members without one are zero. 0; or -1, with the statement
 * at its end and *item_r zeroed. */
int row_read(struct db_stmt *stmt, const struct row_type *type, void *item_r,
	struct err *err);
/* Frees what the item owns, and zeroes it. */
void row_clear(const struct row_type *type, void *item);

/* The first row: 1 and *item_r, 0 none, -1. */
int row_get(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *item_r, struct err *err);

/* Runs a statement that gives no rows, with a parameter for each field that it
 * names as `$column`, besides params. How many rows it changed, or -1.
 * ERR_INVALID for a ROW_LINES with an item that is empty or has a line break. */
int row_write(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err);

/* The same for one that ends in RETURNING a number: 1, 0 none, -1. */
int row_write_returning(struct db *db, const char *sql,
	const struct db_param *params, const struct row_type *type,
	const void *item, int64_t *number_r, struct err *err);

/* Items of a type, one behind the other. */
struct rows {
	void *items; /* whose they are, frees them; NULL for none */
	size_t n;
	bool more; /* there are rows beyond the limit */
};
#define ROWS_ALL SIZE_MAX

int row_list(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, size_t limit, struct rows *rows_r,
	struct err *err);
void row_list_free(const struct row_type *type, void *items, size_t n);

/* A part of a list that is too long to be read at once. Lists are newest first.
 * A page begins behind the item `after`, or ends in front of the item `before`,
 * or begins with the newest. */
struct page {
	int limit;           /* items, at most; over 0 */
	char after[ID_SIZE]; /* "": not given; never both */
	char before[ID_SIZE];
};
/* The id that the page is told by, NULL for the first page. */
const char *page_cursor(const struct page *page);
/* Whether the rows are to be selected from the cursor towards the newest. */
bool page_backwards(const struct page *page);
/* Reads a statement that selects from the cursor on and has a parameter
 * `$limit`, which is set here: newest first, whichever way it selects. */
int row_page(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const struct page *page,
	struct rows *rows_r, struct err *err);

/* The text of a stranger, cut to 256 bytes and made UTF-8; "" for NULL. A new
 * string. */
char *row_bounded(const char *text);

/* ERR_INVALID, beginning with what, for a name over ROW_NAME_MAX bytes, or one
 * that is not UTF-8 or has control characters. */
enum { ROW_NAME_MAX = 200 };
int row_check_name(const char *what, const char *name, struct err *err);

#endif
