/*
 * db_private: what db.c and the file of the SQL engine have of each other.
 *
 * Of db.h, db.c implements what all engines share: the statements that a
 * handle keeps prepared, and transactions. The rest, and the functions below,
 * are the engine's; another engine is another file that implements them, and
 * the build takes one.
 */
#ifndef POSTERN_DB_DB_PRIVATE_H
#define POSTERN_DB_DB_PRIVATE_H

#include "core/db/db.h"

enum { DB_STMT_BUCKETS = 64 };

/* The first member of an engine's handle. */
struct db {
	const char *path; /* the engine's; errors name it */
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

/* Takes the write lock at once. */
extern const char db_sql_begin[];

/* Frees the handle; all statements are finalized by then. */
void db_free(struct db *db);

int db_prepare(struct db *db, const char *sql, struct db_stmt **stmt_r, struct err *err);
void db_finalize(struct db_stmt *stmt);
/* Of the parameter with this index; NULL for none. */
const char *db_param_name(struct db_stmt *stmt, int index);

/* Makes durable what was committed. Outside of transactions db_exec() and
 * db_step() do that by themselves. */
int db_sync(struct db *db, struct err *err);

/* How many steps of the engine's own programs all statements of the handle have
 * taken: the work that they were, whatever the machine. */
int64_t db_steps(const struct db *db);

/* 1 when the database has a table of the name, or any for NULL; 0 when not, or
 * -1. */
int db_has_table(struct db *db, const char *name, struct err *err);

#endif
