/*
 * pg_private: PostgreSQL as an engine behind db.h, for the files of the engine alone. They form a
 * ladder; each uses those above it:
 *
 *   pg_library       libpq, loaded when it is needed
 *   pg_sql           SQL as the rest of Postern writes it, translated for PostgreSQL
 *   pg_wire          commands to the server, and its answers
 *   pg_connect       which host, when, and whether it is the right database
 *   pg_transaction   begin, commit, savepoints, and what happens when the server is lost
 *   pg_stmt          prepared statements: parameters, execution, rows
 *   pg_rows          one statement for many rows of parameters
 *   db_postgresql    the handle, the database as a whole, and the struct db_engine
 *
 * Round trips cost most. BEGIN, the lock, SAVEPOINT and RELEASE wait in a queue for the next
 * statement and go with it in one pipeline; so do the preparation of a statement, posted statements
 * (db_post()), and COMMIT. The server's answers are read when a result is needed, or with COMMIT.
 *
 * Time: libpq blocks nowhere. A handle gives up a server that does not answer in time, closes the
 * connection, and connects again with the next statement. Only the resolver of host names, which
 * libpq calls, has no deadline. A handle with ahead_only belongs to an event loop: it waits for
 * nothing.
 *
 * Threads: a handle is used by one thread at a time.
 */
#ifndef POSTERN_DB_PG_PRIVATE_H
#define POSTERN_DB_PG_PRIVATE_H

#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/db/db_private.h"
#include "core/db/pg_library.h"

/* The statements of transactions. Each connection has them prepared. */
enum pg_control {
	PG_BEGIN,
	PG_LOCK,
	PG_SAVEPOINT,
	PG_RELEASE,
	PG_UNDO,
	PG_COMMIT,
	PG_SYNC,
	PG_ROLLBACK,
	PG_CONTROLS,
};

enum {
	PG_QUEUE_MAX = 12,
	PG_VALUE_MAX = 1 << 30, /* bytes, the server's limit */
};

enum { PG_NO_COMMAND = SIZE_MAX };

/* How the server has answered the commands in the pipeline. */
struct pg_answers {
	PGresult *result; /* of the wanted command, if it was reached; the caller clears it */
	size_t failed;    /* the first command that failed, from 0; PG_NO_COMMAND: none */
	struct err why;
};

/* The answers, while they are read. */
struct pg_reading {
	/* The results of n commands from `first` on, the caller's: NULL, or as far as they were
	 * reached and did not fail. */
	PGresult **results;
	size_t first, n;
	size_t at;  /* the command whose results come next */
	bool empty; /* what came last was the end of one */
	size_t failed;
	struct err why;
};

struct pg_db {
	struct db base;
	enum db_mode mode;
	PQconninfoOption *options; /* of the URL */
	struct strv hosts, hostaddrs, ports;
	size_t turn;      /* the host that is tried next */
	int64_t wait_ms;  /* see db_set_wait() */
	int64_t identity; /* of the database; 0: not known */

	PGconn *conn;   /* in pipeline mode, except within pg_wire_run(); NULL: not connected */
	unsigned age;   /* number of the connection; statements are prepared for one */
	unsigned names; /* statements that were prepared, for their names */
	int64_t pause_us;
	int64_t retry_us; /* no connection is tried before this time */
	struct err away;  /* why the last try to connect failed */
	bool late;        /* the last connection was given up at a deadline */

	bool in_transaction;
	bool touched;                        /* the server may know of the transaction */
	struct err failed;                   /* why its statements fail; ERR_NONE: they do not */
	enum pg_control queue[PG_QUEUE_MAX]; /* sent before the next statement */
	size_t queued;
	size_t sent; /* commands in the pipeline whose answers were not read */
	/* Statements that these commands prepare. */
	struct pg_stmt **unsure;
	size_t n_unsure;
	int64_t changes;

