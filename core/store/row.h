/*
 * row: the frame for the store's SQL. A table of fields says which column is
 * which member of a struct. By that table a row is read into a struct, a struct
 * is bound to a statement, and what a struct owns is freed. A new column is one
 * line in the table, one in each statement that wants it, and one in schema/.
 *
 * By the same table a row is printed: row_json(). Reading and writing is for
 * the files of the store alone. The statements are `static const char` texts,
 * see db.h; params come from DB_PARAMS(), NULL for none.
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

/* The words of a column that stand for the values 0, 1, ... */
struct row_words {
	const char *const *names;
	size_t n;
	bool lenient; /* an unknown word is read as n; otherwise it is
		       * ERR_CONFIG: another program wrote the row */
};
/* The value of a word; n for an unknown one, and for NULL. */
size_t row_word(const struct row_words *words, const char *text);

/* How a member holds its column. */
enum row_kind {
	ROW_ID,    /* char[]: the text of an id or a ticket, never NULL */
	ROW_TEXT,  /* char *, NULL for NULL; owned by the struct */
	ROW_JSON,  /* the same; the text is JSON */
	ROW_LINES, /* struct strv, one item per line; owned by the struct */
	ROW_INT64, /* int64_t */
	ROW_TIME,  /* int64_t: microseconds since 1970, 0 for never; the column ends in _us */
	ROW_UINT,  /* unsigned */
	ROW_SET,   /* unsigned: a set of bits, the words of which begin with that of bit 0 */
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
	const char *name; /* of such an object, as answers have it */
	size_t size;
	const struct row_field *fields;
	size_t n;
	/* Reads what other tables have of an item, before its row is done with:
	 * so all is of one moment, and the engine takes its locks once. 0 or
	 * -1. And frees that. NULL: there is nothing. */
	int (*read_rest)(struct db *db, void *item, struct err *err);
	void (*clear_rest)(void *item);
	/* The type of the same struct with all its members, when this one shows
	 * some of them; or NULL. */
	const struct row_type *whole;
};
#define ROW_TYPE(type_, fields_)                                                                   \
	{                                                                                          \
		.name = #type_, .size = sizeof(struct type_), .fields = (fields_),                 \
		.n = ARRAY_SIZE(fields_)                                                           \
	}

/* The first row: 1 and *item_r, 0 when there is none, -1. The columns are found
 * by name; a member without a column is zero. */
int row_get(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *item_r, struct err *err);
/* The number in the only column of the first row: 1, 0 when there is none, -1. */
int row_number(struct db *db, const char *sql, const struct db_param *params, int64_t *number_r,
	struct err *err);

/* Fills *item_r from the current row of a statement, without the rest. 0; or
 * -1, with the statement reset and *item_r zeroed. */
int row_read(struct db_stmt *stmt, const struct row_type *type, void *item_r, struct err *err);
/* Frees what the item owns, and zeroes it. */
void row_clear(const struct row_type *type, void *item);

/* The item as an object of JSON, without what is secret (ROW_HASH); a new
 * reference (row_json.c). */
enum row_form {
	ROW_SHOWN,  /* as answers and the command have it: first the name of the type as
		     * `object`; `created_us` is `created_at`, a time of RFC 3339, null
		     * for never; an empty id is null, a set an array of words */
	ROW_STORED, /* as its columns are */
};
json_t *row_json(const struct row_type *type, const void *item, enum row_form form);
/* A time as answers have it (RFC 3339); null for 0, which stands for never. */
json_t *row_json_time(int64_t time_us);
/* The text of a member of what was printed; "" where it has none, or is not there. */
const char *row_json_text(const json_t *object, const char *name);

/* Runs a statement that gives no rows. Besides params it gets each field that it
 * names as `$column`. How many rows it changed, or -1. ERR_INVALID for a
 * ROW_LINES with an item that is empty or has a line break. */
int row_write(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err);
/* The same for one that ends in RETURNING a number: 1, 0 none, -1. */
int row_write_returning(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, int64_t *number_r, struct err *err);

/* An array of items of one type. */
struct rows {
	void *items; /* row_list_free() frees them; NULL for none */
	size_t n;
	bool more;          /* there are rows beyond the limit */
	char next[ID_SIZE]; /* of a search; see struct page_end */
};
#define ROWS_ALL SIZE_MAX

/* Reads the rows of a statement, limit of them at most: 0 or -1. */
int row_list(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, size_t limit, struct rows *rows_r, struct err *err);
/* The same with all rows, into the two members of a list. items_r is the
 * address of its pointer. */
int row_all(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *items_r, size_t *n_r, struct err *err);
void row_list_free(const struct row_type *type, void *items, size_t n);

/* A page of a list that is too long to be read at once. Lists are newest first.
 * A page begins behind the item `after`, or ends in front of the item `before`,
 * or begins with the newest. */
