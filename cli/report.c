/*
 * report: the output of a verb, as JSON and as tables.
 *
 * All texts pass through the visible_ functions before they enter a table. Texts and the note may
 * contain the token of a new key, so they are wiped. Invariant: cells has rows_n * columns_n
 * elements.
 */
#include "cli/report.h"

#include <assert.h>
#include <glib.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

void report_init(struct report *report, const struct column *columns)
{
	*report = (struct report){.columns = columns, .failure = ERR_INIT};
	while (columns[report->columns_n].name)
		report->columns_n++;
}

static void forget_rows(struct report *report)
{
	for (size_t i = 0; i < report->rows_n * report->columns_n; i++) {
		secret_text_free(report->cells[i].text);
		strv_free(&report->cells[i].list);
		if (report->cells[i].rows)
			report_clear(report->cells[i].rows);
		free(report->cells[i].rows);
	}
	free(report->cells);
	report->cells = NULL;
	report->rows_n = 0;
}

int report_flush(struct report *report, struct err *err)
{
	int result;

	if (report->flush == NULL || report->rows_n < REPORT_ROWS)
		return 0;
	report->open = true;
	result = report->flush(report, report->flush_arg, err);
	report->open = false;
	report->flushed = true;
	forget_rows(report);
	return result;
}

void report_clear(struct report *report)
{
	forget_rows(report);
	free(report->widths);
	secret_text_free(report->note);
	buf_free(&report->bytes);
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
	secret_text_free(cell->text);
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
	char text[CLOCK_TEXT_SIZE];

	if (time_us == 0)
		return;
	clock_iso8601(time_us, text);
	report_text(report, column, text);
}

void report_list(struct report *report, size_t column, const struct strv *list)
{
	struct cell *cell = last_row_cell(report, column);

	cell->set = true;
	strv_add_all(&cell->list, list);
}

void report_add(struct report *report, const void *item)
{
	report_add_row(report);
	for (size_t i = 0; i < report->columns_n; i++) {
		const struct column *column = &report->columns[i];
		const void *at = (const char *)item + column->offset;

		if (column->fill)
			column->fill(report, i, item);
		switch (column->member) {
		case MEMBER_NONE:
			break;
		case MEMBER_ID:
			report_text(report, i, str_empty(at) ? NULL : at);
			break;
		case MEMBER_TEXT:
			report_text(report, i, *(char *const *)at);
			break;
		case MEMBER_INT64:
			if (column->type == COLUMN_TIME)
				report_time(report, i, *(const int64_t *)at);
			else
				report_number(report, i, *(const int64_t *)at);
			break;
		case MEMBER_BOOL:
			report_number(report, i, *(const bool *)at);
			break;
		}
	}
}

void report_json(struct report *report, const json_t *object)
{
	report_add_row(report);
	for (size_t i = 0; i < report->columns_n; i++) {
		const json_t *value = json_object_get(object, report->columns[i].name), *item;
		struct cell *cell = last_row_cell(report, i);
		size_t at;

		cell->set = value && !json_is_null(value);
		if (json_is_object(value))
			cell->text = json_dumps(value, 0);
		else if (json_is_string(value))
			cell->text = mem_strdup(json_string_value(value));
		cell->number = json_is_boolean(value) ? json_is_true(value)
						      : json_integer_value(value);
		json_array_foreach(value, at, item)
			strv_add(&cell->list, json_string_value(item));
	}
}

struct report *report_rows(struct report *report, size_t column, const struct column *columns)
{
	struct cell *cell = last_row_cell(report, column);

	cell->set = true;
	cell->rows = mem_new(struct report);
	report_init(cell->rows, columns);
	return cell->rows;
}

