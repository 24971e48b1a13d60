/*
 * db_copy: copies table by table, referenced tables first, with triggers off, because what these
 * would write is copied as well.
 *
 * The SQL texts are generated from the catalogue of the server, and live as long as the handles,
 * which keep statements by their address.
 */
#include "core/db/db_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/db/db_private.h"

enum { COLUMNS_MAX = 64, NAME_SIZE = 8 };

/* Columns that the server stores in another form. */
static const struct {
	const char *table, *source;
} others[] = {
	{"open_count_part", "(SELECT last_event, 0 AS part, count FROM open_count)"},
};

struct copy {
	struct db *from, *to;
	struct strv *texts; /* SQL, kept until the handles are closed */
	struct db_copied done;
	int columns;
	bool is_blob[COLUMNS_MAX];
	char names[COLUMNS_MAX][NAME_SIZE]; /* names of parameters */
};

static const char *keep(struct copy *copy, char *text)
{
	strv_take(copy->texts, text);
	return text;
}

static const char *source_of(const char *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (str_eq(others[i].table, table))
			return others[i].source;
	return table;
}

/* Lists the tables of the server, each after those that it references. */
static int list_tables(struct db *to, struct strv *tables_r, struct err *err)
{
	static const char sql_tables[] =
		"WITH RECURSIVE own (id, name) AS ("
		"   SELECT oid, relname::text FROM pg_class"
		"   WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace),"
		" place (id, depth) AS ("
		"   SELECT id, 0 FROM own"
		"   UNION SELECT c.conrelid, p.depth + 1 FROM pg_constraint c"
		"   JOIN place p ON c.confrelid = p.id"
		"   WHERE c.contype = 'f' AND c.conrelid <> c.confrelid)"
		" SELECT o.name FROM own o JOIN place p ON p.id = o.id"
		" WHERE o.name <> 'schema_migration'"
		" GROUP BY o.name ORDER BY max(p.depth), o.name";
	struct db_stmt *stmt;
	int result;

	if (db_start(to, sql_tables, NULL, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		strv_add(tables_r, db_text(stmt, 0));
	return result;
}

/* Makes the two SQL texts that read and write the rows of a table. */
static int make_texts(struct copy *copy, const char *table, const char **read_r,
	const char **write_r, struct err *err)
{
	static const char sql_columns[] =
		"SELECT column_name::text, data_type::text FROM information_schema.columns"
		" WHERE table_schema = current_schema() AND table_name = $table"
		"   AND is_generated = 'NEVER'"
		" ORDER BY ordinal_position";
	_cleanup_buf_ struct buf names = BUF_INIT, values = BUF_INIT;
	struct db_stmt *stmt;
	int result;

	copy->columns = 0;
	if (db_start(copy->to, sql_columns, DB_PARAMS(DB_TEXT("$table", table)), &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		int i = copy->columns++;
		const char *type = db_text(stmt, 1), *comma = i > 0 ? ", " : "";

		assert(i < COLUMNS_MAX);
		snprintf(copy->names[i], NAME_SIZE, "$c%d", i);
		copy->is_blob[i] = str_eq(type, "bytea");
		buf_printf(&names, "%s\"%s\"", comma, db_text(stmt, 0));
		buf_printf(&values, "%sCAST($c%d AS %s)", comma, i, type);
	}
	if (result < 0)
		return -1;
	*read_r = keep(copy, mem_printf("SELECT %s FROM %s", buf_str(&names), source_of(table)));
	*write_r = keep(copy, mem_printf("INSERT INTO %s (%s) VALUES (%s)", table, buf_str(&names),
				      buf_str(&values)));
	return 0;
}

/* Converts the columns of the row to parameters; the caller frees the texts. */
static void read_row(struct copy *copy, struct db_stmt *row, struct db_param *params, char **texts)
{
	for (int i = 0; i < copy->columns; i++) {
		params[i] = (struct db_param){.name = copy->names[i], .kind = DB_PARAM_TEXT};
		if (copy->is_blob[i]) {
			params[i].kind = DB_PARAM_BLOB;
			params[i].data = db_blob(row, i, &params[i].len);
			/* An empty BLOB has no bytes, but is not NULL. */
			if (params[i].data == NULL && db_text(row, i))
				params[i].data = "";
			continue;
		}
		texts[i] = db_copy(row, i);
		params[i].text = texts[i];
		if (texts[i]) {
			str_utf8_mend(texts[i]);
			copy->done.mended += !str_eq(texts[i], db_text(row, i));
		}
	}
	params[copy->columns] = (struct db_param){.name = NULL};
}

static int copy_rows(
	struct copy *copy, const char *read, const char *write, int64_t *rows_r, struct err *err)
{
	struct db_param params[COLUMNS_MAX + 1];
	struct db_stmt *row, *add;
	int result;

	*rows_r = 0;
	if (db_start(copy->from, read, NULL, &row, err) != 0)
		return -1;
	while ((result = db_step(row, err)) == 1) {
		char *texts[COLUMNS_MAX] = {NULL};

		read_row(copy, row, params, texts);
		result = db_start(copy->to, write, params, &add, err) == 0 ? db_run(add, err) : -1;
		for (int i = 0; i < copy->columns; i++)
			free(texts[i]);
		if (result != 0)
			break;
		++*rows_r;
	}
	if (result != 0)
		db_reset(row);
	return result;
}

static int count_rows(struct db *db, const char *sql, int64_t *n_r, struct err *err)
{
	struct db_stmt *stmt;

	if (db_start(db, sql, NULL, &stmt, err) != 0 || db_step(stmt, err) != 1)
		return -1;
	*n_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

/* Checks that both tables have as many rows as were copied. */
static int check_rows(struct copy *copy, const char *table, int64_t rows, struct err *err)
{
	const char *there = keep(copy, mem_printf("SELECT count(*) FROM %s", source_of(table)));
	const char *here = keep(copy, mem_printf("SELECT count(*) FROM %s", table));
	int64_t before, after;

	if (count_rows(copy->from, there, &before, err) != 0 ||
		count_rows(copy->to, here, &after, err) != 0)
		return -1;
	if (before == rows && after == rows)
		return 0;
	return err_set(err, ERR_INTERNAL,
		"the table %s has %lld rows, %lld were copied, and %lld are there", table,
		(long long)before, (long long)rows, (long long)after);
}

/* Removes the rows that the schema has inserted; numbers of later rows continue after the copied
 * ones. */
static int copy_table(struct copy *copy, const char *table, int64_t *rows_r, struct err *err)
{
	static const char sql_numbers[] =
		"SELECT column_name::text FROM information_schema.columns"
		" WHERE table_schema = current_schema() AND table_name = $table"
		"   AND is_identity = 'YES'";
	_cleanup_free_ char *before = mem_printf(
		"ALTER TABLE %s DISABLE TRIGGER USER; DELETE FROM %s", table, table);
	_cleanup_free_ char *after = mem_printf("ALTER TABLE %s ENABLE TRIGGER USER", table);
	_cleanup_free_ char *column = NULL, *number = NULL;
	const char *read, *write;
	struct db_stmt *stmt;
	int result;

	if (make_texts(copy, table, &read, &write, err) != 0 ||
		db_exec(copy->to, before, err) != 0 ||
		copy_rows(copy, read, write, rows_r, err) != 0 ||
		check_rows(copy, table, *rows_r, err) != 0 || db_exec(copy->to, after, err) != 0 ||
		db_start(copy->to, sql_numbers, DB_PARAMS(DB_TEXT("$table", table)), &stmt, err) !=
			0)
		return -1;
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	column = db_copy(stmt, 0);
	db_reset(stmt);
	number = mem_printf(
		"SELECT setval(pg_get_serial_sequence('%s', '%s'),"
		" coalesce(max(%s), 1), max(%s) IS NOT NULL) FROM %s",
		table, column, column, column, table);
	return db_exec(copy->to, number, err);
}

static int copy_tables(
	struct copy *copy, void (*progress)(const char *table, int64_t rows), struct err *err)
{
	static const char sql_used[] =
		"SELECT (SELECT count(*) FROM company) + (SELECT count(*) FROM email)";
	_cleanup_strv_ struct strv tables = STRV_INIT;
	int64_t n;

	if (count_rows(copy->to, sql_used, &n, err) != 0 ||
		list_tables(copy->to, &tables, err) != 0)
		return -1;
	if (n > 0)
		return err_set(err, ERR_EXISTS,
			"%s has companies or emails already: a copy begins with an empty database",
			copy->to->path);
	for (size_t i = 0; i < tables.n; i++) {
		if (copy_table(copy, tables.items[i], &n, err) != 0)
			return err_prefix(err, "table %s", tables.items[i]);
		copy->done.rows += n;
		copy->done.tables++;
		if (progress)
			progress(tables.items[i], n);
	}
	return 0;
}

int db_copy_all(struct db *from, struct db *to, void (*progress)(const char *table, int64_t rows),
	struct strv *texts, struct db_copied *copied_r, struct err *err)
{
	struct copy copy = {.from = from, .to = to, .texts = texts};

	assert(to->engine->dialect == DB_POSTGRESQL);
	/* A snapshot of the file, while others may write to it. */
	if (db_exec(from, "BEGIN", err) != 0)
		return -1;
	if (db_begin(to, err) != 0) {
		db_rollback(from);
		return -1;
	}
	if (copy_tables(&copy, progress, err) != 0 || db_commit(to, err) != 0) {
		db_rollback(to);
		db_rollback(from);
		return -1;
	}
	db_rollback(from);
	*copied_r = copy.done;
	return 0;
}
