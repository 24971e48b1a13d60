/*
 * row: the frame of the store's statements.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/row.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

enum { PARAM_SIZE = 64, BOUNDED_MAX = 256 };

size_t row_word(const struct row_words *words, const char *text)
{
	size_t i = 0;

	while (i < words->n && (text == NULL || !str_eq(text, words->names[i])))
		i++;
	return i;
}

static int read_word(struct db_stmt *stmt, int column,
	const struct row_words *words, size_t *value_r, struct err *err)
{
	const char *text = db_text(stmt, column);

	*value_r = row_word(words, text);
	if (*value_r < words->n || words->lenient)
		return 0;
	return err_set(err, ERR_CONFIG,
		"the database has a row with the word \"%s\"", text ? text : "");
}

static int read_field(struct db_stmt *stmt, int column,
	const struct row_field *field, void *item, struct err *err)
{
	void *member = (char *)item + field->offset;
	size_t word, len;

	switch (field->kind) {
	case ROW_ID:
		assert(db_text(stmt, column));
		*stpncpy(member, db_text(stmt, column), ID_SIZE - 1) = '\0';
		return 0;
	case ROW_TEXT:
		*(char **)member = db_copy(stmt, column);
		return 0;
	case ROW_LINES:
		strv_split(member, db_text(stmt, column), '\n');
		return 0;
	case ROW_INT64:
		*(int64_t *)member = db_int(stmt, column);
		return 0;
	case ROW_UINT:
		*(unsigned *)member = (unsigned)db_int(stmt, column);
		return 0;
	case ROW_BOOL:
		*(bool *)member = db_int(stmt, column) != 0;
		return 0;
	case ROW_ENUM:
	case ROW_FLAG:
		if (read_word(stmt, column, field->words, &word, err) < 0)
			return -1;
		if (field->kind == ROW_FLAG)
			*(bool *)member = word != 0;
		else
			*(unsigned *)member = (unsigned)word;
		return 0;
	case ROW_HASH:
		memcpy(member, db_blob(stmt, column, &len), SECRET_HASH_LEN);
		return 0;
	}
	return 0;
}

/* The field of the column; statements mostly have them in the order of the
 * table, so the search goes on from the last one. NULL: it is none. */
static const struct row_field *find_field(
	const struct row_type *type, const char *column, size_t *at)
{
	for (size_t tried = 0; tried < type->n; tried++) {
		const struct row_field *field = &type->fields[*at];

		*at = (*at + 1) % type->n;
		if (str_eq(field->column, column))
			return field;
	}
	return NULL;
}

int row_read(struct db_stmt *stmt, const struct row_type *type, void *item_r,
	struct err *err)
{
	int n = db_columns(stmt);
	size_t at = 0;

	memset(item_r, 0, type->size);
	for (int i = 0; i < n; i++) {
		const struct row_field *field = find_field(
			type, db_column_name(stmt, i), &at);

		if (field && read_field(stmt, i, field, item_r, err) < 0) {
			row_clear(type, item_r);
			db_reset(stmt);
			return -1;
		}
	}
	return 0;
}

void row_clear(const struct row_type *type, void *item)
{
	for (size_t i = 0; i < type->n; i++) {
		void *member = (char *)item + type->fields[i].offset;

		if (type->fields[i].kind == ROW_TEXT)
			free(*(char **)member);
		else if (type->fields[i].kind == ROW_LINES)
			strv_free(member);
	}
	memset(item, 0, type->size);
}

int row_get(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *item_r, struct err *err)
{
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql, params, &stmt, err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	if (row_read(stmt, type, item_r, err) < 0)
		return -1;
	db_reset(stmt);
	return 1;
}

/* Binds one field; lines keeps what must live until the statement has run. */
static int bind_field(struct db_stmt *stmt, const char *param,
	const struct row_field *field, const void *item, struct strv *lines,
	struct err *err)
{
	const void *member = (const char *)item + field->offset;
	const struct strv *list = member;

	switch (field->kind) {
	case ROW_ID:
		db_bind_text(stmt, param, member);
		break;
	case ROW_TEXT:
		db_bind_text(stmt, param, *(char *const *)member);
		break;
	case ROW_LINES:
		for (size_t i = 0; i < list->n; i++)
			if (list->items[i][0] == '\0' ||
				strchr(list->items[i], '\n'))
				return err_set(err, ERR_INVALID,
					"%s[%zu] is empty or has a line break",
					field->column, i);
		strv_take(lines, strv_join(list, "\n"));
		db_bind_text(stmt, param, lines->items[lines->n - 1]);
		break;
	case ROW_INT64:
		db_bind_int(stmt, param, *(const int64_t *)member);
		break;
	case ROW_UINT:
		db_bind_int(stmt, param, *(const unsigned *)member);
		break;
	case ROW_BOOL:
		db_bind_int(stmt, param, *(const bool *)member);
		break;
	case ROW_ENUM:
		assert(*(const unsigned *)member < field->words->n);
		db_bind_text(stmt, param,
			field->words->names[*(const unsigned *)member]);
		break;
	case ROW_FLAG:
		db_bind_text(stmt, param,
			field->words->names[*(const bool *)member]);
		break;
	case ROW_HASH:
		db_bind_blob(stmt, param, member, SECRET_HASH_LEN);
		break;
	}
	return 0;
}

