/*
 * db: one connection to the SQL engine.
 *
 * Everything above speaks this interface; behind it stands an engine (see
 * db_private.h), which the name of the database chooses: postgresql://... is
 * a database of PostgreSQL, a path a file of SQLite. A handle is used by one
 * thread at a time.
 * Statements are kept prepared with their handle, found by the address of their
 * text: give db_start() `static const char sql_...[]` only.
 *
 * Errors: what may pass (busy, disk full, i/o) is ERR_TEMPORARY; a broken
 * unique rule is ERR_EXISTS, a broken reference ERR_NOT_FOUND; a database that
 * is no database or has another schema is ERR_CONFIG; the rest ERR_INTERNAL.
 */
#ifndef POSTERN_DB_DB_H
#define POSTERN_DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct db;
struct db_stmt;

enum db_mode {
	DB_READ,   /* an existing database, reads only */
	DB_WRITE,  /* an existing database */
	DB_CREATE, /* made when missing: mode 0640, and when root makes it,
		    * owned by the owner and group of its folder */
};

/* Whether the name is that of a database on a server, which has no file. */
bool db_is_url(const char *name);

/* Opens the database. The caller closes it. ERR_CONFIG when there is none. */
int db_open(const char *name, enum db_mode mode, struct db **db_r, struct err *err);
void db_close(struct db *db);
DEFINE_CLEANUP(db, db_close)

/* Which database a name meant; zeroed: not known yet. */
struct db_identity {
	uint64_t volume, file;
};

/* Whether the name still means that database: 0, or -1 with ERR_TEMPORARY. What
 * is written to a file that was replaced or removed is lost, although it looks
 * well to whoever has it open. The first call that finds the database learns
 * which it is, and until then all is well. */
int db_same(const char *name, struct db_identity *identity, struct err *err);

/* In whose name a handle writes, for whoever keeps a record of changes
 * (store_audit). */
struct db_actor {
	const char *kind;   /* command, key, token, user */
	const char *id;     /* "" where there is none */
	const char *name;   /* as people know it */
	const char *origin; /* from where: an address, a terminal; or "" */
	bool is_operator;   /* of no company: members are not told who it was */
};
/* From now on; the actor and its texts must live until another is set. NULL: in
 * nobody's, which is so at first. */
void db_set_actor(struct db *db, const struct db_actor *actor);
const struct db_actor *db_actor(const struct db *db);

/* What a handle has done since it was opened. */
struct db_counts {
	int64_t commits; /* transactions */
	int64_t syncs;   /* of the write-ahead log; SQLite's own are not counted */
	int64_t sync_us; /* that they took */
};
const struct db_counts *db_counts(const struct db *db);

/* How long a statement may wait, for another writer or for a server: 10 s, until
 * set here. */
void db_set_wait(struct db *db, int wait_ms);

/* How much memory the pages that were read last may take: 16 MiB for a writer,
 * 4 for a reader, until set here. */
int db_set_cache(struct db *db, int kib, struct err *err);

/* Runs statements that have no parameters and give no rows. */
int db_exec(struct db *db, const char *sql, struct err *err);

/* A value for the parameter `$name` of a statement, as in
 * DB_PARAMS(DB_TEXT("$id", id), DB_INT("$now", now_us)). A NULL text or data is
 * NULL. The bytes must live until the statement has run or was reset. */
struct db_param {
	const char *name; /* NULL ends the array */
	enum {
		DB_PARAM_TEXT,
		DB_PARAM_GIVEN_TEXT, /* left out when text is NULL */
		DB_PARAM_INT,
		DB_PARAM_BLOB
	} kind;
	const char *text;
	int64_t number;
	const void *data;
	size_t len;
};
#define DB_TEXT(name_, text_)                                                                      \
	{                                                                                          \
		.name = (name_), .kind = DB_PARAM_TEXT, .text = (text_)                            \
	}
/* For a statement that has the parameter only when there is a text for it. */
#define DB_GIVEN_TEXT(name_, text_)                                                                \
	{                                                                                          \
		.name = (name_), .kind = DB_PARAM_GIVEN_TEXT, .text = (text_)                      \
	}
#define DB_INT(name_, number_)                                                                     \
	{                                                                                          \
		.name = (name_), .kind = DB_PARAM_INT, .number = (number_)                         \
	}
#define DB_BLOB(name_, data_, len_)                                                                \
	{                                                                                          \
		.name = (name_), .kind = DB_PARAM_BLOB, .data = (data_), .len = (len_)             \
	}
#define DB_PARAMS(...) ((const struct db_param[]){__VA_ARGS__, {.name = NULL}})

/* The prepared statement for the text, reset, with the parameters bound and all
 * others NULL; params is NULL for none. It belongs to db. A parameter that the
 * statement does not have is our own bug. */
