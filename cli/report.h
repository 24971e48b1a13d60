/*
 * report: what a verb has to say.
 *
 * Rows of typed cells under named columns. A verb fills a report; it is printed
 * as a table for people or as JSON for programs, so every verb speaks to both.
 * A report owns all that is put in.
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
	COLUMN_BODY, /* a text of many lines; only where one row is shown */
	COLUMN_INT,
	COLUMN_FLAG,
	COLUMN_TIME, /* of RFC 3339 */
	COLUMN_LIST,
	COLUMN_ROWS, /* a report of its own; in JSON alone: an array of objects */
	COLUMN_JSON, /* a text that is JSON, and in JSON no string */
};

/* How a member of an item holds the value of a column. */
enum column_member { MEMBER_NONE, MEMBER_ID, MEMBER_TEXT, MEMBER_INT64, MEMBER_BOOL };

struct report;

enum { COLUMN_SPARE_MAX = 4 };

struct column {
	const char *name;  /* in JSON */
	const char *title; /* for people; NULL: not shown in a table */
	enum column_type type;
	size_t width; /* a table cuts longer texts; 0: never */
	int spare;    /* what a narrow terminal's table leaves out first, from 1 to
		       * COLUMN_SPARE_MAX; 0: never */
	/* What report_add() puts in: COLUMN_OF() a member, or what fill does;
	 * without them nothing. */
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
	/* Prints the rows; NULL: they are kept to the end. */
	int (*flush)(struct report *report, void *arg, struct err *err);
	void *flush_arg;
	bool flushed;   /* these rows go on behind others that were printed */
	bool open;      /* there will be more behind them */
	size_t *widths; /* of the table, by its first rows; NULL: none is
			 * printed yet */
	char *note;     /* for people, with its end of line; or NULL */
	/* What goes out to the last byte; to a terminal as the visible functions have it. */
	struct buf bytes;
	/* The first of several things that did not work, which does not keep
	 * the others from being reported; else ERR_NONE. */
	struct err failure;
	int status; /* the exit status when nothing failed */
};

/* Starts a report; end it with report_clear(). */
void report_init(struct report *report, const struct column *columns);
void report_clear(struct report *report);

/* Adds a row for an item of the struct that the columns are of. An empty id is
 * null. */
void report_add(struct report *report, const void *item);

/* Adds a row of what an operation gives (op_json()): each column has the member
 * of its name. */
void report_json(struct report *report, const json_t *object);

/* Begins a new row, all null. The others below fill the last one. */
void report_add_row(struct report *report);
/* NULL leaves null. */
void report_text(struct report *report, size_t column, const char *text);
void report_number(struct report *report, size_t column, int64_t number);
/* 0, which stands for never, leaves null. */
void report_time(struct report *report, size_t column, int64_t time_us);
void report_list(struct report *report, size_t column, const struct strv *list);
/* Starts the rows of the cell, which the report owns, and gives them. */
struct report *report_rows(struct report *report, size_t column, const struct column *columns);

/* Of a list that may be long: once there are REPORT_ROWS, prints and forgets
 * them. 0 or -1. */
enum { REPORT_ROWS = 1000 };
int report_flush(struct report *report, struct err *err);

/* Adds a sentence for people. */
void report_note(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Shows on a terminal how many of several steps are done. */
void report_progress(size_t done, size_t all);

/* Appends all rows in aligned columns under their titles. Where that takes more
 * columns than the terminal has (0: it is none), it leaves out what can be
 * spared and says so; where that does not do, each cell comes in a line with
 * its name, and an empty line between rows. Rows behind those that were printed
 * before go on in the same columns, without titles. */
void print_table_rows(struct report *report, size_t terminal, struct buf *out);

/* Appends the first row, a line for each column with its name; texts of many
 * lines stand below. On a terminal sentences are wrapped. */
void print_table_record(const struct report *report, size_t terminal, struct buf *out);

/* Appends a text of many lines below its name. */
void print_body(const char *name, const char *text, struct buf *out);

/* JSON on one line, in ASCII: other characters come as \u escapes, so that a
 * terminal is safe whatever the text. Times are RFC 3339, lists arrays. */

/* Appends all rows as an array of objects, without their bodies. */
void print_json_rows(const struct report *report, struct buf *out);

/* Appends each row as an object on a line. */
void print_json_lines(const struct report *report, struct buf *out);

/* Appends the first row as an object. */
void print_json_record(const struct report *report, struct buf *out);

/* Appends the text as UTF-8 in which nothing steers a terminal or reorders
 * what is read: control characters, the marks that change the direction of
 * writing, and bytes that are no UTF-8 come out as \xNN or \u{NNNN}. */
void visible_add(struct buf *out, const char *text);

/* The same, but ends of line and tabs stay. */
void visible_add_lines(struct buf *out, const char *text);

/* The same in lines of width columns, each after indent blanks. They are broken
 * at blanks, and a word only that is longer than a line. */
void visible_add_wrapped(struct buf *out, const char *text, size_t indent, size_t width);

/* Appends a time to the second: `2026-11-21 02:43:18Z`. */
void visible_add_time(struct buf *out, int64_t time_us);

/* How many columns of a terminal the text, made visible, takes. */
size_t visible_width(const char *text);

/* How many bytes of such a text fit into width columns. */
size_t visible_cut(const char *text, size_t width);

#endif