void report_progress(size_t done, size_t all)
{
	if (all > 1 && isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu of %zu%s", done, all, done == all ? "\n" : "");
}

void report_note(struct report *report, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	text = mem_vprintf(format, args);
	va_end(args);
	secret_text_free(report->note);
	report->note = mem_printf("%s\n", text);
	secret_text_free(text);
}

static const struct cell *cell_at(const struct report *report, size_t row, size_t column)
{
	assert(row < report->rows_n && column < report->columns_n);
	return &report->cells[row * report->columns_n + column];
}

/* Text that is safe to show on a terminal. */

/* Reads the first character of the text. Returns its length, or 0 at the end and for invalid
 * UTF-8. */
static size_t read_char(const char *text, gunichar *code_r)
{
	gunichar code = g_utf8_get_char_validated(text, -1);

	if (code == 0 || !g_unichar_validate(code))
		return 0;
	*code_r = code;
	return (size_t)(g_utf8_next_char(text) - text);
}

/* True for characters that control a terminal or the order of the following text. */
static bool acts(gunichar code)
{
	static const struct {
		gunichar first;
		gunichar last;
	} ranges[] = {
		{0, 0x1f},          /* C0 */
		{0x7f, 0x9f},       /* DEL and C1 */
		{0x200e, 0x200f},   /* marks of direction */
		{0x2028, 0x202e},   /* separators, embeddings, overrides */
		{0x2066, 0x2069},   /* isolates */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* interlinear annotation */
		{0xe0000, 0xe007f}, /* tags */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static void add_escaped(struct buf *out, const char *text, const char *kept)
{
	while (*text) {
		gunichar code = 0;
		size_t len = read_char(text, &code);

		if (len == 1 && strchr(kept, *text))
			buf_add_char(out, *text);
		else if (len <= 1 && (len == 0 || acts(code)))
			buf_printf(out, "\\x%02x", (unsigned char)*text);
		else if (acts(code))
			buf_printf(out, "\\u{%04x}", code);
		else
			buf_add(out, text, len);
		text += len ? len : 1;
	}
}

void visible_add(struct buf *out, const char *text)
{
	add_escaped(out, text, "");
}

void visible_add_lines(struct buf *out, const char *text)
{
	add_escaped(out, text, "\n\t");
}

void visible_add_labelled(
	struct buf *out, const char *label, const char *text, size_t at, size_t width)
{
	size_t start = out->len;

	visible_add_wrapped(out, text, at, width);
	memcpy(out->data + start, label, strlen(label));
}

/* Returns the width of the part of the text that fits; *bytes_r is its length. */
static size_t measure(const char *text, size_t max, size_t *bytes_r)
{
	size_t used = 0, bytes = 0;

	while (text[bytes]) {
		gunichar code = 0;
		size_t len = read_char(text + bytes, &code);
		size_t width = len && g_unichar_iswide(code) ? 2 : 1;

		if (len && g_unichar_iszerowidth(code))
			width = 0;
		if (used + width > max)
			break;
		used += width;
		bytes += len ? len : 1;
	}
	*bytes_r = bytes;
	return used;
}

size_t visible_width(const char *text)
{
	size_t bytes;

	return measure(text, SIZE_MAX, &bytes);
}

size_t visible_cut(const char *text, size_t width)
{
	size_t bytes;

	measure(text, width, &bytes);
	return bytes;
}

void visible_add_wrapped(struct buf *out, const char *text, size_t indent, size_t width)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;
	size_t room = width > indent ? width - indent : 1;
	const char *rest;

	visible_add(&shown, text);
	rest = buf_str(&shown) + strspn(buf_str(&shown), " ");
	do {
		size_t fits = visible_cut(rest, room);
		size_t len = fits;
		gunichar code;

		if (rest[fits] != '\0' && rest[fits] != ' ')
			while (len > 0 && rest[len - 1] != ' ')
				len--;
		if (len == 0) /* no blank to break at */
			len = fits ? fits : read_char(rest, &code);
		buf_printf(out, "%*s", (int)indent, "");
		fits = len;
		while (fits > 0 && rest[fits - 1] == ' ')
			fits--;
		buf_add(out, rest, fits);
		buf_add_char(out, '\n');
		rest += len + strspn(rest + len, " ");
	} while (*rest);
}

/* Makes invalid UTF-8 visible, because JSON cannot represent it. */
static json_t *json_of_text(const char *text)
{
	json_t *json = json_string(text);
	_cleanup_buf_ struct buf shown = BUF_INIT;

	if (json)
		return json;
	visible_add(&shown, text);
	return json_string(buf_str(&shown));
}

static json_t *json_of_row(const struct report *report, size_t row, bool bodies);

static json_t *json_of_cell(enum column_type type, const struct cell *cell)
{
	json_t *json;

	if (!cell->set)
		return json_null();
	switch (type) {
	case COLUMN_TEXT:
	case COLUMN_TIME:
	case COLUMN_BODY:
		return json_of_text(cell->text);
	case COLUMN_INT:
		return json_integer(cell->number);
	case COLUMN_FLAG:
		return json_boolean(cell->number);
	case COLUMN_LIST:
		json = json_array();
		for (size_t i = 0; i < cell->list.n; i++)
			json_array_append_new(json, json_of_text(cell->list.items[i]));
		return json;
	case COLUMN_ROWS:
		json = json_array();
		for (size_t row = 0; row < cell->rows->rows_n; row++)
			json_array_append_new(json, json_of_row(cell->rows, row, false));
		return json;
	case COLUMN_JSON:
		json = json_loads(cell->text, JSON_DECODE_ANY, NULL);
		return json ? json : json_null();
	}
	return json_null();
}

static json_t *json_of_row(const struct report *report, size_t row, bool bodies)
{
	json_t *object = json_object();

	for (size_t i = 0; i < report->columns_n; i++)
		if (bodies || report->columns[i].type != COLUMN_BODY)
			json_object_set_new(object, report->columns[i].name,
				json_of_cell(report->columns[i].type, cell_at(report, row, i)));
	return object;
}

/* Escapes DEL, which is not printable, but which JSON does not require to be escaped. */
static int add_without_del(const char *data, size_t len, void *out)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] == 0x7f)
			buf_add_str(out, "\\u007f");
		else
			buf_add_char(out, data[i]);
	return 0;
}

