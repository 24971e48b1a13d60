/*
 * print_json: a report for programs, on one line.
 *
 * ASCII only: other characters come as \u escapes, so that a terminal is safe
 * whatever the text. Times are RFC 3339, lists arrays of strings.
 */
#ifndef POSTERN_CLI_PRINT_JSON_H
#define POSTERN_CLI_PRINT_JSON_H

#include "cli/report.h"
#include "core/base/buf.h"

/* Appends all rows as an array of objects, without their bodies. */
void print_json_rows(const struct report *report, struct buf *out);

/* Appends the first row as an object. */
void print_json_record(const struct report *report, struct buf *out);

#endif