struct page {
	int limit;           /* items, at most; over 0 */
	char after[ID_SIZE]; /* "": not given; never both */
	char before[ID_SIZE];
	/* Only items whose id or texts together have each of these words, in
	 * any letter case of ASCII; NULL: all. PAGE_LOOK rows are looked at.
	 * Not with `before`. */
	const char *search;
	/* Only items for which it is true, likewise; NULL: all. */
	bool (*keeps)(const void *item, const void *arg);
	const void *arg;
};
enum { PAGE_LOOK = 5000 };
/* What is behind a page. */
struct page_end {
	bool more; /* there are more items */
	/* A search has looked at PAGE_LOOK rows, of which this one was the last:
	 * who wants more goes on behind it. "": it found all that it was to. */
	char next[ID_SIZE];
};
/* The id that the page refers to, NULL for the first page. */
const char *page_cursor(const struct page *page);
/* Whether the rows are to be selected from the cursor towards the newest. */
bool page_backwards(const struct page *page);
/* Reads a statement that selects from the cursor on and has a parameter
 * `$limit`, which is bound here. The rows are newest first, whichever way the
 * statement selects. 0 or -1. */
int row_page(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const struct page *page, struct rows *rows_r, struct err *err);
/* The same for a list in the order of (created_us, id), whose statements have
 * params and `$id`: 1, 0 when the page refers to an item that the list does not
 * have, -1. */
struct row_pager {
	const char *cursor; /* created_us of the item `$id`, if the list has it */
	const char *older;  /* from (`$created`, `$id`) on, newest first */
	const char *newer;  /* from there on, oldest first */
};
int row_page_created(struct db *db, const struct row_pager *pager, const struct db_param *params,
	const struct row_type *type, const struct page *page, struct rows *rows_r, struct err *err);
/* The same for a list in the order of (name, id), which has no pages `before`. */
struct row_named_pager {
	const char *cursor; /* the name of the item `$id`, if the list has it */
	const char *behind; /* from (`$name`, `$id`) on */
};
#define ROW_NAMED_PAGER(select, table, name, condition)                                            \
	{                                                                                          \
		"SELECT " name " FROM " table " WHERE " condition "id = $id",                      \
			select " WHERE " condition "(" name                                        \
			       ", id) > ($name, $id)"                                              \
			       " ORDER BY " name                                                   \
			       ", id"                                                              \
			       " LIMIT $limit"                                                     \
	}
/* Those of all companies, and of the one `$company`. */
#define ROW_NAMED_PAGERS(select, table, name)                                                      \
	{                                                                                          \
		ROW_NAMED_PAGER(select, table, name, ""),                                          \
			ROW_NAMED_PAGER(select, table, name, "company_id = $company AND ")         \
	}
int row_page_named(struct db *db, const struct row_named_pager *pager,
	const struct db_param *params, const struct row_type *type, const struct page *page,
	struct rows *rows_r, struct err *err);
/* What of a page is not its items. NULL is fine. */
void row_page_end(const struct rows *rows, struct page_end *end_r);

/* Some indexes lead by a value, then by company_id, and have the emails of each
 * company in order. The WITH clause `owner (id)` has the companies with rows
 * for which the condition on the value holds, each by one look-up; the last row
 * is NULL. */
#define ROW_OWNERS(table, condition)                                                               \
	"WITH RECURSIVE owner (id) AS (SELECT min(company_id)"                                     \
	"   FROM " table "   WHERE " condition                                                     \
	"   UNION ALL SELECT (SELECT min(n.company_id)"                                            \
	"     FROM " table                                                                         \
	" n"                                                                                       \
	"     WHERE " condition                                                                    \
	" AND n.company_id > owner.id)"                                                            \
	"   FROM owner"                                                                            \
	"   WHERE owner.id IS NOT NULL) "
/* And `walk (seq, step)` goes through the emails of all these companies in order,
 * from the one behind start, max of them at most: min and > up, max and < down. The
 * first row is start, the last one may be NULL. */
#define ROW_WALK(table, condition, seq, next, side, start, max)                                    \
	ROW_OWNERS(table, condition)                                                               \
	", walk (seq, step) AS (SELECT " start                                                     \
	", 0"                                                                                      \
	"   UNION ALL SELECT (SELECT " next "((SELECT " next "(n." seq                             \
	")"                                                                                        \
	"         FROM " table                                                                     \
	" n"                                                                                       \
	"         WHERE " condition " AND n.company_id = owner.id AND n." seq " " side             \
	" walk.seq))"                                                                              \
	"     FROM owner"                                                                          \
	"     WHERE owner.id IS NOT NULL), walk.step + 1"                                          \
	"   FROM walk"                                                                             \
	"   WHERE walk.seq IS NOT NULL AND walk.step < " max ") "

/* The text of a stranger, cut to 256 bytes and made UTF-8; "" for NULL. A new
 * string. */
char *row_bounded(const char *text);

/* ERR_INVALID, beginning with what, for a name over ROW_NAME_MAX bytes, or one
 * that is not UTF-8, or has control characters or such as are not seen. */
enum { ROW_NAME_MAX = 200 };
int row_check_name(const char *what, const char *name, struct err *err);

#endif
