/*
 * print: a report as a table for people or as JSON for programs, and text that
 * is safe to show on a terminal.
 */
#ifndef POSTERN_CLI_PRINT_H
#define POSTERN_CLI_PRINT_H

#include <stddef.h>

#include "cli/report.h"
#include "core/base/buf.h"

/* Appends all rows in aligned columns under their titles. */
void print_table_rows(const struct report *report, struct buf *out);

/* Appends the first row, a line for each column with its name; texts of many
 * lines stand below. */
void print_table_record(const struct report *report, struct buf *out);

/* JSON on one line, in ASCII: other characters come as \u escapes, so that a
 * terminal is safe whatever the text. Times are RFC 3339, lists arrays. */

/* Appends all rows as an array of objects, without their bodies. */
void print_json_rows(const struct report *report, struct buf *out);

/* Appends the first row as an object. */
void print_json_record(const struct report *report, struct buf *out);

/* Appends the text as UTF-8 in which nothing steers a terminal or reorders
 * what is read: control characters, the marks that change the direction of
 * writing, and bytes that are no UTF-8 come out as \xNN or \u{NNNN}. */
void visible_add(struct buf *out, const char *text);

/* The same, but ends of line and tabs stay. */
void visible_add_lines(struct buf *out, const char *text);

/* How many columns of a terminal the text, made visible, takes. */
size_t visible_width(const char *text);

/* How many bytes of such a text fit into width columns. */
size_t visible_cut(const char *text, size_t width);

#endif
