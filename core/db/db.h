/*
 * db: one connection to the SQL engine.
 *
 * All upper parts use this interface. The name of the database selects the engine (see
 * db_private.h): postgresql://... is a PostgreSQL database, a path is a SQLite file. A handle is
 * used by one thread at a time.
 *
 * A handle keeps its statements prepared, and finds them by the address of their text: pass only
 * `static const char sql_...[]` to db_start().
 *
 * Errors: a temporary failure (busy, disk full, I/O) is ERR_TEMPORARY; a violated unique constraint
 * is ERR_EXISTS, a violated foreign key ERR_NOT_FOUND; a file that is no database, or a different
 * schema, is ERR_CONFIG; anything else is ERR_INTERNAL.
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
	DB_READ,  /* an existing database, reads only */
	DB_WRITE, /* an existing database */
	/* Created if missing: mode 0640; if root creates it, with the owner and group of its
	 * folder. */
	DB_CREATE,
};

/* True if the name is that of a database on a server, which has no file. */
bool db_is_url(const char *name);

/* True if the URL of a server contains a password. */
bool db_url_has_password(const char *url);

/* Opens the database. A URL may end with `#HOST`, the name under which this host writes its rows
 * (db_host()). The caller closes it. Returns 0 or -1, ERR_CONFIG if it does not exist;
 * ERR_TEMPORARY after two seconds if others have the file open, but its log (-wal) was removed. */
int db_open(const char *name, enum db_mode mode, struct db **db_r, struct err *err);
void db_close(struct db *db);
DEFINE_CLEANUP(db, db_close)

/* The identity of the database that a name referred to; zeroed: not known yet. */
struct db_identity {
	uint64_t volume, file;
};

/* Checks that the name still refers to the same database. Returns 0, or -1 with ERR_TEMPORARY.
 * Writes to a file that was replaced or removed are lost, although they seem to succeed for a
 * process that has it open. The first call that finds the database stores its identity; until then
 * every check succeeds. */
int db_same(const char *name, struct db_identity *identity, struct err *err);

/* The actor for whom a handle writes, for the audit log (store_audit). */
struct db_actor {
	const char *kind;   /* command, key, token, user */
	const char *id;     /* "" if there is none */
	const char *name;   /* its display name */
	const char *origin; /* an address, a terminal; or "" */
	bool is_operator;   /* belongs to no company; not shown to members */
};
/* Sets the actor; it and its strings must live until another one is set. NULL: none, as at
 * first. */
void db_set_actor(struct db *db, const struct db_actor *actor);
const struct db_actor *db_actor(const struct db *db);

/* The name of this host among those that share the database; "" for a database that only one host
 * can use. Every statement may use it as `$this_host`, which is bound by itself. */
const char *db_host(const struct db *db);

/* Statistics of a handle since it was opened. */
struct db_counts {
	int64_t commits; /* transactions */
	int64_t syncs;   /* of the WAL, without those that SQLite makes itself */
	int64_t sync_us; /* total time of the syncs */
};
const struct db_counts *db_counts(const struct db *db);

/* Sets how long a statement may wait for another writer or for a server. The default is 10 s. */
void db_set_wait(struct db *db, int wait_ms);

/* Sets the size of the page cache. The default is 16 MiB for a writer, 4 MiB for a reader. Returns
 * 0 or -1. */
int db_set_cache(struct db *db, int kib, struct err *err);

/* Runs statements without parameters and results. Returns 0 or -1. */
int db_exec(struct db *db, const char *sql, struct err *err);

/* A value for the parameter `$name` of a statement, as in DB_PARAMS(DB_TEXT("$id", id),
 * DB_INT("$now", now_us)). A NULL text or data is SQL NULL. The bytes must live until the statement
 * has run or was reset. */
