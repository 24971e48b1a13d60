/*
 * db_copy: copies table by table, referenced tables first, with triggers off, because what these
 * would write is copied as well.
 *
 * Rows are read in the order of their primary key and written in transactions of CHUNK_ROWS. Each
 * transaction notes in the table store_copy how many rows of its table are there, so that a copy
 * that was interrupted goes on after them. store_copy exists while the copy is unfinished, and
 * migrate_check() refuses such a database.
 *
 * Rows of a file name no host, because only one uses it. Their copies get the name of the host on
 * which the copy runs, whose Postfix has the queue and the log that they are about.
 *
 * The SQL texts are generated from the catalogues, and live as long as the handles, which keep
 * statements by their address.
 */
#include "core/db/db_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/db/db_private.h"

enum {
	COLUMNS_MAX = 64,
	NAME_SIZE = 16,
	GROUP_ROWS = 20, /* of one INSERT */
	CHUNK_ROWS = 5000,
};

/* Tables that the server stores in another form. They are small. */
static const struct {
	const char *table, *source;
} others[] = {
	{"open_count_part", "(SELECT last_event, 0 AS part, count FROM open_count)"},
};

struct copy {
	struct db *from, *to;
	struct strv *texts; /* SQL, kept until the handles are closed */
	void (*progress)(const char *table, int64_t rows, int64_t total);
	struct db_copied done;
};

/* A table that is being copied, and the rows that wait for the next INSERT. */
struct table {
	const char *name;
	const char *read, *write_group, *write_one; /* SQL */
	int columns;
	bool is_blob[COLUMNS_MAX], is_host[COLUMNS_MAX];
	char names[GROUP_ROWS * COLUMNS_MAX][NAME_SIZE]; /* of parameters */
	struct db_param params[GROUP_ROWS * COLUMNS_MAX + 1];
	void *values[GROUP_ROWS * COLUMNS_MAX]; /* what params point to */
	int rows;
	int64_t copied, total;
};