static int start(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct strv *lines,
	struct db_stmt **stmt_r, struct err *err)
{
	if (db_start(db, sql, params, stmt_r, err) != 0)
		return -1;
	for (size_t i = 0; i < type->n; i++) {
		char param[PARAM_SIZE];

		snprintf(param, sizeof(param), "$%s", type->fields[i].column);
		if (db_has_param(*stmt_r, param) &&
			bind_field(*stmt_r, param, &type->fields[i], item,
				lines, err) < 0) {
			db_reset(*stmt_r);
			return -1;
		}
	}
	return 0;
}

int row_write(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	struct db_stmt *stmt;

	if (start(db, sql, params, type, item, &lines, &stmt, err) < 0 ||
		db_run(stmt, err) != 0)
		return -1;
	return (int)db_changes(db);
}

int row_write_returning(struct db *db, const char *sql,
	const struct db_param *params, const struct row_type *type,
	const void *item, int64_t *number_r, struct err *err)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	struct db_stmt *stmt;
	int result;

	if (start(db, sql, params, type, item, &lines, &stmt, err) < 0)
		return -1;
	result = db_step(stmt, err);
	if (result == 1) {
		*number_r = db_int(stmt, 0);
		db_reset(stmt);
	}
	return result;
}

static void *item_at(const struct rows *rows, size_t size, size_t i)
{
	return (char *)rows->items + i * size;
}

int row_list(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, size_t limit, struct rows *rows_r,
	struct err *err)
{
	struct rows rows = {0};
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql, params, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		rows.more = rows.n == limit;
		if (rows.more) {
			db_reset(stmt);
			result = 0;
			break;
		}
		/* The room doubles when it is used up. */
		if ((rows.n & (rows.n - 1)) == 0)
			rows.items = mem_grow(rows.items,
				rows.n ? rows.n * 2 : 1, type->size);
		result = row_read(
			stmt, type, item_at(&rows, type->size, rows.n), err);
		if (result < 0)
			break;
		rows.n++;
	}
	if (result == 0)
		*rows_r = rows;
	else
		row_list_free(type, rows.items, rows.n);
	return result;
}

void row_list_free(const struct row_type *type, void *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row_clear(type, (char *)items + i * type->size);
	free(items);
}

const char *page_cursor(const struct page *page)
{
	if (page->after[0])
		return page->after;
	return page->before[0] ? page->before : NULL;
}

bool page_backwards(const struct page *page)
{
	return page->before[0] != '\0';
}

static void reverse(const struct rows *rows, size_t size)
{
	_cleanup_free_ char *held = mem_alloc(1, size);

	for (size_t i = 0; i < rows->n / 2; i++) {
		char *a = item_at(rows, size, i);
		char *b = item_at(rows, size, rows->n - 1 - i);

		memcpy(held, a, size);
		memcpy(a, b, size);
		memcpy(b, held, size);
	}
}

int row_page(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const struct page *page,
	struct rows *rows_r, struct err *err)
{
	struct db_param all[8] = {0};
	size_t n = 0;

	/* One more than the page has, to see whether there are more. */
	for (; params && params[n].name; n++) {
		assert(n + 2 < ARRAY_SIZE(all));
		all[n] = params[n];
	}
	all[n] = (struct db_param)DB_INT("$limit", page->limit + INT64_C(1));
	if (row_list(db, sql, all, type, (size_t)page->limit, rows_r, err) < 0)
		return -1;
	if (page_backwards(page))
		reverse(rows_r, type->size);
	return 0;
}

int row_check_name(const char *what, const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len > ROW_NAME_MAX)
		return err_set(err, ERR_INVALID, "%s is longer than %d bytes",
			what, ROW_NAME_MAX);
	if (!str_utf8_valid(name, len))
		return err_set(err, ERR_INVALID, "%s is not UTF-8", what);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return err_set(err, ERR_INVALID,
				"%s has a control character in it", what);
	return 0;
}

char *row_bounded(const char *text)
{
	char *copy;

	if (text == NULL)
		return mem_strdup("");
	copy = mem_dup(text, strnlen(text, BOUNDED_MAX + 4));
	str_utf8_mend(copy);
	copy[str_utf8_cut(copy, BOUNDED_MAX)] = '\0';
	return copy;
}
