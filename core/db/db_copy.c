/*
 * db_copy: makes the tables of a server equal to those of a SQLite file.
 *
 * A pass reads a table on both sides in the order of its primary key and writes the difference: all
 * rows into an empty table, later those that are new or have changed. So the file may be in use
 * meanwhile, whose changes the next pass copies, and a copy that was interrupted goes on by a pass
 * like any other.
 *
 * Rows that the file does not have are deleted first, in the tables that reference others before
 * those; then rows are written, in the opposite order. Triggers are off, because what these would
 * write is copied as well. Writes are committed CHUNK_ROWS at a time.
 *
 * The table store_copy exists while the copy is unfinished, and migrate_check() refuses such a
 * database.
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
#include <stdlib.h>
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
	PAGE_ROWS = 500, /* of the server, in memory */
};

/* Tables that the server stores in another form. They are small. */
static const struct {
	const char *table, *source;
} others[] = {
	{"open_count_part",
		"(SELECT 0 AS part, sum(iif(last_event = 'staged', count, 0)) AS staged,"
		"   sum(iif(last_event = 'sent', count, 0)) AS sent,"
		"   sum(iif(last_event = 'delivery_delayed', count, 0)) AS delayed"
		" FROM open_count)"},
};

struct copy {
	struct db *from, *to;
	struct strv *texts; /* SQL, kept until the handles are closed */
	void (*progress)(const char *table, int64_t rows, int64_t total);
	struct db_copied done;
};

enum column_kind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_BLOB };

struct column {
	char *name, *type; /* as the server has them */
	enum column_kind kind;
	bool is_host;
};

struct value {
	char *data; /* NULL: NULL */
	size_t len;
};

/* One of the two sides of a table: its next row, in the order of the primary key. */
struct side {
	struct db *db;
	const char *first, *next; /* SQL; a server's pages begin behind a row */
	struct db_stmt *stmt;     /* NULL: the next page has to be asked for */
	int rows;                 /* of the page that were read */
	bool ended;
	struct value row[COLUMNS_MAX];
};

/* A table that is being copied, and the rows that wait for the next INSERT. */
struct table {
	const char *name;
	struct column columns[COLUMNS_MAX];
	int n;
	int keys[COLUMNS_MAX], n_keys; /* columns of the primary key; none: the table has one row */
	struct side here, there;
	const char *insert_group, *insert_one, *update, *delete; /* SQL */
	char names[GROUP_ROWS * COLUMNS_MAX][NAME_SIZE];         /* of parameters */
	struct value waiting[GROUP_ROWS * COLUMNS_MAX];
	int waits;       /* rows */
	int uncommitted; /* rows written in the transaction */
	int64_t seen, total;
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
		/* Chunks take the place of files, see store_message_import(). */
		" WHERE o.name NOT IN ('schema_migration', 'store_copy', 'message_chunk')"
		" GROUP BY o.name ORDER BY max(p.depth), o.name";
	struct db_stmt *stmt;
	int result;

