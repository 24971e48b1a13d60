/*
 * print_table: a report for people. Everything passes through visible.
 *
 * Threads: any; holds no state.
 */
#include "cli/print_table.h"

#include <string.h>

#include "cli/visible.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

enum { GAP = 2 };

/* A text of one line, cut to the column's width when cut is wanted. */
static void add_text(const struct column *column, const char *text, bool cut,
	struct buf *out)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;

	visible_add(&shown, text);
	if (cut && column->width &&
		visible_width(buf_str(&shown)) > column->width) {
		buf_add(out, shown.data,
			visible_cut(shown.data, column->width - 1));
		buf_add_str(out, "…");
	} else {
		buf_add_str(out, buf_str(&shown));
	}
}

/* To the second: `2026-11-21 02:43:18Z`. */
static void add_time(int64_t time_us, struct buf *out)
{
	char text[CLOCK_TEXT_SIZE];

	clock_iso8601(time_us, text);
	buf_printf(out, "%.10s %.8sZ", text, text + 11);
}

static void add_value(const struct column *column, const struct cell *cell,
	bool cut, struct buf *out)
{
	switch (column->type) {
	case COLUMN_TEXT:
		add_text(column, cell->text, cut, out);
		break;
	case COLUMN_BODY:
		visible_add_lines(out, cell->text);
		break;
	case COLUMN_INT:
		buf_printf(out, "%lld", (long long)cell->number);
		break;
	case COLUMN_FLAG:
		buf_add_str(out, cell->number ? "yes" : "no");
		break;
	case COLUMN_TIME:
		add_time(cell->number, out);
		break;
	case COLUMN_LIST: {
		_cleanup_free_ char *text = strv_join(&cell->list, ", ");

		add_text(column, text, cut, out);
	}
	}
}

/* The cell as text, a dash for null and for nothing; a new string. */
static char *render(
	const struct report *report, size_t row, size_t column, bool cut)
{
	const struct cell *cell = report_cell(report, row, column);
	struct buf text = BUF_INIT;

	if (cell->set)
		add_value(&report->columns[column], cell, cut, &text);
	if (text.len == 0)
		buf_add_str(&text, "-");
	return buf_take(&text);
}

static size_t column_width(const struct report *report, size_t column)
{
	size_t width = visible_width(report->columns[column].title);

	for (size_t row = 0; row < report->rows_n; row++) {
		_cleanup_free_ char *text = render(report, row, column, true);
		size_t wanted = visible_width(text);

		if (wanted > width)
			width = wanted;
	}
	return width;
}

/* Blanks are put before a text, not behind the last one. */
struct line {
	struct buf *out;
	size_t owed;
};

static void add_cell(struct line *line, const char *text, size_t width)
{
	buf_printf(line->out, "%*s%s", (int)line->owed, "", text);
	line->owed = width - visible_width(text) + GAP;
}

static void end_line(struct line *line)
{
	buf_add_char(line->out, '\n');
	line->owed = 0;
}

void print_table_rows(const struct report *report, struct buf *out)
{
	size_t *widths = mem_alloc(report->columns_n, sizeof(*widths));
	struct line line = {.out = out};

	for (size_t i = 0; i < report->columns_n; i++) {
		const char *title = report->columns[i].title;

		if (title == NULL)
			continue;
		widths[i] = column_width(report, i);
		add_cell(&line, title, widths[i]);
	}
	end_line(&line);
	for (size_t row = 0; row < report->rows_n; row++) {
		for (size_t i = 0; i < report->columns_n; i++) {
			_cleanup_free_ char *text = NULL;

			if (report->columns[i].title == NULL)
				continue;
			text = render(report, row, i, true);
			add_cell(&line, text, widths[i]);
		}
		end_line(&line);
	}
	free(widths);
}

static size_t names_width(const struct report *report)
{
	size_t width = 0;

	for (size_t i = 0; i < report->columns_n; i++) {
		size_t len = strlen(report->columns[i].name);

		if (report->columns[i].type != COLUMN_BODY && len > width)
			width = len;
	}
	return width;
}

static void add_body(
	const struct column *column, const char *text, struct buf *out)
{
	buf_printf(out, "\n%s:\n%s", column->name, text);
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
}

void print_table_record(const struct report *report, struct buf *out)
{
	size_t width = names_width(report);

	for (size_t i = 0; i < report->columns_n; i++) {
		const struct column *column = &report->columns[i];
		_cleanup_free_ char *text = render(report, 0, i, false);

		if (column->type == COLUMN_BODY)
			add_body(column, text, out);
		else
			buf_printf(out, "%-*s%s\n", (int)(width + GAP),
				column->name, text);
	}
}
