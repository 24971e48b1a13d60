/*
 * db_sqlite_sql: the questions of the SQLite engine that are asked in SQL.
 */
#ifndef POSTERN_DB_DB_SQLITE_SQL_H
#define POSTERN_DB_DB_SQLITE_SQL_H

#include "core/db/db.h"

/* SQLite opens a file when it first reads it; this reads it. */
int db_sqlite_sql_read_header(struct db *db, struct err *err);

/* Turns on the write-ahead log, which stays on; ERR_CONFIG where the file
 * system cannot have one. */
int db_sqlite_sql_enter_wal(struct db *db, struct err *err);

/* 1 when there is a table of the name, 0 when not, or -1. */
int db_sqlite_sql_has_table(struct db *db, const char *name, struct err *err);

/* See db_version() and db_check(). */
int db_sqlite_sql_version(struct db *db, int64_t *version_r, struct err *err);
int db_sqlite_sql_check(struct db *db, struct err *err);

#endif