	/* Statements that were announced, in the order in which they were sent. Their answers are
	 * read when one of them is stepped; until then they are in the pipeline. */
	struct pg_ahead *ahead;
	size_t n_ahead;
	bool ahead_answered;
	bool ahead_only;           /* see db_set_ahead_only() */
	struct pg_reading reading; /* their answers; with ahead_only */
};

/* A statement that was announced, see db_read_ahead(). */
struct pg_ahead {
	struct pg_stmt *stmt;
	char *params;     /* the values of its parameters, as pg_stmt.c writes them */
	size_t len;       /* of them */
	size_t at;        /* its number in the pipeline */
	PGresult *result; /* NULL: there is none (any more) */
};

struct pg_param {
	Oid type;
	const char *value;
	int len;
	bool binary;
	char number[24];
};

struct pg_stmt {
	struct db_stmt base;
	char *text;        /* translated */
	struct strv names; /* of the parameters $1, $2 ... */
	struct pg_param *params;
	bool reads;   /* and writes nothing */
	unsigned age; /* the connection for which it is prepared; 0: none */
	unsigned name;
	Oid *types; /* the parameter types with which it is prepared */
	/* The parameters as libpq takes them. */
	const char **values;
	int *lengths, *formats;
	PGresult *shape; /* its columns, before it has run */
	PGresult *result;
	int row;
	unsigned char **bytes; /* decoded bytea columns of the row */
	bool used;             /* since it was reset */
	bool too_large;        /* a parameter is larger than PG_VALUE_MAX */
	struct pg_stmt *rows;  /* the same for many rows, see pg_rows; NULL: not made yet */
};

static inline struct pg_db *pg_db_of(const struct db *db)
{
	return (struct pg_db *)db;
}

static inline struct pg_stmt *pg_stmt_of(const struct db_stmt *stmt)
{
	return (struct pg_stmt *)stmt;
}

/* pg_sql */

/* Returns the statement for PostgreSQL, to be freed, and adds the names of its parameters to
 * names. */
char *pg_sql_translate(const char *sql, struct strv *names);

/* Returns the form of a translated statement that runs once for all rows of its parameters, to be
 * freed: each parameter is an array, except for $this_host. */
char *pg_sql_for_rows(const char *translated, const struct strv *names);

/* True if the statement has the word outside of quotes. */
bool pg_sql_has_word(const char *sql, const char *word);

/* pg_wire */

/* Sets err to libpq's error of the connection, with ERR_TEMPORARY. Returns -1. */
int pg_wire_error(struct pg_db *db, struct err *err);

void pg_wire_close(struct pg_db *db);

/* Waits until the socket is ready for the events. Returns 1; 0 at the deadline (monotonic; 0: no
 * deadline), or -1 on error. */
int pg_wire_wait(struct pg_db *db, short events, int64_t deadline_us);

/* False if the server has closed an idle connection. It says so when it stops. */
bool pg_wire_is_alive(struct pg_db *db);

/* How much longer than wait_ms the server may take before it is given up, in two equal steps: the
 * server ends its statement itself after the first. */
int64_t pg_wire_grace_ms(const struct pg_db *db);

/* Runs statements without parameters by the simple protocol, which a pipeline does not allow.
 * Returns 0, or -1 with the first error; *lost_r says whether the server is lost. The first value
 * of the last result is read as a number into *number_r, if that is not NULL. */
int pg_wire_run(
	struct pg_db *db, const char *sql, int64_t *number_r, bool *lost_r, struct err *err);

/* Adds a command to the pipeline. Returns false if libpq cannot. */
bool pg_wire_send_control(struct pg_db *db, enum pg_control control);

/* Has the server answer all that was sent, and reads the answers; wanted is the number of the
 * command whose result is returned. Returns 0, or -1 if the server is lost. */
int pg_wire_answers(struct pg_db *db, size_t wanted, struct pg_answers *answers_r, struct err *err);

/* The two halves of it, for the results that the reading asks for: sends all, with the request to
 * answer; and waits for the answers. Return 0, or -1 if the server is lost. */