static void dump(json_t *json, struct buf *out)
{
	json_dump_callback(json, add_without_del, out, JSON_ENSURE_ASCII);
	json_decref(json);
	buf_add_char(out, '\n');
}

void print_json_rows(const struct report *report, struct buf *out)
{
	for (size_t row = 0; row < report->rows_n; row++) {
		buf_add_str(out, row > 0 || report->flushed ? ", " : "[");
		dump(json_of_row(report, row, false), out);
		out->len--; /* without the newline */
	}
	if (!report->open)
		buf_add_str(out, report->rows_n > 0 || report->flushed ? "]\n" : "[]\n");
}

void print_json_lines(const struct report *report, struct buf *out)
{
	for (size_t row = 0; row < report->rows_n; row++)
		dump(json_of_row(report, row, false), out);
}

void print_json_record(const struct report *report, struct buf *out)
{
	dump(json_of_row(report, 0, true), out);
}

enum { GAP = 2 };

/* Adds a text of one line, cut to the column's width if `cut` is set. */
static void add_cell_text(const struct column *column, const char *text, bool cut, struct buf *out)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;

	visible_add(&shown, text);
	if (cut && column->width && visible_width(buf_str(&shown)) > column->width) {
		buf_add(out, shown.data, visible_cut(shown.data, column->width - 1));
		buf_add_str(out, "…");
	} else {
		buf_add_str(out, buf_str(&shown));
	}
}

/* Returns the cell as text, a dash for null and for an empty one. The caller frees it. */
static char *render_cell(const struct report *report, size_t row, size_t index, bool cut)
{
	const struct column *column = &report->columns[index];
	const struct cell *cell = cell_at(report, row, index);
	_cleanup_free_ char *list = NULL;
	struct buf text = BUF_INIT;

	if (cell->set)
		switch (column->type) {
		case COLUMN_TEXT:
		case COLUMN_JSON:
			add_cell_text(column, cell->text, cut, &text);
			break;
		case COLUMN_BODY:
			visible_add_lines(&text, cell->text);
			break;
		case COLUMN_INT:
			buf_printf(&text, "%lld", (long long)cell->number);
			break;
		case COLUMN_FLAG:
			buf_add_str(&text, cell->number ? "yes" : "no");
			break;
		case COLUMN_TIME:
			buf_printf(&text, "%.10s %.8sZ", cell->text, cell->text + 11);
			break;
		case COLUMN_LIST:
			list = strv_join(&cell->list, ", ");
			add_cell_text(column, list, cut, &text);
			break;
		case COLUMN_ROWS:
			break;
		}
	if (text.len == 0)
		buf_add_str(&text, "-");
	return buf_take(&text);
}

/* Blanks are written before a text, so that none follow the last one. */
struct line {
	struct buf *out;
	size_t owed;
};

/* A row that came after the widths were chosen may have a wider cell. */
static void add_cell(struct line *line, const char *text, size_t width)
{
	size_t own = visible_width(text);

	buf_printf(line->out, "%*s%s", (int)line->owed, "", text);
	line->owed = (own < width ? width - own : 0) + GAP;
}

static void end_line(struct line *line)
{
	buf_add_char(line->out, '\n');
	line->owed = 0;
}

static size_t table_width(const size_t *widths, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width += widths[i] ? widths[i] + GAP : 0;
	return width > 0 ? width - GAP : 0;
}

