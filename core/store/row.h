/*
 * row: maps rows of the store to structs. A table of fields says which column belongs to which
 * member of a struct. By that table a row is read into a struct, a struct is bound to a statement,
 * and the memory of a struct is freed. A new column is one line in the table, one in each statement
 * that uses it, and one in schema/.
 *
 * row_json() prints a struct by the same table. Only the files of the store read and write rows.
 * Statements are `static const char` texts, see db.h; params come from DB_PARAMS(), NULL for none.
 */
#ifndef POSTERN_STORE_ROW_H
#define POSTERN_STORE_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"

/* The words of a column, for the values 0, 1, ... */
struct row_words {
	const char *const *names;
	size_t n;
	/* An unknown word is read as n; otherwise it is ERR_CONFIG: another program wrote the
	 * row. */
	bool lenient;
};
/* Returns the value of a word; n for an unknown one and for NULL. */
size_t row_word(const struct row_words *words, const char *text);

/* The type of a member and its column. */
enum row_kind {
	ROW_ID,    /* char[]: the text of an id or a ticket, never NULL */
	ROW_TEXT,  /* char *, NULL for NULL; owned by the struct */
	ROW_JSON,  /* the same; the text is JSON */
	ROW_LINES, /* struct strv, one item per line; owned by the struct */
	ROW_INT64, /* int64_t */
	ROW_TIME,  /* int64_t: microseconds since 1970, 0 for never; the column ends in _us */
	ROW_UINT,  /* unsigned */
	ROW_SET,   /* unsigned: a bit set; the first word is bit 0 */
	ROW_BOOL,  /* bool, as 0 or 1 */
	ROW_ENUM,  /* an enum, as a word */
	ROW_FLAG,  /* bool, as a word */
	ROW_HASH,  /* uint8_t[], as a BLOB of that length */
};

struct row_field {
	const char *param; /* `$column` */
	enum row_kind kind;
	size_t offset;
	size_t size;
	const struct row_words *words;
};
#define ROW_WORD(type_, member_, kind_, column_, words_)                                           \
	{                                                                                          \
		"$" column_, (kind_), offsetof(struct type_, member_),                             \
			sizeof(((struct type_ *)NULL)->member_), (words_)                          \
	}
#define ROW_FIELD_AS(type_, member_, kind_, column_) ROW_WORD(type_, member_, kind_, column_, NULL)
#define ROW_FIELD(type_, member_, kind_)             ROW_WORD(type_, member_, kind_, #member_, NULL)

struct row_type {
	const char *name; /* the type of the object in answers */
	size_t size;
	const struct row_field *fields;
	size_t n;
	/* read_rest reads the item's data from other tables before the statement is reset, so that
	 * all of it is from one snapshot and SQLite locks once. 0 or -1. clear_rest frees that
	 * data. NULL: there is none. */
	int (*read_rest)(struct db *db, void *item, struct err *err);
	void (*clear_rest)(void *item);
	/* The type with all members of the same struct, if this one has only some of them; or
	 * NULL. */
	const struct row_type *whole;
	/* Returns the item as answers show it, for a type whose items are made of several rows; a
	 * new reference. NULL: row_json() prints the fields. */
	json_t *(*shown)(const void *item);
};
#define ROW_TYPE(type_, fields_)                                                                   \
	{                                                                                          \
		.name = #type_, .size = sizeof(struct type_), .fields = (fields_),                 \
		.n = ARRAY_SIZE(fields_)                                                           \
	}

/* Reads the first row into *item_r. Columns are matched by name; members without a column are zero.
 * Returns 1, 0 if there is no row, -1 on error. */
int row_get(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *item_r, struct err *err);
/* Reads the number in the only column of the first row. Returns 1, 0 if there is no row, -1 on
 * error. */
int row_number(struct db *db, const char *sql, const struct db_param *params, int64_t *number_r,
	struct err *err);
/* Reads the text in the only column of the first row; the caller frees it. Returns 1, 0 if there is
 * no row, -1 on error. */
int row_text(struct db *db, const char *sql, const struct db_param *params, char **text_r,
	struct err *err);
/* Adds the text in the only column of each row. Returns 0 or -1. */
int row_texts(struct db *db, const char *sql, const struct db_param *params, struct strv *texts_r,
	struct err *err);
