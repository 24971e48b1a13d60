/*
 * suppression_csv: lists of suppressed addresses as files.
 *
 * A file that is written here can be read back without loss. So a cell that a spreadsheet would
 * take for a formula is written unchanged.
 */
#include "core/ops/suppression_csv.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"

enum { CELLS_MAX = 32, ROWS_MAX = 100000 };

enum cell { ADDRESS, REASON, DOMAIN_NAME, CODE, TEXT, TAGS, CREATED, CELLS };
static const char *const names[CELLS][4] = {
	[ADDRESS] = {"address", "email"},
	[REASON] = {"reason", "origin"},
	[DOMAIN_NAME] = {"domain"},
	[CODE] = {"code"},
	[TEXT] = {"error", "text", "message"},
	[TAGS] = {"tags", "tag"},
	[CREATED] = {"created_at"},
};

/* One row; the cells are allocated and have no surrounding blanks. */
struct row {
	char *cells[CELLS_MAX];
	size_t n;
};

static void row_end(struct row *row)
{
	for (size_t i = 0; i < row->n; i++)
		free(row->cells[i]);
	row->n = 0;
}

/* Spreadsheets run a cell that begins like a formula, and other mail servers choose some texts.
 * Such a cell is written with an apostrophe in front, which reading removes. */
static bool begins_like_formula(const char *text)
{
	text += strspn(text, "'");
	return *text && strchr("=+-@", *text);
}

/* Reads one row; a quoted cell may have line breaks. Returns 0, or -1 if it is not CSV. */
static int cut_row(const char **at, const char *end, struct row *row)
{
	const char *p = *at;

	row->n = 0;
	for (;;) {
		struct buf cell = BUF_INIT;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p < end && *p == '"') {
			for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
				p += *p == '"';
				buf_add_char(&cell, *p);
			}
			if (p == end) {
				free(buf_take(&cell));
				return -1;
			}
			p++;
			while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
				p++;
		} else {
			for (; p < end && *p != ',' && *p != '\n'; p++)
				buf_add_char(&cell, *p);
		}
		if (row->n < CELLS_MAX) {
			row->cells[row->n++] = str_trim(buf_str(&cell), cell.len);
			free(buf_take(&cell));
		} else {
			free(buf_take(&cell));
			return -1;
		}
		if (p < end && *p != ',' && *p != '\n')
			return -1;
		if (p < end && *p == ',') {
			p++;
			continue;
		}
		*at = p < end ? p + 1 : end;
		return 0;
	}
}

/* Reads the meaning of each column; CELLS for an unknown one. Returns 0, or -1 if there is no
 * address column. */
static int read_columns(const struct row *row, bool domains, enum cell columns[static CELLS_MAX])
{
	bool found = false;

	for (size_t i = 0; i < row->n; i++) {
		columns[i] = CELLS;
		for (size_t k = 0; k < CELLS; k++)
			for (size_t m = 0; m < ARRAY_SIZE(names[k]) && names[k][m]; m++)
				if (str_eq_nocase(row->cells[i], names[k][m]))
					columns[i] = (enum cell)k;
		found |= columns[i] == ADDRESS || (domains && columns[i] == DOMAIN_NAME);
	}
	return found ? 0 : -1;
}

static const char *keep_text(struct suppression_csv *csv, const char *text)
{
	if (str_empty(text))
		return NULL;
	strv_add(&csv->texts, text);
	return csv->texts.items[csv->texts.n - 1];
}

/* Converts `a b` and `["a","b"]` to a JSON array; NULL for all, `*`. */
static const char *read_tags(struct suppression_csv *csv, const char *text)
{
	json_t *array = *text == '[' ? json_loads(text, 0, NULL) : NULL, *one;
	bool all = str_empty(text);
	const char *kept = NULL;
	size_t i;

	if (array == NULL) {
		array = json_array();
		for (const char *at = text; *(at += strspn(at, " ;,[]'\"\t"));) {
			size_t len = strcspn(at, " ;,[]'\"\t");

			json_array_append_new(array, json_stringn(at, len));
			at += len;
		}
	}
	json_array_foreach(array, i, one)
		all |= !json_is_string(one) || str_eq(json_string_value(one), "*");
	if (!all && json_array_size(array) > 0) {
		_cleanup_free_ char *dumped = json_dumps(array, JSON_COMPACT);

		kept = keep_text(csv, dumped);
	}
	json_decref(array);
	return kept;
}

int64_t suppression_created(const char *text)
{
	int64_t time_us = 0;

	/* Go writes the year 0001 for a time that is not set, which GMime takes for 2001. Of two
	 * numbers nobody says which is the month. */
	if (str_empty(text) || str_starts(text, "0001-") || strstr(text, " 0001 "))
		return 0;
	if (!clock_parse(text, 0, &time_us) &&
		(strchr(text, '/') || mime_date_parse(text, &time_us) < 0))
		return 0;
	return time_us > 0 ? time_us : 0;
}

