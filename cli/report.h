/*
 * report: the output of a verb.
 *
 * Rows of typed cells in named columns. A verb fills a report; it is printed as a table for people
 * or as JSON for programs, so every verb supports both. A report owns everything that is put into
 * it.
 */
#ifndef POSTERN_CLI_REPORT_H
#define POSTERN_CLI_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/id.h"
#include "core/base/strv.h"

enum column_type {
	COLUMN_TEXT,
	COLUMN_BODY, /* a text of many lines; only shown for a single row */
	COLUMN_INT,
	COLUMN_FLAG,
	COLUMN_TIME, /* RFC 3339 */
	COLUMN_LIST,
	COLUMN_ROWS, /* a nested report; only in JSON: an array of objects */
	COLUMN_JSON, /* a text that is JSON, inserted into JSON as it is */
};

/* The type of the item's member for a column. */
enum column_member { MEMBER_NONE, MEMBER_ID, MEMBER_TEXT, MEMBER_INT64, MEMBER_BOOL };

struct report;

enum { COLUMN_SPARE_MAX = 4 };

struct column {
	const char *name;  /* in JSON */
	const char *title; /* for people; NULL: not shown in a table */
	enum column_type type;
	size_t width; /* longer texts are cut in a table; 0: never */
	/* The order in which a narrow table drops columns, from 1 to COLUMN_SPARE_MAX; 0: never. */
	int spare;
	/* How report_add() fills it: from a member by COLUMN_OF(), or by the function fill;
	 * otherwise it stays null. */
	enum column_member member;
	size_t offset;
	void (*fill)(struct report *report, size_t column, const void *item);
};
#define COLUMN_OF(struct_, member_)                                                                \
	.member = _Generic(&((struct struct_ *)NULL)->member_,                 \
		char(*)[ID_SIZE]: MEMBER_ID, char **: MEMBER_TEXT,             \
		const char **: MEMBER_TEXT, int64_t *: MEMBER_INT64,           \
		bool *: MEMBER_BOOL),                                          \
	.offset = offsetof(struct struct_, member_)

struct cell {
	bool set; /* else null */
	char *text;
	int64_t number;
	struct strv list;
	struct report *rows;
};

struct report {
	const struct column *columns; /* ended by one without a name */
	size_t columns_n;
	struct cell *cells; /* row after row */
	size_t rows_n;
	/* Prints the rows; NULL: they are kept until the end. */
	int (*flush)(struct report *report, void *arg, struct err *err);
	void *flush_arg;
	bool flushed;   /* these rows continue others that were printed */
	bool open;      /* more rows will follow */
	size_t *widths; /* of the table, from its first rows; NULL: nothing is printed yet */
	char *note;     /* for people, ends with a newline; or NULL */
	/* Output as raw bytes; to a terminal through the visible functions. */
	struct buf bytes;
	/* The first of several failures that do not prevent the others from being reported; else
	 * ERR_NONE. */
	struct err failure;
	int status; /* the exit status if nothing failed */
};

/* Initializes a report; free it with report_clear(). */
void report_init(struct report *report, const struct column *columns);
void report_clear(struct report *report);

/* Adds a row for an item of the struct that the columns describe. An empty id is null. */
void report_add(struct report *report, const void *item);

/* Adds a row from the result of an operation (op_json()): each column gets the member with its
 * name. */
void report_json(struct report *report, const json_t *object);

/* Adds a new row of nulls. The functions below fill the last row. */
void report_add_row(struct report *report);
/* NULL leaves it null. */
void report_text(struct report *report, size_t column, const char *text);
void report_number(struct report *report, size_t column, int64_t number);
/* 0, which means never, leaves it null. */
void report_time(struct report *report, size_t column, int64_t time_us);
void report_list(struct report *report, size_t column, const struct strv *list);
/* Adds a nested report to the cell and returns it. The report owns it. */
struct report *report_rows(struct report *report, size_t column, const struct column *columns);

/* For lists that may be long: once there are REPORT_ROWS rows, prints and frees them. Returns 0 or
 * -1. */
enum { REPORT_ROWS = 1000 };
int report_flush(struct report *report, struct err *err);

/* Adds a sentence for people. */
void report_note(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* On a terminal, shows how many steps are done. */
void report_progress(size_t done, size_t all);

/* Appends all rows in aligned columns under their titles. If they do not fit the terminal (0: not a
 * terminal), it drops spare columns and says so; if that is not enough, each cell gets a line with
 * its name, with an empty line between rows. Rows that continue printed ones use the same columns,
 * without titles. */
void print_table_rows(struct report *report, size_t terminal, struct buf *out);

/* Appends the first row, one line for each column with its name, followed by texts of many lines.
 * On a terminal sentences are wrapped. */
void print_table_record(const struct report *report, size_t terminal, struct buf *out);

/* Appends a text of many lines below its name. */
void print_body(const char *name, const char *text, struct buf *out);

/* JSON on one line, in ASCII: other characters are \u escapes, so that it is safe on a terminal.
 * Times are RFC 3339, lists are arrays. */

/* Appends all rows as an array of objects, without their bodies. */
void print_json_rows(const struct report *report, struct buf *out);

/* Appends each row as an object on a line. */
void print_json_lines(const struct report *report, struct buf *out);

/* Appends the first row as an object. */
void print_json_record(const struct report *report, struct buf *out);

/* Appends the text as UTF-8 without terminal control: control characters, characters that change
 * the writing direction, and invalid bytes become \xNN or \u{NNNN}. */
void visible_add(struct buf *out, const char *text);

/* Adds the text in visible form, and keeps line breaks and tabs. */
void visible_add_lines(struct buf *out, const char *text);

/* Adds the text in visible form, in lines of width columns, each indented. Lines break at blanks;
 * only a word longer than a line is broken. */
void visible_add_wrapped(struct buf *out, const char *text, size_t indent, size_t width);
/* The same, with a label of fewer than `at` bytes in front of the first line. */
void visible_add_labelled(
	struct buf *out, const char *label, const char *text, size_t at, size_t width);

/* Returns the columns of a terminal that the visible form of the text takes. */
size_t visible_width(const char *text);

/* Returns how many bytes of such a text fit into width columns. */
size_t visible_cut(const char *text, size_t width);

#endif