	if (db_start(to, sql_tables, NULL, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		strv_add(tables_r, db_text(stmt, 0));
	return result;
}

/*
 * The columns and texts of a table.
 */

static int find_columns(struct copy *copy, struct table *table, struct err *err)
{
	static const char sql_columns[] =
		"SELECT column_name::text, data_type::text FROM information_schema.columns"
		" WHERE table_schema = current_schema() AND table_name = $table"
		"   AND is_generated = 'NEVER'"
		" ORDER BY ordinal_position";
	struct db_stmt *stmt;
	int result;

	if (db_start(copy->to, sql_columns, DB_PARAMS(DB_TEXT("$table", table->name)), &stmt,
		    err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		struct column *column = &table->columns[table->n++];

		assert(table->n <= COLUMNS_MAX);
		column->name = db_copy(stmt, 0);
		column->type = db_copy(stmt, 1);
		column->is_host = str_eq(column->name, "host");
		column->kind = str_eq(column->type, "bytea")    ? COLUMN_BLOB
			       : str_eq(column->type, "bigint") ? COLUMN_NUMBER
								: COLUMN_TEXT;
	}
	return result;
}

static int find_keys(struct copy *copy, struct table *table, struct err *err)
{
	static const char sql_keys[] =
		"SELECT a.attname::text FROM pg_index i"
		" CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place)"
		" JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number"
		" WHERE i.indrelid = to_regclass($table) AND i.indisprimary"
		" ORDER BY k.place";
	struct db_stmt *stmt;
	int result;

	if (db_start(copy->to, sql_keys, DB_PARAMS(DB_TEXT("$table", table->name)), &stmt, err) !=
		0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		int column = 0;

		while (!str_eq(table->columns[column].name, db_text(stmt, 0)))
			column++;
		table->keys[table->n_keys++] = column;
	}
	return result;
}

/* To delete rows nothing but the primary key is needed. */
static void leave_keys(struct table *table)
{
	struct column columns[COLUMNS_MAX];
	int n = table->n;

	memcpy(columns, table->columns, sizeof(columns));
	table->n = 0;
	for (int key = 0; key < table->n_keys; key++) {
		struct column *column = &columns[table->keys[key]];

		table->columns[table->n++] = *column;
		table->keys[key] = key;
		column->name = column->type = NULL;
	}
	for (int i = 0; i < n; i++) {
		free(columns[i].name);
		free(columns[i].type);
	}
}

static char *insert_text(const struct table *table, const char *columns, int rows)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "INSERT INTO %s (%s) VALUES ", table->name, columns);
	for (int row = 0; row < rows; row++) {
		buf_add_str(&text, row > 0 ? ", (" : "(");
		for (int i = 0; i < table->n; i++)
			buf_printf(&text, "%sCAST(%s AS %s)", i > 0 ? ", " : "",
				table->names[row * table->n + i], table->columns[i].type);
		buf_add_str(&text, ")");
	}
	return buf_take(&text);
}

static bool is_key(const struct table *table, int column)
{
	for (int i = 0; i < table->n_keys; i++)
		if (table->keys[i] == column)
			return true;
	return false;
}

/* Makes the SQL texts that read and write the rows of the table. */
static void make_texts(struct copy *copy, struct table *table)
{
	_cleanup_buf_ struct buf columns = BUF_INIT, keys = BUF_INIT, values = BUF_INIT;
	_cleanup_buf_ struct buf order = BUF_INIT, same = BUF_INIT, changes = BUF_INIT;
	const char *name = table->name, *order_text;

	for (int i = 0; i < GROUP_ROWS * table->n; i++)
		snprintf(table->names[i], NAME_SIZE, "$v%d", i);
	for (int i = 0; i < table->n; i++) {
		const struct column *column = &table->columns[i];

		buf_printf(&columns, "%s\"%s\"", i > 0 ? ", " : "", column->name);
		if (!is_key(table, i))
			buf_printf(&changes, "%s\"%s\" = CAST(%s AS %s)",
				changes.len > 0 ? ", " : "", column->name, table->names[i],
				column->type);
	}
	for (int i = 0; i < table->n_keys; i++) {
		const struct column *column = &table->columns[table->keys[i]];
		const char *value = table->names[table->keys[i]];

		buf_printf(&keys, "%s\"%s\"", i > 0 ? ", " : "", column->name);
		buf_printf(&values, "%sCAST(%s AS %s)", i > 0 ? ", " : "", value, column->type);
		buf_printf(&same, "%s\"%s\" = CAST(%s AS %s)", i > 0 ? " AND " : "", column->name,
			value, column->type);
	}
	if (table->n_keys > 0)
		buf_printf(&order, " ORDER BY %s", buf_str(&keys));
	order_text = order.len > 0 ? buf_str(&order) : "";
	/* Without a primary key nothing is deleted row by row. */
	if (table->n == 0)
		return;
	table->here.first = keep_text(copy,
		mem_printf("SELECT %s FROM %s%s", buf_str(&columns), source_of(name), order_text));
	table->there.first = keep_text(
		copy, mem_printf("SELECT %s FROM %s%s LIMIT %d", buf_str(&columns), name,
			      order_text, PAGE_ROWS));
	table->insert_group = keep_text(copy, insert_text(table, buf_str(&columns), GROUP_ROWS));
	table->insert_one = keep_text(copy, insert_text(table, buf_str(&columns), 1));
	if (table->n_keys == 0) {
		table->delete = keep_text(copy, mem_printf("DELETE FROM %s", name));
		return;
	}
	table->there.next = keep_text(copy,
		mem_printf("SELECT %s FROM %s WHERE (%s) > (%s)%s LIMIT %d", buf_str(&columns),
			name, buf_str(&keys), buf_str(&values), order_text, PAGE_ROWS));
	table->delete = keep_text(
		copy, mem_printf("DELETE FROM %s WHERE %s", name, buf_str(&same)));
	if (changes.len > 0)
		table->update = keep_text(copy, mem_printf("UPDATE %s SET %s WHERE %s", name,
							buf_str(&changes), buf_str(&same)));
}

static void clear_row(struct value *row, int n)
{
	for (int i = 0; i < n; i++) {
		free(row[i].data);
		row[i] = (struct value){NULL, 0};
	}
}

static void table_free(struct table *table)
{
	if (table->here.stmt)
		db_reset(table->here.stmt);
	if (table->there.stmt)
		db_reset(table->there.stmt);
	clear_row(table->here.row, table->n);
	clear_row(table->there.row, table->n);
	clear_row(table->waiting, table->waits * table->n);
	for (int i = 0; i < table->n; i++) {
		free(table->columns[i].name);
		free(table->columns[i].type);
	}
	free(table);
}

/*
 * Reading both sides.
 */

/* Fills in the parameters of a row: all columns, or those of the primary key. */
static void set_params(struct table *table, const struct value *row, bool keys_only,
	struct db_param params_r[static COLUMNS_MAX + 1])
{
	int n = keys_only ? table->n_keys : table->n;