/* Reads the number of a statement that has a row in any case, such as count(*). Returns 0 or -1. */
int row_value(struct db *db, const char *sql, const struct db_param *params, int64_t *number_r,
	struct err *err);

/* Fills *item_r from the current row of a statement, without read_rest. Returns 0; or -1 with the
 * statement reset and *item_r zeroed. */
int row_read(struct db_stmt *stmt, const struct row_type *type, void *item_r, struct err *err);
/* The same for a row with several items: the names of their columns begin with a prefix. item_r is
 * NULL for one that is not wanted. A statement is always read with the same types. */
struct row_part {
	const struct row_type *type;
	const char *prefix;
	void *item_r;
};
int row_read_parts(struct db_stmt *stmt, const struct row_part *parts, size_t n, struct err *err);
/* Frees what the item owns, and zeroes it. */
void row_clear(const struct row_type *type, void *item);

/* Returns the item as a JSON object, without secrets (ROW_HASH); a new reference (row_json.c). */
enum row_form {
	/* For answers and the command: first the name of the type as `object`; `created_us`
	 * becomes `created_at`, a time of RFC 3339, null for never; an empty id is null, a set
	 * is an array of words. */
	ROW_SHOWN,
	ROW_STORED, /* the columns as stored */
};
json_t *row_json(const struct row_type *type, const void *item, enum row_form form);
/* Values of answers; new references. A time (RFC 3339); null for 0, which means never. */
json_t *row_json_time(int64_t time_us);
/* A text, with invalid UTF-8 mended; null for NULL. */
json_t *row_json_string(const char *text);
/* Makes a JSON string; null for NULL and for "". */
json_t *row_json_given(const char *text);
/* Makes an array of strings. */
json_t *row_json_lines(const struct strv *lines);
/* Prints it, for json_each() in a statement; the caller frees it. */
char *row_json_array(const struct strv *lines);
/* Returns the text of a member; "" if it is missing or not a string. */
const char *row_json_text(const json_t *object, const char *name);

/* Like row_write(), for a statement whose result is not needed: see db_post(). Returns 0 or -1. */
int row_post(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err);

/* Runs a statement that returns no rows. It binds params, and each field that the statement names
 * as `$column`. Returns the number of changed rows, or -1. ERR_INVALID for a ROW_LINES with an item
 * that is empty or has a line break. */
int row_write(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err);
/* The same for an INSERT that ends in RETURNING a number, see db_insert(). Returns 0 or -1. */
int row_insert(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, int64_t *number_r, struct err *err);

/* An array of items of one type, for results that do not know it. */
struct rows {
	void *items; /* freed by row_list_free(); NULL for none */
	size_t n;
	bool more;          /* there are rows beyond the limit */
	char next[ID_SIZE]; /* for a search, see struct page_end */
};
/* A page of a list. Lists are newest first. A page begins after the item `after`, or ends before
 * the item `before`, or begins with the newest item. */
struct page {
	int limit;           /* the maximum number of items; over 0 */
	char after[ID_SIZE]; /* "": not given; not together with before */
	char before[ID_SIZE];
	/* Only items whose id and texts together contain each of these words, ignoring ASCII case;
	 * NULL: all. It looks at up to PAGE_LOOK rows. Not together with `before`. */
	const char *search;
	/* Only items for which it returns true, with the same limits; NULL: all. */
	bool (*keeps)(const void *item, const void *arg);
	const void *arg;
};
enum { PAGE_LOOK = 5000 };
/* What follows a page. */
struct page_end {
	bool more; /* there are more items */
	/* The last row that a search looked at when it stopped after PAGE_LOOK rows; it can
	 * continue after this one. "": the search is complete. */
	char next[ID_SIZE];
};
/* Returns the id that the page refers to, NULL for the first page. */
const char *page_cursor(const struct page *page);
/* True if the rows must be selected from the cursor towards the newest. */
bool page_backwards(const struct page *page);
/* The statements of a list with pages. */
enum row_order {
	ROW_BY_CREATED, /* (created_us, id): the statements have `$created` and `$id` */
	ROW_BY_SEQ,     /* seq: they have `$seq` */
	ROW_BY_NAME,    /* (name, id): they have `$name` and `$id` */
};
struct row_pager {
	const char *cursor; /* created_us, seq or name of the item `$id`, if the list has it */
	const char *older;  /* after that, newest first, or in the order of the names */
	const char *newer; /* towards the newest, oldest first; NULL: there are no pages `before` */
	enum row_order order;
};

