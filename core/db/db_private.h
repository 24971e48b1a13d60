/*
 * db_private: what stands between db.h and the engines. One const table of
 * functions for each engine; db.c keeps what all of them share.
 */
#ifndef POSTERN_DB_DB_PRIVATE_H
#define POSTERN_DB_DB_PRIVATE_H

#include "core/db/db.h"

enum { DB_STMT_BUCKETS = 64 };

/* The first member of an engine's handle. */
struct db {
	const struct db_engine *engine;
	const char *path; /* the engine's; errors name it */
	int64_t changes;  /* of the last db_run() */
	const struct db_actor *actor;
	struct db_counts counts; /* syncs are the engine's */
	struct db_stmt *stmts[DB_STMT_BUCKETS];
};

/* The first member of an engine's prepared statement. */
struct db_stmt {
	struct db *db;
	const char *sql; /* found by this address */
	struct db_stmt *next;
	void *note; /* see db_stmt_note() */
};

struct db_engine {
	const char *begin_sql; /* takes the write lock at once */

	int (*open)(const char *path, enum db_mode mode, struct db **db_r,
		struct err *err);
	/* All statements are finalized by then. */
	void (*close)(struct db *db);
	void (*set_wait)(struct db *db, int wait_ms);
	int (*set_cache)(struct db *db, int kib, struct err *err);
	int (*exec)(struct db *db, const char *sql, struct err *err);
	bool (*in_transaction)(const struct db *db);
	/* Makes durable what was committed. Outside of transactions exec and
	 * step do that by themselves. */
	int (*sync)(struct db *db, struct err *err);
	void (*make_room)(struct db *db);
	int64_t (*changes)(const struct db *db);

	int (*prepare)(struct db *db, const char *sql, struct db_stmt **stmt_r,
		struct err *err);
	void (*finalize)(struct db_stmt *stmt);
	int (*param_index)(struct db_stmt *stmt, const char *name);
	/* Of the parameter with this index; NULL for none. */
	const char *(*param_name)(struct db_stmt *stmt, int index);
	void (*bind)(
		struct db_stmt *stmt, int index, const struct db_param *value);
	int (*step)(struct db_stmt *stmt, struct err *err);
	void (*reset)(struct db_stmt *stmt);
	const char *(*text)(struct db_stmt *stmt, int column);
	int64_t (*integer)(struct db_stmt *stmt, int column);
	const void *(*blob)(struct db_stmt *stmt, int column, size_t *len_r);
	int (*columns)(struct db_stmt *stmt);
	const char *(*column_name)(struct db_stmt *stmt, int column);

	int (*has_table)(struct db *db, const char *name, struct err *err);
	int (*version)(struct db *db, int64_t *version_r, struct err *err);
	int (*backup)(struct db *db, const char *path, struct err *err);
	int (*check)(struct db *db, struct err *err);
};

extern const struct db_engine db_sqlite;

/* 1 when the database has a table of the name, 0 when not, or -1. */
int db_has_table(struct db *db, const char *name, struct err *err);

#endif
