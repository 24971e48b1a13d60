/*
 * print_json: a report for programs, on one line.
 *
 * Threads: any; holds no state.
 */
#include "cli/print_json.h"

#include <jansson.h>

#include "cli/visible.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

/* Bytes that are no UTF-8, which JSON cannot hold, are made visible. */
static json_t *json_of_text(const char *text)
{
	json_t *json = json_string(text);
	_cleanup_buf_ struct buf shown = BUF_INIT;

	if (json)
		return json;
	visible_add(&shown, text);
	return json_string(buf_str(&shown));
}

static json_t *json_of_list(const struct strv *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, json_of_text(list->items[i]));
	return array;
}

static json_t *json_of_time(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	clock_iso8601(time_us, text);
	return json_string(text);
}

static json_t *json_of_cell(enum column_type type, const struct cell *cell)
{
	if (!cell->set)
		return json_null();
	switch (type) {
	case COLUMN_TEXT:
	case COLUMN_BODY:
		return json_of_text(cell->text);
	case COLUMN_INT:
		return json_integer(cell->number);
	case COLUMN_FLAG:
		return json_boolean(cell->number);
	case COLUMN_TIME:
		return json_of_time(cell->number);
	case COLUMN_LIST:
		return json_of_list(&cell->list);
	}
	return json_null();
}

static json_t *json_of_row(const struct report *report, size_t row, bool bodies)
{
	json_t *object = json_object();

	for (size_t i = 0; i < report->columns_n; i++)
		if (bodies || report->columns[i].type != COLUMN_BODY)
			json_object_set_new(object, report->columns[i].name,
				json_of_cell(report->columns[i].type,
					report_cell(report, row, i)));
	return object;
}

/* DEL is ASCII but no character to show; JSON does not ask for its escape. */
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
	json_t *array = json_array();

	for (size_t row = 0; row < report->rows_n; row++)
		json_array_append_new(array, json_of_row(report, row, false));
	dump(array, out);
}

void print_json_record(const struct report *report, struct buf *out)
{
	dump(json_of_row(report, 0, true), out);
}