int pg_wire_ask(struct pg_db *db, struct pg_reading *reading, struct err *err);
int pg_wire_await(struct pg_db *db, struct pg_reading *reading, struct err *err);
/* In place of the second: reads what has come. Returns 1 when that was all, else 0, or -1. */
int pg_wire_receive(struct pg_db *db, struct pg_reading *reading, struct err *err);

int pg_wire_prepare_controls(struct pg_db *db, struct err *err);

/* pg_connect */

/* How long the server lets a statement wait for another writer, how long it lets it run, and how
 * long a transaction may be idle; 0: no limit, as for migrations. */
struct pg_limits {
	long long lock_ms, run_ms, idle_ms;
};

struct pg_limits pg_connect_limits(const struct pg_db *db);

/* Tries each host once, beginning with that of the last connection. After a failure, fails at once
 * until a pause is over. Returns 0 or -1. */
int pg_connect(struct pg_db *db, struct err *err);

/* Connects if there is no connection, or if the server has closed it and does not know of the
 * transaction. Returns 0 or -1. */
int pg_connect_if_needed(struct pg_db *db, struct err *err);

/* pg_transaction */

/* Sends the queue. It stays in the queue until the server has answered or the caller empties it.
 * Returns false if libpq cannot send. */
bool pg_transaction_send_queue(struct pg_db *db);

/* Sends COMMIT and, unless lazy, a command that waits until the commit is durable. *at_r is the
 * number of COMMIT. Returns false if libpq cannot send. */
bool pg_transaction_send_commit(struct pg_db *db, bool lazy, size_t *at_r);

/* Sends the queue, and reads all answers. Returns 0 or -1. */
int pg_transaction_flush(struct pg_db *db, struct err *err);

/* Rolls back at the server, if it is in a transaction. */
void pg_transaction_end_at_server(struct pg_db *db);

/* Ends a transaction in which nothing more can be done. Its statements fail until the owner calls
 * db_rollback(); otherwise each would be a transaction by itself. */
void pg_transaction_abandon(struct pg_db *db, const struct err *why);

/* Closes the connection after the server was lost, and abandons the transaction if the server
 * knew of it. */
void pg_transaction_lose(struct pg_db *db, const struct err *why);

/* pg_stmt */

/* Forgets what was announced. */
void pg_stmt_drop_ahead(struct pg_db *db);

/* The engine's functions. */
int pg_transaction_control(struct db *db, enum db_control control, struct err *err);
int pg_stmt_prepare(struct db *db, const char *sql, struct db_stmt **stmt_r, struct err *err);
void pg_stmt_finalize(struct db_stmt *stmt);
int pg_stmt_param_index(struct db_stmt *stmt, const char *name);
const char *pg_stmt_param_name(struct db_stmt *stmt, int index);
void pg_stmt_bind(struct db_stmt *stmt, int index, const struct db_param *value);
int pg_stmt_step(struct db_stmt *stmt, struct err *err);
int pg_stmt_post(struct db_stmt *stmt, struct err *err);
void pg_stmt_read_ahead(struct db_stmt *stmt);
void pg_stmt_end_ahead(struct db *db);
void pg_stmt_set_ahead_only(struct db *db);
int pg_stmt_ahead_send(struct db *db, struct err *err);
int pg_stmt_ahead_receive(struct db *db, struct err *err);
int pg_stmt_ahead_socket(const struct db *db);
int pg_rows_post(struct db_stmt *stmt, const struct db_rows *rows, struct err *err);
void pg_stmt_reset(struct db_stmt *stmt);
const char *pg_stmt_text(struct db_stmt *stmt, int column);
int64_t pg_stmt_integer(struct db_stmt *stmt, int column);
const void *pg_stmt_blob(struct db_stmt *stmt, int column, size_t *len_r);
int pg_stmt_columns(struct db_stmt *stmt);
const char *pg_stmt_column_name(struct db_stmt *stmt, int column);

#endif
