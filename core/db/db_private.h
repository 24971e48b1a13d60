/*
 * db_private: the interface between db.c and the engines.
 *
 * db.c implements db.h: it keeps the prepared statements of a handle, which is common to all
 * engines, and calls the functions of the handle's engine for the rest. An engine is a struct
 * db_engine, in a file of its name, and its choice in db_open().
 */
#ifndef POSTERN_DB_DB_PRIVATE_H
#define POSTERN_DB_DB_PRIVATE_H

#include "core/base/hash_table.h"
#include "core/db/db.h"

/* The first member of an engine's handle. */
struct db {
	const struct db_engine *engine;
	const char *path; /* owned by the engine; named in errors */
	const char *host; /* see db_host(); owned by the engine; NULL: "" */
	const struct db_actor *actor;
	struct db_counts counts; /* the engine counts syncs */
	bool unsynced;           /* see db_unsynced(); set by the engine */
	bool repeatable;         /* see db_repeatable(); set by the engine */
	/* The engine has ended the transaction; until db_rollback(), statements fail. */
	bool lost;
	struct hash_table stmts; /* by the address of their text */
};

/* The first member of an engine's prepared statement. */
struct db_stmt {
	struct db *db;
	const char *sql;
	int host_index; /* of the parameter $this_host; 0: there is none */
	void *note;     /* see db_stmt_note() */
};

/* The steps of a transaction, see db_begin() and the functions after it in db.h. */
enum db_control {
	DB_BEGIN, /* takes the write lock at once, if the engine has one */
	DB_COMMIT,
	DB_COMMIT_LAZY,
	DB_ROLLBACK,
	DB_SAVEPOINT,
	DB_RELEASE,
	DB_UNDO, /* back to the savepoint, which is then released */
};

/* The SQL dialect of a migration. */
enum db_dialect { DB_SQLITE, DB_POSTGRESQL };

/* Each function is that of db.h with the same name, unless a comment adds something. */
struct db_engine {
	enum db_dialect dialect;
	int (*open)(const char *name, enum db_mode mode, struct db **db_r, struct err *err);
	/* Frees the handle, after all statements were finalized. */
	void (*free)(struct db *db);
	int (*same)(const char *name, struct db_identity *identity, struct err *err);
	void (*set_wait)(struct db *db, int wait_ms);
	int (*set_cache)(struct db *db, int kib, struct err *err);

	int (*exec)(struct db *db, const char *sql, struct err *err);
	/* Allocates the statement with the engine's members; db.c sets the others. */
	int (*prepare)(struct db *db, const char *sql, struct db_stmt **stmt_r, struct err *err);
	void (*finalize)(struct db_stmt *stmt);
	int (*param_index)(struct db_stmt *stmt, const char *name);
	/* Returns the name of the parameter with this index; NULL for none. */
	const char *(*param_name)(struct db_stmt *stmt, int index);
	void (*bind)(struct db_stmt *stmt, int index, const struct db_param *value);
	int (*step)(struct db_stmt *stmt, struct err *err);
	/* Returns the seq of the row that the last statement inserted, 0 for none; for an engine
	 * that runs statements without their DB_RETURNING_SEQ, otherwise NULL. */
	int64_t (*inserted)(const struct db *db);
	/* See db_post(); NULL: as db_run(). */
	int (*post)(struct db_stmt *stmt, struct err *err);
	/* See db_read_ahead(), for a statement with its parameters; NULL: it does nothing. */
	void (*read_ahead)(struct db_stmt *stmt);
	void (*end_ahead)(struct db *db);
	/* Only a server has these four. */
	void (*set_ahead_only)(struct db *db);
	int (*ahead_send)(struct db *db, struct err *err);
	int (*ahead_receive)(struct db *db, struct err *err);
	int (*ahead_socket)(const struct db *db);
	/* See db_post_rows(), with a statement without bound parameters; NULL: each row by itself.
	 */
	int (*post_rows)(struct db_stmt *stmt, const struct db_rows *rows, struct err *err);
	void (*reset)(struct db_stmt *stmt);
	int64_t (*changes)(const struct db *db);
	const char *(*text)(struct db_stmt *stmt, int column);
	int64_t (*integer)(struct db_stmt *stmt, int column);
	const void *(*blob)(struct db_stmt *stmt, int column, size_t *len_r);
	int (*columns)(struct db_stmt *stmt);
	const char *(*column_name)(struct db_stmt *stmt, int column);

	/* A failed DB_COMMIT may leave the transaction open; DB_ROLLBACK always ends it. */
	int (*control)(struct db *db, enum db_control control, struct err *err);
	bool (*in_transaction)(const struct db *db);

	void (*make_room)(struct db *db);
	int (*empty_log)(struct db *db, struct err *err);
	int (*version)(struct db *db, int64_t *version_r, struct err *err);
	int (*backup)(struct db *db, const char *path, struct err *err);
	int (*check)(struct db *db, struct err *err);
	int (*blocker)(struct db *db, char **who_r, struct err *err);
	int (*has_table)(struct db *db, const char *name, struct err *err);
	int64_t (*steps)(const struct db *db);
};

extern const struct db_engine db_sqlite;
extern const struct db_engine db_postgresql;

/* Runs a statement of the engine without parameters and results, kept prepared like any other.
 * Returns 0 or -1. */
int db_run_sql(struct db *db, const char *sql, struct err *err);

/* Returns the number of steps of the engine's virtual machine over all statements of the handle:
 * the amount of work, independent of the machine. 0 if the engine does not count them. */
int64_t db_steps(const struct db *db);

/* Returns 1 if the database has a table of this name, or any table for NULL; 0 if not; -1 on
 * error. */
int db_has_table(struct db *db, const char *name, struct err *err);

#endif