struct db_param {
	const char *name; /* NULL ends the array */
	enum {
		DB_PARAM_TEXT,
		DB_PARAM_GIVEN_TEXT, /* omitted if text is NULL */
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
/* For a statement that has the parameter only if there is a text for it. */
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

/* Returns the prepared statement for the text, reset, with the parameters bound and all others
 * NULL; params may be NULL. It belongs to db. A parameter that the statement does not have is a bug
 * of the caller. */
int db_start(struct db *db, const char *sql, const struct db_param *params, struct db_stmt **stmt_r,
	struct err *err);

/* The same for a single parameter: its index, 0 if the statement has none with this name; and its
 * value. */
int db_param_index(struct db_stmt *stmt, const char *name);
void db_bind(struct db_stmt *stmt, int index, const struct db_param *value);

/* Data that the caller attaches to a prepared statement; NULL until it is set. It is freed with
 * free(), together with the statement or when other data is set. */
void *db_stmt_note(const struct db_stmt *stmt);
void db_stmt_set_note(struct db_stmt *stmt, void *note);

/* Goes to the next row. Returns 1, 0 at the end, -1 on error. After 0 and -1 the statement is
 * reset. */
int db_step(struct db_stmt *stmt, struct err *err);

/* Starts a statement and goes to its first row. Returns 1, and the caller resets the statement; 0
 * if there is no row; -1 on error. */
int db_first(struct db *db, const char *sql, const struct db_param *params, struct db_stmt **stmt_r,
	struct err *err);

/* Steps a statement that returns no rows. Returns 0 or -1. */
int db_run(struct db_stmt *stmt, struct err *err);

/* Runs a statement that returns no rows. Returns the number of changed rows, or -1. */
int db_change(struct db *db, const char *sql, const struct db_param *params, struct err *err);
/* Runs a statement that returns no rows. Returns 0 or -1. */
int db_execute(struct db *db, const char *sql, const struct db_param *params, struct err *err);

/* Runs an INSERT of one row that ends in RETURNING a number, and gives the number. Returns 0 or -1.
 * DB_RETURNING_SEQ is for the primary key of the new row, of an INSERT without ON CONFLICT. */
int db_insert(struct db_stmt *stmt, int64_t *number_r, struct err *err);
#define DB_RETURNING_SEQ " RETURNING seq"

/* Runs a statement of a transaction whose result the caller does not need, not even how many rows
 * it has changed. An engine may have it wait for the next statement, or for the commit, to save a
 * round trip. If it fails, that statement or the commit fails, and the whole transaction is rolled
 * back, whatever savepoints it has. So this is for statements that nothing but a failing database
 * keeps from succeeding. Returns 0, or -1 if it is known to have failed. */
int db_post(struct db *db, const char *sql, const struct db_param *params, struct err *err);
int db_post_stmt(struct db_stmt *stmt, struct err *err);

/* Announces a statement that only reads, and that the caller is about to start with the same
 * parameters. A server is then asked for the rows of all announced statements in one round trip, at
 * the first step of any statement, and each of them finds its rows here. If one of them fails, all
 * are asked for again, each when it is stepped; in a transaction, that has failed, too. Does
 * nothing with a file. From the first announcement on the handle only reads, until db_end_ahead(),
 * which forgets the rows that nobody has stepped through. */
void db_read_ahead(struct db *db, const char *sql, const struct db_param *params);
void db_end_ahead(struct db *db);

/* For event loops, which must not wait for a server. db_set_ahead_only() makes a handle, that of a
 * server, wait for nothing: it keeps the connection that it has, and steps only statements that
 * were announced. All others fail with ERR_TEMPORARY; and if one of those that were announced
 * together has failed, all of them do.
 *
 * After the announcements, db_ahead_send() sends them; then db_ahead_receive() is called whenever
 * the socket can be read, until it returns 1: now the statements can be stepped, and db_end_ahead()
 * makes ready for the next announcements. */
void db_set_ahead_only(struct db *db);
/* Returns 0, or -1 with err: the connection is lost. */
int db_ahead_send(struct db *db, struct err *err);
/* Returns 1 when the answers to what was sent are there, 0 while they are not, or if nothing was
 * sent; -1 with err: the connection is lost. */
int db_ahead_receive(struct db *db, struct err *err);
/* Returns the socket; -1: there is no connection. */
int db_ahead_socket(const struct db *db);

/* Rows of parameters. Zeroed: none. The caller frees items. */
struct db_rows {
	struct db_param *items; /* one row behind the other, each with its end */
	size_t n, params;       /* rows, and parameters of a row */
};
/* Adds a row, as DB_PARAMS() makes it. */
void db_rows_add(struct db_rows *rows, const struct db_param *params);

/* Posts the statement once for each row of parameters, all of which have the same names. It is an
 * INSERT with VALUES, or an UPDATE or DELETE with WHERE. No two rows may concern the same row of
 * the table, since an engine may run all of them at once, as a single statement. */
int db_post_rows(struct db *db, const char *sql, const struct db_rows *rows, struct err *err);

/* Returns the number of rows that the last writing statement of this handle changed, without rows
 * changed by a cascade. */
int64_t db_changes(const struct db *db);

/* Resets a statement before its last row, and clears its parameters. */
void db_reset(struct db_stmt *stmt);

/* Columns of the current row, from 0; texts live until the next step or reset. db_text() returns
 * NULL for NULL, db_copy() a copy that the caller frees. */
const char *db_text(struct db_stmt *stmt, int column);
char *db_copy(struct db_stmt *stmt, int column);
int64_t db_int(struct db_stmt *stmt, int column);
const void *db_blob(struct db_stmt *stmt, int column, size_t *len_r);
int db_columns(struct db_stmt *stmt);
/* The name after AS, or that of the table's column. */
const char *db_column_name(struct db_stmt *stmt, int column);

/* Transactions. db_begin() takes the write lock, and waits for it up to db_set_wait(); an engine
 * may leave that to the first statement, which fails with the whole transaction if there is no
 * lock. A commit that fails has rolled back, except if the disk failed to store it: then it may or
 * may not take effect. A rollback cannot fail, and does nothing without a transaction: the engine
 * itself ends one when the disk is full or broken.
 *
 * Others see a commit at once. db_commit() returns when it is durable, together with everything
 * that any connection has committed before; others may write while it waits for the disk. A commit
 * by db_commit_lazy() survives the end of this process, but not a power failure, until somebody
 * commits durably. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
int db_commit_lazy(struct db *db, struct err *err);
/* True if others may see the writes of a db_commit() that failed, because only the sync after the
 * commit failed, or a database server did not answer. */
bool db_unsynced(const struct db *db);
/* True if the last transaction failed for no fault of its own, has not taken effect, and may
 * succeed if it runs again: it was in conflict with another one (a deadlock), or the server ended
 * the connection. */
bool db_repeatable(const struct db *db);
void db_rollback(struct db *db);
bool db_in_transaction(const struct db *db);

/* Runs several statements atomically. Outside a transaction, run gets its own, which is rolled back
 * if it fails. Inside one it joins: whoever opened that transaction must roll it back if this
 * returns -1. Returns run's result, or -1. */
int db_atomic(struct db *db, int (*run)(struct db *db, void *arg, struct err *err), void *arg,
	struct err *err);

/* A savepoint inside a transaction, to be released or undone; they can be nested. A statement that
 * fails may fail the transaction up to the savepoint: to go on after an error, undo it. If the undo
 * fails, the whole transaction is rolled back. */
int db_savepoint(struct db *db, struct err *err);
int db_release(struct db *db, struct err *err);
void db_undo(struct db *db);

/* Outside of transactions: after a statement found the disk full, frees space that the engine does
 * not need, waiting only briefly for others. The next statement shows if that was enough. */
void db_make_room(struct db *db);

/* Outside of transactions: checkpoints the whole WAL into the database and truncates it, so that
 * the log keeps nothing of removed data. Returns 1, 0 if a reader or writer prevented it, -1 on
 * error. */
int db_empty_log(struct db *db, struct err *err);

/* Reads a number that changes whenever another connection, of any process, has committed. */
int db_version(struct db *db, int64_t *version_r, struct err *err);

/* Copies a snapshot of the whole live database to a new file that only its creator may read; the
 * copy is durable. Returns 0 or -1, ERR_EXISTS if the file exists, ERR_TEMPORARY if its file system
 * has no room for it. */
int db_backup(struct db *db, const char *path, struct err *err);

/* Returns 1 if another process has the database open, with its process id, or 0 as the id where the
 * system does not tell; 0 if none has; -1 on error. This process must not have it open: it would
 * lose its locks. */
int db_is_open_elsewhere(const char *path, int *pid_r, struct err *err);

/* Runs the engine's check of all pages and references; ERR_CONFIG names the first fault. */
int db_check(struct db *db, struct err *err);

/* Looks for a program that has kept all others from writing for some seconds. Returns 1 with its
 * name and process id, which the caller frees; 0 if there is none; -1 on error. Takes no time
 * unless somebody writes. */
int db_blocker(struct db *db, char **who_r, struct err *err);

#endif