/* A list to read: from where, which part of it, and where to. */
struct row_list {
	const char *sql;               /* for row_list() */
	const struct row_pager *pager; /* for row_page() */
	const struct db_param *params; /* from DB_PARAMS(), NULL for none */
	const struct row_type *type;
	const struct page *page; /* NULL: all rows of the statement */
	void *items_r;           /* the address of the pointer to the items */
	size_t *n_r;
	struct page_end *end_r; /* what follows the page; NULL: not wanted */
};
#define ROW_LIST(...) (&(const struct row_list){__VA_ARGS__})
/* The destination is a struct with `items` and `n`. */
#define ROW_INTO(list_) .items_r = &(list_)->items, .n_r = &(list_)->n

/* Reads the rows of a statement. For a page the statement selects from the cursor on and has the
 * parameter `$limit`, which is bound here; one `before` is turned round, since it is selected
 * from the cursor on, too. On failure the destination stays as it was. Returns 0 or -1. */
int row_list(struct db *db, const struct row_list *list, struct err *err);
/* Finds the place of the page by the pager, and reads it. Returns 1, 0 if the page refers to an
 * item that is not in the list, -1 on error. */
int row_page(struct db *db, const struct row_list *list, struct err *err);
void row_list_free(const struct row_type *type, void *items, size_t n);

/* clang-format off */
#define ROW_NAMED_PAGER(select, table, name, condition) {                      \
	.cursor = "SELECT " name " FROM " table " WHERE " condition "id = $id", \
	.older = select                                                        \
		" WHERE " condition "(" name ", id) > ($name, $id)"            \
		" ORDER BY " name ", id"                                       \
		" LIMIT $limit",                                               \
	.order = ROW_BY_NAME                                                   \
}
/* clang-format on */
/* Two pagers: for all companies, and for the company `$company`. */
#define ROW_NAMED_PAGERS(select, table, name)                                                      \
	{                                                                                          \
		ROW_NAMED_PAGER(select, table, name, ""),                                          \
			ROW_NAMED_PAGER(select, table, name, "company_id = $company AND ")         \
	}

/* clang-format off */
/* For indexes on (value, company_id, seq): the WITH clause `owner (id)` has the companies with rows
 * that match the condition on the value, each found by one index look-up. The last row is NULL. */
#define ROW_OWNERS(table, condition)                                           \
	"WITH RECURSIVE owner (id) AS (SELECT min(company_id)"                 \
	"   FROM " table                                                       \
	"   WHERE " condition                                                  \
	"   UNION ALL SELECT (SELECT min(n.company_id)"                        \
	"     FROM " table " n"                                                \
	"     WHERE " condition " AND n.company_id > owner.id)"                \
	"   FROM owner"                                                        \
	"   WHERE owner.id IS NOT NULL) "
/* Adds `walk (seq, step)`, which walks the emails of all these companies in order, starting after
 * `start`, up to `max` of them: min and > upwards, max and < downwards. The first row is start, the
 * last one may be NULL. */
#define ROW_WALK(table, condition, seq, next, side, start, max)                \
	ROW_OWNERS(table, condition)                                           \
	", walk (seq, step) AS (SELECT " start ", 0"                           \
	"   UNION ALL SELECT (SELECT " next "((SELECT " next "(n." seq ")"     \
	"         FROM " table " n"                                            \
	"         WHERE " condition                                            \
	" AND n.company_id = owner.id AND n." seq " " side " walk.seq))"       \
	"     FROM owner"                                                      \
	"     WHERE owner.id IS NOT NULL), walk.step + 1"                      \
	"   FROM walk"                                                         \
	"   WHERE walk.seq IS NOT NULL AND walk.step < " max ") "
/* clang-format on */

/* Returns a copy of an untrusted text, cut to 256 bytes and made valid UTF-8; "" for NULL. The
 * caller frees it. */
char *row_bounded(const char *text);

/* Checks a name. ERR_INVALID, with a text that begins with `what`, if the name is longer than
 * ROW_NAME_MAX bytes, is not UTF-8, or has control or invisible characters. */
enum { ROW_NAME_MAX = 200 };
int row_check_name(const char *what, const char *name, struct err *err);

#endif
