/*
 * report: what a verb has to say, before it is a table or JSON.
 *
 * Rows of typed cells under named columns. A verb fills one, the printers
 * print it; so every verb speaks both to people and to programs. A report owns
 * all that is put in.
 */
#ifndef POSTERN_CLI_REPORT_H
#define POSTERN_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/strv.h"

enum column_type {
	COLUMN_TEXT,
	COLUMN_BODY, /* a text of many lines; only where one row is shown */
	COLUMN_INT,
	COLUMN_FLAG,
	COLUMN_TIME, /* microseconds */
	COLUMN_LIST,
};

struct column {
	const char *name;  /* in JSON */
	const char *title; /* for people; NULL: not shown in a table */
	enum column_type type;
	size_t width; /* a table cuts longer texts; 0: never */
};

struct cell {
	bool set; /* else null */
	char *text;
	int64_t number;
	struct strv list;
};

struct report {
	const struct column *columns; /* ended by one without a name */
	size_t columns_n;
	struct cell *cells; /* row after row */
	size_t rows_n;
	char *note; /* for people, with its end of line; or NULL */
	/* The first of several things that did not work, which does not keep
	 * the others from being reported; else ERR_NONE. */
	struct err failure;
};

/* Starts a report; end it with report_clear(). */
void report_init(struct report *report, const struct column *columns);
void report_clear(struct report *report);

/* Begins a new row, all null. The others below fill the last one. */
void report_add_row(struct report *report);
/* NULL leaves null. */
void report_text(struct report *report, size_t column, const char *text);
void report_number(struct report *report, size_t column, int64_t number);
/* 0, which stands for never, leaves null. */
void report_time(struct report *report, size_t column, int64_t time_us);
void report_list(struct report *report, size_t column, const struct strv *list);

/* Adds a sentence for people. */
void report_note(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What stands there; the report's. */
const struct cell *report_cell(
	const struct report *report, size_t row, size_t column);

#endif