int db_start(struct db *db, const char *sql, const struct db_param *params, struct db_stmt **stmt_r,
	struct err *err);

/* The same one by one: the index of a parameter, 0 when the statement has none
 * of the name; and its value. */
int db_param_index(struct db_stmt *stmt, const char *name);
void db_bind(struct db_stmt *stmt, int index, const struct db_param *value);

/* What the caller keeps with a prepared statement; NULL until it is set. It is
 * freed with free(), with the statement or when another is set. */
void *db_stmt_note(const struct db_stmt *stmt);
void db_stmt_set_note(struct db_stmt *stmt, void *note);

/* Goes to the next row: 1 a row, 0 no more, -1 error. After 0 and -1 the
 * statement is reset. */
int db_step(struct db_stmt *stmt, struct err *err);

/* Steps a statement that gives no rows. */
int db_run(struct db_stmt *stmt, struct err *err);

/* Runs a statement that gives no rows: how many it changed, or -1. */
int db_change(struct db *db, const char *sql, const struct db_param *params, struct err *err);

/* How many rows the last statement that writes changed on this handle; rows
 * that went with them by a cascade are not counted. */
int64_t db_changes(const struct db *db);

/* Ends the reading of rows before their end; binds are gone. */
void db_reset(struct db_stmt *stmt);

/* Columns of the current row, from 0; texts live until the next step or reset.
 * db_text() gives NULL for NULL, db_copy() a copy that the caller frees. */
const char *db_text(struct db_stmt *stmt, int column);
char *db_copy(struct db_stmt *stmt, int column);
int64_t db_int(struct db_stmt *stmt, int column);
const void *db_blob(struct db_stmt *stmt, int column, size_t *len_r);
int db_columns(struct db_stmt *stmt);
/* As the statement has it after AS, or in the table. */
const char *db_column_name(struct db_stmt *stmt, int column);

/* Transactions. db_begin() takes the write lock at once, waiting for it as
 * long as a writer may take. A commit that fails has rolled back, unless it was
 * the disk that failed to keep what was written: then it may come to be, or
 * not. A rollback cannot fail, and does nothing when there is no transaction:
 * the engine ends one by itself when the disk is full or broken.
 *
 * What is committed is seen by others at once. db_commit() returns when it is
 * durable, and with it all that any connection has committed before; others
 * may write while it waits for the disk. What db_commit_lazy() has committed
 * survives the end of this process, but not a loss of power, until somebody
 * commits durably. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
int db_commit_lazy(struct db *db, struct err *err);
/* Of a db_commit() that failed: whether others may see what it wrote, since only the sync behind
 * the commit failed, or a server that has the database did not answer. */
bool db_unsynced(const struct db *db);
void db_rollback(struct db *db);
bool db_in_transaction(const struct db *db);

/* Several statements as one. Without a transaction, run gets one of its own,
 * which is rolled back when it fails. Inside one it simply joins: whoever
 * opened that transaction undoes it all when this returns -1. The result is
 * run's, or -1. */
int db_atomic(struct db *db, int (*run)(struct db *db, void *arg, struct err *err), void *arg,
	struct err *err);

/* A savepoint inside a transaction: either release or undo it. One inside of
 * another is fine. A statement that fails may fail the transaction up to here:
 * who goes on after an error undoes. When it cannot be undone the whole transaction is rolled back.
 */
int db_savepoint(struct db *db, struct err *err);
int db_release(struct db *db, struct err *err);
void db_undo(struct db *db);

/* Outside of transactions: when a statement found no space on the disk, gives
 * back what the engine can do without, waiting for others a moment only.
 * Whether that was enough the next statement tells. */
void db_make_room(struct db *db);

/* Outside of transactions: copies the whole write-ahead log into the database
 * and cuts its file, so that the log has nothing left of what was removed. 1, 0
 * when a reader or writer held it up for a moment, -1. */
int db_empty_log(struct db *db, struct err *err);

/* A number that changes whenever another connection, of this process or of
 * another, has committed. */
int db_version(struct db *db, int64_t *version_r, struct err *err);

/* Copies the whole live database, as it is at one moment, to a new file that
 * its maker alone may read; the copy is durable. ERR_EXISTS when the file is
 * there, ERR_TEMPORARY when its file system has no room for it. */
int db_backup(struct db *db, const char *path, struct err *err);

/* Whether another process has the database open: 1, and its process id, 0 where
 * the system does not tell; 0 if nobody has; or -1. This process must not have
 * it open itself: it would lose its locks. */
int db_is_open_elsewhere(const char *path, int *pid_r, struct err *err);

/* The engine's own check of all its pages and references; ERR_CONFIG names
 * the first fault. */
int db_check(struct db *db, struct err *err);

#endif
