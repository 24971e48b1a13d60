/*
 * print_table: a report for people.
 */
#ifndef POSTERN_CLI_PRINT_TABLE_H
#define POSTERN_CLI_PRINT_TABLE_H

#include "cli/report.h"
#include "core/base/buf.h"

/* Appends all rows in aligned columns under their titles. */
void print_table_rows(const struct report *report, struct buf *out);

/* Appends the first row, a line for each column with its name; texts of many
 * lines stand below. */
void print_table_record(const struct report *report, struct buf *out);

#endif
