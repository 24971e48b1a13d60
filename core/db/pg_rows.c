/*
 * pg_rows: one statement for many rows of parameters. Each parameter is an array, and the statement
 * reads the arrays as the columns of a table. The server starts a statement once, which costs more
 * than most single rows, and fires triggers of the statement once.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/db/pg_private.h"

enum {
	ROWS_MAX = 1000, /* of one statement */
};

/* Types of pg_type. */
enum { TYPE_BYTEA_ARRAY = 1001, TYPE_TEXT_ARRAY = 1009, TYPE_INT8_ARRAY = 1016 };

static void add_quoted(struct buf *list, const char *text)
{
	buf_add_char(list, '"');
	for (size_t len; *text; text += len) {
		len = strcspn(text, "\"\\");
		buf_add(list, text, len);
		if (text[len] == '\0')
			break;
		buf_add_char(list, '\\');
		buf_add_char(list, text[len++]);
	}
	buf_add_char(list, '"');
}

/* Returns one parameter of all rows as an array, to be freed. */
static char *array_of(const struct db_param *first, size_t width, size_t n)
{
	struct buf list = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct db_param *param = first + i * width;

		buf_add_char(&list, i > 0 ? ',' : '{');
		if (param->kind == DB_PARAM_INT) {
			buf_printf(&list, "%lld", (long long)param->number);
		} else if (param->kind == DB_PARAM_BLOB && param->data) {
			buf_add_str(&list, "\"\\\\x");
			buf_add_hex(&list, param->data, param->len);
			buf_add_char(&list, '"');
		} else if (param->kind != DB_PARAM_BLOB && param->text) {
			add_quoted(&list, param->text);
		} else {
			buf_add_str(&list, "NULL");
		}
	}
	buf_add_char(&list, '}');
	return buf_take(&list);
}

/* Posts n rows of width - 1 parameters. */
static int post_some(
	struct pg_stmt *stmt, const struct db_param *rows, size_t width, size_t n, struct err *err)
{
	static const Oid types[] = {
		[DB_PARAM_TEXT] = TYPE_TEXT_ARRAY,
		[DB_PARAM_GIVEN_TEXT] = TYPE_TEXT_ARRAY,
		[DB_PARAM_INT] = TYPE_INT8_ARRAY,
		[DB_PARAM_BLOB] = TYPE_BYTEA_ARRAY,
	};
	int host = pg_stmt_param_index(&stmt->base, "$this_host");
	_cleanup_strv_ struct strv arrays = STRV_INIT;

	for (const struct db_param *param = rows; param->name; param++) {
		int index = pg_stmt_param_index(&stmt->base, param->name);
		char *array = array_of(param, width, n);

		assert(index > 0);
		strv_take(&arrays, array);
		stmt->params[index - 1] = (struct pg_param){
			.type = types[param->kind], .value = array};
		stmt->too_large |= strlen(array) > PG_VALUE_MAX;
	}
	if (host > 0)
		pg_stmt_bind(&stmt->base, host, DB_PARAMS(DB_TEXT("", db_host(stmt->base.db))));
	stmt->used = true;
	return pg_stmt_post(&stmt->base, err);
}

int pg_rows_post(struct db_stmt *base, const struct db_rows *rows, struct err *err)
{
	struct pg_stmt *single = pg_stmt_of(base);
	size_t width = rows->params + 1;

	if (single->rows == NULL) {
		struct db_stmt *made;

		pg_stmt_prepare(base->db, base->sql, &made, NULL);
		made->db = base->db;
		made->sql = base->sql;
		single->rows = pg_stmt_of(made);
		free(single->rows->text);
		single->rows->text = pg_sql_for_rows(single->text, &single->names);
	}
	for (size_t done = 0, some; done < rows->n; done += some) {
		some = rows->n - done < ROWS_MAX ? rows->n - done : ROWS_MAX;
		if (post_some(single->rows, rows->items + done * width, width, some, err) != 0)
			return -1;
	}
	return 0;
}