	for (int i = 0; i < n; i++) {
		int column = keys_only ? table->keys[i] : i;
		const struct value *value = &row[column];

		params_r[i] = (struct db_param){
			.name = table->names[column], .kind = DB_PARAM_TEXT, .text = value->data};
		if (table->columns[column].kind == COLUMN_BLOB)
			params_r[i] = (struct db_param){.name = table->names[column],
				.kind = DB_PARAM_BLOB,
				.data = value->data,
				.len = value->len};
	}
	params_r[n] = (struct db_param){.name = NULL};
}

/* Copies the values of the current row, as the server can store them. */
static void take_row(struct copy *copy, struct table *table, struct side *side)
{
	clear_row(side->row, table->n);
	for (int i = 0; i < table->n; i++) {
		const struct column *column = &table->columns[i];
		struct value *value = &side->row[i];

		if (column->kind == COLUMN_BLOB) {
			const void *data = db_blob(side->stmt, i, &value->len);

			/* An empty BLOB has no bytes, but is not NULL. */
			if (data || db_text(side->stmt, i))
				value->data = mem_alloc(value->len + 1, 1);
			if (data)
				memcpy(value->data, data, value->len);
			continue;
		}
		value->data = column->is_host && side == &table->here
				      ? mem_strdup(db_host(copy->to))
				      : db_copy(side->stmt, i);
		if (value->data && side == &table->here && !column->is_host) {
			str_utf8_mend(value->data);
			copy->done.mended += !str_eq(value->data, db_text(side->stmt, i));
		}
		value->len = value->data ? strlen(value->data) : 0;
	}
}

/* Goes to the next row of a side. Returns 0 or -1. */
static int advance(struct copy *copy, struct table *table, struct side *side, struct err *err)
{
	struct db_param after[COLUMNS_MAX + 1];
	int result;

	if (side->stmt == NULL) {
		bool behind = side->rows > 0;

		set_params(table, side->row, true, after);
		if (db_start(side->db, behind ? side->next : side->first, behind ? after : NULL,
			    &side->stmt, err) != 0)
			return -1;
		side->rows = 0;
	}
	result = db_step(side->stmt, err);
	if (result == 1) {
		side->rows++;
		take_row(copy, table, side);
		return 0;
	}
	side->stmt = NULL;
	if (result < 0)
		return -1;
	if (side->next && side->rows == PAGE_ROWS)
		return advance(copy, table, side, err);
	side->ended = true;
	return 0;
}

/* Returns -1 if the row here comes before the one there, or there is none there; 1 the other way
 * round; 0 if both have the same primary key. */
static int compare_keys(const struct table *table)
{
	if (table->here.ended || table->there.ended)
		return table->there.ended ? -1 : 1;
	for (int i = 0; i < table->n_keys; i++) {
		int column = table->keys[i], order;
		const struct value *here = &table->here.row[column];
		const struct value *there = &table->there.row[column];

		if (table->columns[column].kind == COLUMN_NUMBER) {
			long long a = strtoll(here->data, NULL, 10);
			long long b = strtoll(there->data, NULL, 10);

			order = (a > b) - (a < b);
		} else {
			size_t len = here->len < there->len ? here->len : there->len;

			order = memcmp(here->data, there->data, len);
			if (order == 0)
				order = (here->len > there->len) - (here->len < there->len);
		}
		if (order != 0)
			return order < 0 ? -1 : 1;
	}
	return 0;
}

static bool rows_differ(const struct table *table)
{
	for (int i = 0; i < table->n; i++) {
		const struct value *here = &table->here.row[i], *there = &table->there.row[i];

		if ((here->data == NULL) != (there->data == NULL) || here->len != there->len ||
			(here->data && memcmp(here->data, there->data, here->len) != 0))
			return true;
	}
	return false;
}

/*
 * Writing.
 */

static int insert_waiting(struct copy *copy, struct table *table, struct err *err)
{
	struct db_param params[GROUP_ROWS * COLUMNS_MAX + 1];
	bool whole = table->waits == GROUP_ROWS;
	int result = 0;

	for (int row = 0; row < table->waits && result == 0; row++) {
		struct db_param *own = &params[whole ? row * table->n : 0];

		set_params(table, &table->waiting[row * table->n], false, own);
		if (!whole)
			result = db_execute(copy->to, table->insert_one, own, err);
		else
			for (int i = 0; i < table->n; i++)
				own[i].name = table->names[row * table->n + i];
	}
	if (whole)
		result = db_execute(copy->to, table->insert_group, params, err);
	clear_row(table->waiting, table->waits * table->n);
	table->waits = 0;
	return result;
}

/* Writes what waits, and commits. */
static int end_chunk(struct copy *copy, struct table *table, struct err *err)
{
	_cleanup_free_ char *sql = mem_printf("ALTER TABLE %s ENABLE TRIGGER USER", table->name);

	if (table->uncommitted == 0)
		return 0;
	if (insert_waiting(copy, table, err) != 0 || db_exec(copy->to, sql, err) != 0 ||
		db_commit(copy->to, err) != 0)
		return -1;
	copy->done.written += table->uncommitted;
	table->uncommitted = 0;
	return 0;
}

/* Counts a row that is about to be written, and makes sure that there is a transaction. */
static int begin_write(struct copy *copy, struct table *table, struct err *err)
{
	_cleanup_free_ char *sql = NULL;

	if (table->uncommitted == CHUNK_ROWS && end_chunk(copy, table, err) != 0)
		return -1;
	if (table->uncommitted++ > 0)
		return 0;
	sql = mem_printf("ALTER TABLE %s DISABLE TRIGGER USER", table->name);
	return db_begin(copy->to, err) == 0 ? db_exec(copy->to, sql, err) : -1;
}

static int insert_row(struct copy *copy, struct table *table, struct err *err)
{
	struct value *place;

	if (begin_write(copy, table, err) != 0)
		return -1;
	place = &table->waiting[table->waits++ * table->n];
	memcpy(place, table->here.row, (size_t)table->n * sizeof(*place));
	memset(table->here.row, 0, (size_t)table->n * sizeof(*place));
	return table->waits < GROUP_ROWS ? 0 : insert_waiting(copy, table, err);
}

/* Runs the statement with the columns of the row, or only those of the key. */
static int change_row(struct copy *copy, struct table *table, const char *sql,
	const struct value *row, bool keys_only, struct err *err)
{
	struct db_param params[COLUMNS_MAX + 1];

	set_params(table, row, keys_only, params);
	return begin_write(copy, table, err) == 0 ? db_execute(copy->to, sql, params, err) : -1;
}

/*
 * A pass.
 */

enum step { DELETE, WRITE };

/* Walks along both sides, and deletes the rows that are only there, or writes those that are
 * missing or different there. */
static int merge(struct copy *copy, struct table *table, enum step step, struct err *err)
{
	int result = advance(copy, table, &table->there, err);

	/* Nothing can be deleted from an empty table. */
	if (result == 0 && step == DELETE && table->there.ended)
		return 0;
	if (result == 0)
		result = advance(copy, table, &table->here, err);
	while (result == 0 && !(table->here.ended && table->there.ended)) {
		int order = compare_keys(table);

		if (order > 0 && step == DELETE)
			result = change_row(
				copy, table, table->delete, table->there.row, true, err);
		else if (order < 0 && step == WRITE)
			result = insert_row(copy, table, err);
		else if (order == 0 && step == WRITE && rows_differ(table))
			result = change_row(
				copy, table, table->update, table->here.row, false, err);
		table->seen += order <= 0;
		if (order <= 0 && table->seen % CHUNK_ROWS == 0 && step == WRITE && copy->progress)
			copy->progress(table->name, table->seen, table->total);
		if (result == 0 && order <= 0)
			result = advance(copy, table, &table->here, err);
		if (result == 0 && order >= 0)
			result = advance(copy, table, &table->there, err);
	}
	return result == 0 ? end_chunk(copy, table, err) : -1;
}

/* A table without a primary key has one row. */
static int replace_row(struct copy *copy, struct table *table, struct err *err)
{
	if (advance(copy, table, &table->there, err) != 0 ||
		advance(copy, table, &table->here, err) != 0)
		return -1;
	table->seen = !table->here.ended;
	if (table->here.ended == table->there.ended && !rows_differ(table))
		return 0;
	if (begin_write(copy, table, err) != 0 ||
		db_execute(copy->to, table->delete, NULL, err) != 0 ||
		(table->seen && insert_row(copy, table, err) != 0))
		return -1;
	return end_chunk(copy, table, err);
}

static int count_rows(struct db *db, const char *sql, int64_t *n_r, struct err *err)
{
	struct db_stmt *stmt;

	if (db_first(db, sql, NULL, &stmt, err) != 1)
		return -1;
	*n_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

/* Checks that both tables have as many rows as were compared. */
static int check_rows(struct copy *copy, const struct table *table, struct err *err)
{
	const char *there = keep_text(copy, mem_printf("SELECT count(*) FROM %s", table->name));
	int64_t after;

	if (count_rows(copy->to, there, &after, err) != 0)
		return -1;
	if (table->total == table->seen && after == table->seen)
		return 0;
	return err_set(err, ERR_INTERNAL,
		"the table has %lld rows, %lld were compared, and %lld are there",
		(long long)table->total, (long long)table->seen, (long long)after);
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
	int result = db_first(
		copy->to, sql_numbers, DB_PARAMS(DB_TEXT("$table", table)), &stmt, err);

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

static int write_table(struct copy *copy, struct table *table, struct err *err)
{
	const char *here = keep_text(
		copy, mem_printf("SELECT count(*) FROM %s", source_of(table->name)));

	if (count_rows(copy->from, here, &table->total, err) != 0 ||
		(table->n_keys > 0 ? merge(copy, table, WRITE, err)
				   : replace_row(copy, table, err)) != 0 ||
		check_rows(copy, table, err) != 0 || set_numbers(copy, table->name, err) != 0)
		return -1;
	if (copy->progress)
		copy->progress(table->name, table->seen, table->total);
	copy->done.tables++;
	copy->done.rows += table->seen;
	return 0;
}

static int copy_table(struct copy *copy, const char *name, enum step step, struct err *err)
{
	struct table *table = mem_new(struct table);
	int result;

	table->name = name;
	table->here.db = copy->from;
	table->there.db = copy->to;
	result = find_columns(copy, table, err) == 0 ? find_keys(copy, table, err) : -1;
	if (result == 0 && step == DELETE)
		leave_keys(table);
	if (result == 0) {
		make_texts(copy, table);
		if (step == WRITE)
			result = write_table(copy, table, err);
		else if (table->n_keys > 0)
			result = merge(copy, table, DELETE, err);
	}
	table_free(table);
	if (result != 0)
		db_rollback(copy->to);
	return result == 0 ? 0 : err_prefix(err, "table %s", name);
}

static int copy_tables(struct copy *copy, struct err *err)
{
	_cleanup_strv_ struct strv tables = STRV_INIT;

	if (list_tables(copy->to, &tables, err) != 0)
		return -1;
	for (size_t i = tables.n; i-- > 0;)
		if (copy_table(copy, tables.items[i], DELETE, err) != 0)
			return -1;
	copy->done.mended = 0; /* was counted for the comparison alone */
	for (size_t i = 0; i < tables.n; i++)
		if (copy_table(copy, tables.items[i], WRITE, err) != 0)
			return -1;
	return 0;
}

/*
 * The note that the copy is unfinished.
 */

static int create_note(struct db *to, const char *source, struct err *err)
{
	static const char sql_used[] =
		"SELECT (SELECT count(*) FROM company) + (SELECT count(*) FROM email)";
	static const char sql_note[] = "INSERT INTO store_copy (source) VALUES ($source)";
	int64_t n;

	if (count_rows(to, sql_used, &n, err) != 0)
		return -1;
	if (n > 0)
		return err_set(err, ERR_EXISTS,
			"%s has companies or emails already: a copy begins with an empty database",
			to->path);
	if (db_exec(to, "CREATE TABLE store_copy (source text NOT NULL)", err) != 0)
		return -1;
	return db_execute(to, sql_note, DB_PARAMS(DB_TEXT("$source", source)), err);
}

/* Removes what an unfinished copy has written. */
static int remove_copied(struct db *to, struct err *err)
{
	_cleanup_strv_ struct strv tables = STRV_INIT;
	_cleanup_free_ char *names = NULL, *sql = NULL;

	if (list_tables(to, &tables, err) != 0)
		return -1;
	names = strv_join(&tables, ", ");
	sql = mem_printf("TRUNCATE %s, message_chunk; DROP TABLE store_copy", names);
	return db_exec(to, sql, err);
}

/* Makes sure that there is a note of a copy from this source. */
static int prepare(struct db *to, void *arg, struct err *err)
{
	static const char sql_other[] = "SELECT count(*) FROM store_copy WHERE source <> $source";
	const struct db_copy_how *how = arg;
	struct db_stmt *stmt;
	int unfinished = db_has_table(to, "store_copy", err);
	bool other;

	if (unfinished < 0)
		return -1;
	if (unfinished && how->anew && remove_copied(to, err) != 0)
		return -1;
	if (!unfinished || how->anew)
		return create_note(to, how->source, err);
	if (db_first(to, sql_other, DB_PARAMS(DB_TEXT("$source", how->source)), &stmt, err) != 1)
		return -1;
	other = db_int(stmt, 0) > 0;
	db_reset(stmt);
	if (!other)
		return 0;
	return err_set(err, ERR_CONFIG,
		"%s has an unfinished copy of another file: begin anew by --new", to->path);
}

int db_copy_pass(struct db *from, struct db *to, const struct db_copy_how *how, struct strv *texts,
	struct db_copied *copied_r, struct err *err)
{
	struct copy copy = {.from = from, .to = to, .texts = texts, .progress = how->progress};
	int result = -1;

	assert(to->engine->dialect == DB_POSTGRESQL);
	/* A snapshot of the file, while others may write to it. */
	if (db_exec(from, "BEGIN", err) != 0)
		return -1;
	if (db_atomic(to, prepare, (void *)how, err) == 0 && copy_tables(&copy, err) == 0)
		result = 0;
	db_rollback(from);
	if (result == 0)
		*copied_r = copy.done;
	return result;
}

int db_copy_finish(struct db *to, struct err *err)
{
	return db_exec(to, "DROP TABLE store_copy", err);
}