static int read_row(struct suppression_csv *csv, const struct row *row, const enum cell *columns,
	bool domains, struct op_suppression *item, struct err *err)
{
	_cleanup_addr_ struct addr addr = {0};
	const char *domain = NULL;

	for (size_t i = 0; i < row->n; i++) {
		const char *text = row->cells[i];

		if (!str_utf8_valid(text, strlen(text)))
			return err_set(err, ERR_INVALID, "it is not UTF-8");
		if (*text == '\'' && begins_like_formula(text))
			text++;
		if (columns[i] == ADDRESS)
			item->address = keep_text(csv, text);
		else if (columns[i] == REASON)
			item->reason = keep_text(csv, text);
		else if (columns[i] == DOMAIN_NAME)
			domain = keep_text(csv, text);
		else if (columns[i] == CODE)
			item->code = keep_text(csv, text);
		else if (columns[i] == TEXT)
			item->text = keep_text(csv, text);
		else if (columns[i] == TAGS)
			item->tags = read_tags(csv, text);
		else if (columns[i] == CREATED)
			item->created_us = suppression_created(text);
	}
	if (domains && item->address == NULL)
		item->address = domain;
	else if (!domains)
		item->domain = domain;
	if (domains && item->address && strchr(item->address, '@') == NULL)
		return 0;
	return addr_parse(item->address ? item->address : "", &addr, err);
}

int suppression_csv_read(
	const char *text, size_t len, bool domains, struct suppression_csv *csv_r, struct err *err)
{
	const char *at = text, *end = text + len;
	enum cell columns[CELLS_MAX];
	struct err why = ERR_INIT;
	struct row row = {0};
	size_t line = 1;
	int result;

	*csv_r = (struct suppression_csv){0};
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	result = cut_row(&at, end, &row);
	if (result == 0)
		result = read_columns(&row, domains, columns);
	for (size_t i = row.n; i < CELLS_MAX; i++)
		columns[i] = CELLS;
	row_end(&row);
	if (result < 0)
		return err_set(err, ERR_INVALID,
			"while reading csv header: the first line has to name the columns, one of "
			"them address");
	while (at < end) {
		struct op_suppression *item;

		if (csv_r->n == ROWS_MAX)
			return err_set(err, ERR_INVALID,
				"it has more than %d addresses; import it in parts", ROWS_MAX);
		line++;
		result = cut_row(&at, end, &row);
		if (result == 0 && row.n == 1 && row.cells[0][0] == '\0') {
			row_end(&row);
			continue;
		}
		csv_r->items = mem_append(csv_r->items, csv_r->n, sizeof(*csv_r->items));
		item = &csv_r->items[csv_r->n];
		*item = (struct op_suppression){0};
		if (result == 0)
			result = read_row(csv_r, &row, columns, domains, item, &why);
		else
			err_set(&why, ERR_INVALID,
				"a quote is not closed, or has something behind "
				"it, or there are too many columns");
		row_end(&row);
		if (result < 0)
			return err_set(err, ERR_INVALID, "line %zu: %s", line, why.text);
		csv_r->n++;
	}
	return 0;
}

void suppression_csv_clear(struct suppression_csv *csv)
{
	free(csv->items);
	strv_free(&csv->texts);
	*csv = (struct suppression_csv){0};
}

static void add_cell(struct buf *out, const char *text, bool last)
{
	_cleanup_buf_ struct buf guarded = BUF_INIT;

	text = text ? text : "";
	if (begins_like_formula(text)) {
		buf_add_char(&guarded, '\'');
		buf_add_str(&guarded, text);
		text = buf_str(&guarded);
	}
	if (text[strcspn(text, ",\"\r\n")] == '\0' && *text != ' ') {
		buf_add_str(out, text);
	} else {
		buf_add_char(out, '"');
		for (; *text; text++) {
			if (*text == '"')
				buf_add_char(out, '"');
			buf_add_char(out, *text);
		}
		buf_add_char(out, '"');
	}
	buf_add_str(out, last ? "\r\n" : ",");
}

void suppression_csv_head(struct buf *out)
{
	buf_add_str(out, "address,reason,domain,code,error,tags,created_at\r\n");
}

void suppression_csv_add(struct buf *out, const struct suppression *suppression)
{
	char created[CLOCK_TEXT_SIZE];

	clock_iso8601(suppression->created_us, created);
	add_cell(out, suppression->address, false);
	add_cell(out, store_suppression_reason_name(suppression->reason), false);
	add_cell(out, suppression->domain, false);
	add_cell(out, suppression->code, false);
	add_cell(out, suppression->text, false);
	add_cell(out, suppression->tags, false);
	add_cell(out, created, true);
}
