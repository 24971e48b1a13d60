/*
 * db_sqlite_sql: what the SQLite engine says in SQLite's own SQL and needs
 * nothing of its C interface for.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/db/db_sqlite_sql.h"

#include <assert.h>

#include "core/base/str.h"
#include "core/db/db_private.h"

/* Steps a PRAGMA to its first row: 1, 0 when it gives none, or -1. */
static int first_row(struct db *db, const char *sql, struct db_stmt **stmt_r,
	struct err *err)
{
	if (db_prepare(db, sql, stmt_r, err) != 0)
		return -1;
	return db_step(*stmt_r, err);
}

int db_sqlite_sql_enter_wal(struct db *db, struct err *err)
{
	static const char sql_wal[] = "PRAGMA journal_mode=WAL";
	struct db_stmt *stmt;
	int result = 0;

	if (first_row(db, sql_wal, &stmt, err) < 0)
		return -1;
	if (!str_eq(db_text(stmt, 0), "wal"))
		result = err_set(err, ERR_CONFIG,
			"%s: no write-ahead log is possible here: not on a "
			"local file system?",
			db->path);
	db_reset(stmt);
	return result;
}

int db_sqlite_sql_read_header(struct db *db, struct err *err)
{
	static const char sql_header[] = "PRAGMA schema_version";
	struct db_stmt *stmt;
	int result = first_row(db, sql_header, &stmt, err);

	if (result == 1)
		db_reset(stmt);
	return result < 0 ? -1 : 0;
}

int db_sqlite_sql_has_table(struct db *db, const char *name, struct err *err)
{
	static const char sql_table[] =
		"SELECT 1 FROM sqlite_schema"
		" WHERE type = 'table' AND name = $name";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_table, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	result = db_step(stmt, err);
	if (result == 1)
		db_reset(stmt);
	return result;
}

int db_sqlite_sql_version(struct db *db, int64_t *version_r, struct err *err)
{
	static const char sql_version[] = "PRAGMA data_version";
	struct db_stmt *stmt;
	int result = first_row(db, sql_version, &stmt, err);

	if (result < 0)
		return -1;
	assert(result == 1);
	*version_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

static int check_pages(struct db *db, struct err *err)
{
	static const char sql_pages[] = "PRAGMA integrity_check(1)";
	struct db_stmt *stmt;
	int result = 0;

	if (first_row(db, sql_pages, &stmt, err) < 0)
		return -1;
	if (!str_eq(db_text(stmt, 0), "ok"))
		result = err_set(
			err, ERR_CONFIG, "%s: %s", db->path, db_text(stmt, 0));
	db_reset(stmt);
	return result;
}

static int check_references(struct db *db, struct err *err)
{
	static const char sql_references[] = "PRAGMA foreign_key_check";
	struct db_stmt *stmt;
	int result = first_row(db, sql_references, &stmt, err);

	if (result != 1)
		return result;
	err_set(err, ERR_CONFIG,
		"%s: a row of the table %s refers to a row of the table %s "
		"that does not exist",
		db->path, db_text(stmt, 0), db_text(stmt, 2));
	db_reset(stmt);
	return -1;
}

int db_sqlite_sql_check(struct db *db, struct err *err)
{
	return check_pages(db, err) == 0 ? check_references(db, err) : -1;
}