static const char *keep_text(struct copy *copy, char *text)
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
		" WHERE o.name NOT IN ('schema_migration', 'store_copy')"
		" GROUP BY o.name ORDER BY max(p.depth), o.name";
	struct db_stmt *stmt;
	int result;

	if (db_start(to, sql_tables, NULL, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		strv_add(tables_r, db_text(stmt, 0));
	return result;
}

/* Returns the order by which the rows of a table of the file are read. */
static int order_of(struct copy *copy, const char *table, struct buf *order_r, struct err *err)
{
	static const char sql_key[] =
		"SELECT name FROM pragma_table_info($table) WHERE pk > 0 ORDER BY pk";
	struct db_stmt *stmt;
	int result;

	if (db_start(copy->from, sql_key, DB_PARAMS(DB_TEXT("$table", table)), &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		buf_printf(order_r, "%s\"%s\"", order_r->len > 0 ? ", " : "", db_text(stmt, 0));
	if (result == 0 && order_r->len == 0)
		buf_add_str(order_r, source_of(table) == table ? "rowid" : "1");
	return result;
}

static char *insert_text(
	const struct table *table, const char *columns, const struct strv *types, int rows)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "INSERT INTO %s (%s) VALUES ", table->name, columns);
	for (int row = 0; row < rows; row++) {
		buf_add_str(&text, row > 0 ? ", (" : "(");
		for (int i = 0; i < table->columns; i++)
			buf_printf(&text, "%sCAST(%s AS %s)", i > 0 ? ", " : "",
				table->names[row * table->columns + i], types->items[i]);
		buf_add_str(&text, ")");
	}
	return buf_take(&text);
}

/* Makes the SQL texts that read and write the rows of the table. */
static int make_texts(struct copy *copy, struct table *table, struct err *err)
{
	static const char sql_columns[] =
		"SELECT column_name::text, data_type::text FROM information_schema.columns"
		" WHERE table_schema = current_schema() AND table_name = $table"
		"   AND is_generated = 'NEVER'"
		" ORDER BY ordinal_position";
	_cleanup_buf_ struct buf columns = BUF_INIT, order = BUF_INIT;
	_cleanup_strv_ struct strv types = STRV_INIT;
	struct db_stmt *stmt;
	int result;

	if (order_of(copy, table->name, &order, err) != 0 ||
		db_start(copy->to, sql_columns, DB_PARAMS(DB_TEXT("$table", table->name)), &stmt,
			err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		assert(table->columns < COLUMNS_MAX);
		buf_printf(&columns, "%s\"%s\"", table->columns > 0 ? ", " : "", db_text(stmt, 0));
		strv_add(&types, db_text(stmt, 1));
		table->is_host[table->columns] = str_eq(db_text(stmt, 0), "host");
		table->is_blob[table->columns++] = str_eq(db_text(stmt, 1), "bytea");
	}
	if (result < 0)
		return -1;
	for (int i = 0; i < GROUP_ROWS * table->columns; i++)
		snprintf(table->names[i], NAME_SIZE, "$v%d", i);
	table->read = keep_text(
		copy, mem_printf("SELECT %s FROM %s ORDER BY %s LIMIT -1 OFFSET $skip",
			      buf_str(&columns), source_of(table->name), buf_str(&order)));
	table->write_group = keep_text(
		copy, insert_text(table, buf_str(&columns), &types, GROUP_ROWS));
	table->write_one = keep_text(copy, insert_text(table, buf_str(&columns), &types, 1));
	return 0;
}

/* Adds the row of the file to those that wait, with copies of its values. */
static void take_row(struct copy *copy, struct table *table, struct db_stmt *row)
{
	int first = table->rows++ * table->columns;

	for (int i = 0; i < table->columns; i++) {
		struct db_param *param = &table->params[first + i];
		char *text = NULL;

		*param = (struct db_param){.name = table->names[first + i], .kind = DB_PARAM_TEXT};
		if (table->is_blob[i]) {
			const void *data = db_blob(row, i, &param->len);

			param->kind = DB_PARAM_BLOB;
			/* An empty BLOB has no bytes, but is not NULL. */
			if (data || db_text(row, i)) {
				text = mem_alloc(param->len + 1, 1);
				if (data)
					memcpy(text, data, param->len);
			}
			param->data = text;
		} else if (table->is_host[i]) {
			param->text = text = mem_strdup(db_host(copy->to));
		} else {
			text = db_copy(row, i);
			if (text) {
				str_utf8_mend(text);
				copy->done.mended += !str_eq(text, db_text(row, i));
			}
			param->text = text;
		}
		table->values[first + i] = text;
	}
}

static int write_waiting(struct copy *copy, struct table *table, struct err *err)
{
	bool whole = table->rows == GROUP_ROWS;
	struct db_param *end = &table->params[table->rows * table->columns];
	struct db_param one[COLUMNS_MAX + 1];
	struct db_stmt *stmt;
	int result = 0;

	*end = (struct db_param){.name = NULL};
	if (whole)
		result = db_start(copy->to, table->write_group, table->params, &stmt, err) == 0
				 ? db_run(stmt, err)
				 : -1;
	for (int row = 0; row < table->rows && !whole && result == 0; row++) {
		for (int i = 0; i < table->columns; i++) {
			one[i] = table->params[row * table->columns + i];
			one[i].name = table->names[i];
		}
		one[table->columns] = *end;
		result = db_start(copy->to, table->write_one, one, &stmt, err) == 0
				 ? db_run(stmt, err)
				 : -1;
	}
	for (int i = 0; i < table->rows * table->columns; i++)
		free(table->values[i]);
	if (result == 0)
		table->copied += table->rows;
	table->rows = 0;
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

/* Begins a transaction that writes rows of the table. */
static int begin_chunk(struct copy *copy, const struct table *table, struct err *err)
{
	_cleanup_free_ char *sql = mem_printf("ALTER TABLE %s DISABLE TRIGGER USER%s%s",
		table->name, table->copied == 0 ? "; DELETE FROM " : "",
		table->copied == 0 ? table->name : "");

	return db_begin(copy->to, err) == 0 ? db_exec(copy->to, sql, err) : -1;
}

/* Writes what waits, notes how far the table is, and commits. */
static int end_chunk(struct copy *copy, struct table *table, bool finished, struct err *err)
{
	static const char sql_note[] =
		"UPDATE store_copy SET copied = $copied, mended = $mended, finished = $finished"
		" WHERE name = $name";
	_cleanup_free_ char *sql = mem_printf("ALTER TABLE %s ENABLE TRIGGER USER", table->name);

	if (write_waiting(copy, table, err) != 0 || db_exec(copy->to, sql, err) != 0 ||
		db_change(copy->to, sql_note,
			DB_PARAMS(DB_INT("$copied", table->copied),
				DB_INT("$mended", copy->done.mended), DB_INT("$finished", finished),
				DB_TEXT("$name", table->name)),
			err) < 0 ||
		db_commit(copy->to, err) != 0)
		return -1;
	if (copy->progress)
		copy->progress(table->name, table->copied, table->total);
	return 0;
}

static int copy_rows(struct copy *copy, struct table *table, struct err *err)
{
	int64_t chunk_end = table->copied + CHUNK_ROWS;
	struct db_stmt *row;
	int result;

	if (db_start(copy->from, table->read, DB_PARAMS(DB_INT("$skip", table->copied)), &row,
		    err) != 0)
		return -1;
	while ((result = db_step(row, err)) == 1) {
		take_row(copy, table, row);
		if (table->rows == GROUP_ROWS && write_waiting(copy, table, err) != 0)
			break;
		if (table->copied < chunk_end)
			continue;
		chunk_end += CHUNK_ROWS;
		if (end_chunk(copy, table, false, err) != 0 || begin_chunk(copy, table, err) != 0)
			break;
	}
	if (result == 1)
		db_reset(row);
	return result == 0 ? write_waiting(copy, table, err) : -1;
}

/* Checks that both tables have as many rows as were copied. */
static int check_rows(struct copy *copy, const struct table *table, struct err *err)
{
	const char *here = keep_text(copy, mem_printf("SELECT count(*) FROM %s", table->name));
	int64_t after;

	if (count_rows(copy->to, here, &after, err) != 0)
		return -1;
	if (table->total == table->copied && after == table->copied)
		return 0;
	return err_set(err, ERR_INTERNAL,
		"the table has %lld rows, %lld were copied, and %lld are there",
		(long long)table->total, (long long)table->copied, (long long)after);
}

/* Has the numbers of later rows continue after the copied ones. */
static int set_numbers(struct copy *copy, const char *table, struct err *err)
{
	static const char sql_numbers[] =
		"SELECT column_name::text FROM information_schema.columns"
		" WHERE table_schema = current_schema() AND table_name = $table"
		"   AND is_identity = 'YES'";
	_cleanup_free_ char *column = NULL, *number = NULL;
	struct db_stmt *stmt;
	int result;

	if (db_start(copy->to, sql_numbers, DB_PARAMS(DB_TEXT("$table", table)), &stmt, err) != 0)
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

/* Copies the rows after the first `copied` ones. Rows that the schema has inserted are removed. */
static int copy_table(struct copy *copy, const char *name, int64_t copied, struct err *err)
{
	const char *there = keep_text(copy, mem_printf("SELECT count(*) FROM %s", source_of(name)));
	struct table *table = mem_new(struct table);
	int result = -1;

	table->name = name;
	table->copied = copied;
	if (make_texts(copy, table, err) == 0 &&
		count_rows(copy->from, there, &table->total, err) == 0 &&
		begin_chunk(copy, table, err) == 0 && copy_rows(copy, table, err) == 0 &&
		check_rows(copy, table, err) == 0 && set_numbers(copy, name, err) == 0)
		result = end_chunk(copy, table, true, err);
	if (result != 0)
		db_rollback(copy->to);
	for (int i = 0; i < table->rows * table->columns; i++)
		free(table->values[i]);
	free(table);
	return result == 0 ? 0 : err_prefix(err, "table %s", name);
}

static int create_notes(struct copy *copy, const char *source, struct err *err)
{
	static const char sql_table[] =
		"CREATE TABLE store_copy (name text PRIMARY KEY, source text NOT NULL,"
		" copied bigint NOT NULL, mended bigint NOT NULL, finished bigint NOT NULL)";
	static const char sql_used[] =
		"SELECT (SELECT count(*) FROM company) + (SELECT count(*) FROM email)";
	static const char sql_note[] =
		"INSERT INTO store_copy (name, source, copied, mended, finished)"
		" VALUES ($name, $source, 0, 0, 0)";
	_cleanup_strv_ struct strv tables = STRV_INIT;
	int64_t n;

	if (count_rows(copy->to, sql_used, &n, err) != 0 ||
		list_tables(copy->to, &tables, err) != 0)
		return -1;
	if (n > 0)
		return err_set(err, ERR_EXISTS,
			"%s has companies or emails already: a copy begins with an empty database",
			copy->to->path);
	if (db_exec(copy->to, sql_table, err) != 0)
		return -1;
	for (size_t i = 0; i < tables.n; i++)
		if (db_change(copy->to, sql_note,
			    DB_PARAMS(
				    DB_TEXT("$name", tables.items[i]), DB_TEXT("$source", source)),
			    err) < 0)
			return -1;
	return 0;
}

/* Removes what an unfinished copy has written. */
static int remove_copied(struct copy *copy, struct err *err)
{
	_cleanup_strv_ struct strv tables = STRV_INIT;
	_cleanup_free_ char *names = NULL, *sql = NULL;

	if (list_tables(copy->to, &tables, err) != 0)
		return -1;
	names = strv_join(&tables, ", ");
	sql = mem_printf("TRUNCATE %s; DROP TABLE store_copy", names);
	return db_exec(copy->to, sql, err);
}

/* Makes sure that there are notes of a copy from this source. */
static int prepare(struct copy *copy, const char *source, bool anew, struct err *err)
{
	static const char sql_other[] = "SELECT count(*) FROM store_copy WHERE source <> $source";
	struct db_stmt *stmt;
	int unfinished = db_has_table(copy->to, "store_copy", err);
	bool other;

	if (unfinished < 0)
		return -1;
	if (unfinished && anew && remove_copied(copy, err) != 0)
		return -1;
	if (!unfinished || anew)
		return create_notes(copy, source, err);
	if (db_start(copy->to, sql_other, DB_PARAMS(DB_TEXT("$source", source)), &stmt, err) != 0 ||
		db_step(stmt, err) != 1)
		return -1;
	other = db_int(stmt, 0) > 0;
	db_reset(stmt);
	if (!other)
		return 0;
	return err_set(err, ERR_CONFIG,
		"%s has an unfinished copy of another file, or of this one as it was before it "
		"changed: begin anew by --new",
		copy->to->path);
}

static int copy_tables(struct copy *copy, struct err *err)
{
	static const char sql_state[] =
		"SELECT copied, mended, finished FROM store_copy WHERE name = $name";
	_cleanup_strv_ struct strv tables = STRV_INIT;

	if (list_tables(copy->to, &tables, err) != 0)
		return -1;
	for (size_t i = 0; i < tables.n; i++) {
		const char *name = tables.items[i];
		struct db_stmt *stmt;
		int64_t copied, mended;
		bool finished;

		if (db_start(copy->to, sql_state, DB_PARAMS(DB_TEXT("$name", name)), &stmt, err) !=
				0 ||
			db_step(stmt, err) != 1)
			return -1;
		copied = db_int(stmt, 0);
		mended = db_int(stmt, 1);
		finished = db_int(stmt, 2) != 0;
		db_reset(stmt);
		if (mended > copy->done.mended)
			copy->done.mended = mended;
		if (!finished && copy_table(copy, name, copied, err) != 0)
			return -1;
	}
	return 0;
}

/* The sums of the notes are the result; without notes the copy is finished. */
static int finish(struct copy *copy, struct err *err)
{
	static const char sql_sums[] =
		"SELECT count(*), CAST(coalesce(sum(copied), 0) AS bigint), max(mended)"
		" FROM store_copy";
	struct db_stmt *stmt;

	if (db_start(copy->to, sql_sums, NULL, &stmt, err) != 0 || db_step(stmt, err) != 1)
		return -1;
	copy->done = (struct db_copied){
		.tables = (int)db_int(stmt, 0), .rows = db_int(stmt, 1), .mended = db_int(stmt, 2)};
	db_reset(stmt);
	return db_exec(copy->to, "DROP TABLE store_copy", err);
}

struct preparation {
	struct copy *copy;
	const char *source;
	bool anew;
};

static int prepare_atomically(struct db *db, void *arg, struct err *err)
{
	const struct preparation *preparation = arg;

	(void)db;
	return prepare(preparation->copy, preparation->source, preparation->anew, err);
}

int db_copy_all(struct db *from, struct db *to, const struct db_copy_how *how, struct strv *texts,
	struct db_copied *copied_r, struct err *err)
{
	struct copy copy = {.from = from, .to = to, .texts = texts, .progress = how->progress};
	struct preparation preparation = {&copy, how->source, how->anew};
	int result = -1;

	assert(to->engine->dialect == DB_POSTGRESQL);
	/* A snapshot of the file, while others may write to it. */
	if (db_exec(from, "BEGIN", err) != 0)
		return -1;
	if (db_atomic(to, prepare_atomically, &preparation, err) == 0 &&
		copy_tables(&copy, err) == 0 && finish(&copy, err) == 0)
		result = 0;
	db_rollback(from);
	if (result == 0)
		*copied_r = copy.done;
	return result;
}
