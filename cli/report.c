/*
 * report: what a verb has to say, before it is a table or JSON.
 *
 * Invariant: cells has rows_n * columns_n elements.
 * Threads: one.
 */
#include "cli/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

void report_init(struct report *report, const struct column *columns)
{
	*report = (struct report){.columns = columns, .failure = ERR_INIT};
	while (columns[report->columns_n].name)
		report->columns_n++;
}

/* A new key's token is among the texts. */
static void wipe(char *text)
{
	if (text)
		secret_wipe(text, strlen(text));
	free(text);
}

void report_clear(struct report *report)
{
	for (size_t i = 0; i < report->rows_n * report->columns_n; i++) {
		wipe(report->cells[i].text);
		strv_free(&report->cells[i].list);
	}
	free(report->cells);
	free(report->note);
	*report = (struct report){0};
}

void report_add_row(struct report *report)
{
	size_t n = report->rows_n * report->columns_n;
	size_t grown = n + report->columns_n;

	report->cells = mem_grow(report->cells, grown, sizeof(struct cell));
	memset(report->cells + n, 0, report->columns_n * sizeof(struct cell));
	report->rows_n++;
}

static struct cell *last_row_cell(struct report *report, size_t column)
{
	assert(report->rows_n > 0 && column < report->columns_n);
	return &report->cells[(report->rows_n - 1) * report->columns_n + column];
}

void report_text(struct report *report, size_t column, const char *text)
{
	struct cell *cell = last_row_cell(report, column);

	if (text == NULL)
		return;
	cell->set = true;
	cell->text = mem_strdup(text);
}

void report_number(struct report *report, size_t column, int64_t number)
{
	struct cell *cell = last_row_cell(report, column);

	cell->set = true;
	cell->number = number;
}

void report_time(struct report *report, size_t column, int64_t time_us)
{
	if (time_us != 0)
		report_number(report, column, time_us);
}

void report_list(struct report *report, size_t column, const struct strv *list)
{
	struct cell *cell = last_row_cell(report, column);

	cell->set = true;
	strv_add_all(&cell->list, list);
}

void report_note(struct report *report, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(report->note);
	report->note = mem_printf("%s\n", text ? text : "");
	free(text);
}

const struct cell *report_cell(
	const struct report *report, size_t row, size_t column)
{
	assert(row < report->rows_n && column < report->columns_n);
	return &report->cells[row * report->columns_n + column];
}