/* Columns of width 0 are not shown. */
static void print_rows(const struct report *report, const size_t *widths, struct buf *out)
{
	struct line line = {.out = out};

	for (size_t i = 0; i < report->columns_n && !report->flushed; i++)
		if (widths[i])
			add_cell(&line, report->columns[i].title, widths[i]);
	if (!report->flushed)
		end_line(&line);
	for (size_t row = 0; row < report->rows_n; row++) {
		for (size_t i = 0; i < report->columns_n; i++) {
			_cleanup_free_ char *text = NULL;

			if (widths[i] == 0)
				continue;
			text = render_cell(report, row, i, true);
			add_cell(&line, text, widths[i]);
		}
		end_line(&line);
	}
}

static size_t names_width(const struct report *report, bool titled)
{
	size_t width = 0;

	for (size_t i = 0; i < report->columns_n; i++) {
		const struct column *column = &report->columns[i];
		size_t len = strlen(column->name);

		if (column->type != COLUMN_BODY && (column->title || !titled) && len > width)
			width = len;
	}
	return width;
}

static void print_blocks(const struct report *report, struct buf *out)
{
	size_t width = names_width(report, true);

	for (size_t row = 0; row < report->rows_n; row++) {
		if (row > 0 || report->flushed)
			buf_add_char(out, '\n');
		for (size_t i = 0; i < report->columns_n; i++) {
			const struct column *column = &report->columns[i];
			_cleanup_free_ char *text = NULL;

			if (column->title == NULL)
				continue;
			text = render_cell(report, row, i, false);
			buf_printf(out, "%-*s%s\n", (int)(width + GAP), column->name, text);
		}
	}
}

/* Returns the widths of the columns, 0 for dropped ones; all are 0 if a table does not fit. */
static size_t *choose_widths(const struct report *report, size_t terminal)
{
	size_t n = report->columns_n, *widths = mem_alloc(n, sizeof(*widths));
	size_t room = terminal > 0 && report->rows_n > 0 ? terminal : SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		if (report->columns[i].title == NULL)
			continue;
		widths[i] = visible_width(report->columns[i].title);
		for (size_t row = 0; row < report->rows_n; row++) {
			_cleanup_free_ char *text = render_cell(report, row, i, true);
			size_t width = visible_width(text);

			if (width > widths[i])
				widths[i] = width;
		}
	}
	for (int spare = 1; spare <= COLUMN_SPARE_MAX; spare++)
		for (size_t i = 0; table_width(widths, n) > room && i < n; i++)
			if (report->columns[i].spare == spare)
				widths[i] = 0;
	if (table_width(widths, n) > room)
		memset(widths, 0, n * sizeof(*widths));
	return widths;
}

void print_table_rows(struct report *report, size_t terminal, struct buf *out)
{
	_cleanup_strv_ struct strv left_out = STRV_INIT;
	_cleanup_free_ char *names = NULL, *note = NULL;

	if (!report->flushed) {
		free(report->widths);
		report->widths = choose_widths(report, terminal);
	}
	if (table_width(report->widths, report->columns_n) == 0) {
		print_blocks(report, out);
		return;
	}
	print_rows(report, report->widths, out);
	if (report->open)
		return;
	for (int spare = 1; spare <= COLUMN_SPARE_MAX; spare++)
		for (size_t i = 0; i < report->columns_n; i++)
			if (report->columns[i].title && !report->widths[i] &&
				report->columns[i].spare == spare)
				strv_add(&left_out, report->columns[i].name);
	if (left_out.n == 0)
		return;
	names = strv_join(&left_out, ", ");
	note = mem_printf("Too wide for this terminal, left out: %s", names);
	buf_add_char(out, '\n');
	visible_add_wrapped(out, note, 0, terminal);
}

void print_body(const char *name, const char *text, struct buf *out)
{
	buf_printf(out, "\n%s:\n%s", name, text);
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
}

void print_table_record(const struct report *report, size_t terminal, struct buf *out)
{
	size_t at = names_width(report, false) + GAP;

	for (size_t i = 0; i < report->columns_n; i++) {
		const struct column *column = &report->columns[i];
		_cleanup_free_ char *text = render_cell(report, 0, i, false);
		_cleanup_buf_ struct buf lines = BUF_INIT;

		if (column->type == COLUMN_ROWS)
			continue;
		if (column->type == COLUMN_BODY) {
			print_body(column->name, text, out);
			continue;
		}
		/* A text without blanks stays in one piece, to be copied. */
		if (terminal > at && strchr(text, ' '))
			visible_add_wrapped(&lines, text, at, terminal);
		else
			buf_printf(&lines, "%*s%s\n", (int)at, "", text);
		buf_printf(out, "%-*s%s", (int)at, column->name, buf_str(&lines) + at);
	}
}
