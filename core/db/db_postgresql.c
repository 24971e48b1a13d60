/*
 * db_postgresql: PostgreSQL as an engine behind db.h; nothing else includes
 * libpq-fe.h.
 *
 * Round trips cost most. BEGIN, the lock, SAVEPOINT and RELEASE wait in a queue
 * for the next statement and go with it in one pipeline; so do the preparation
 * of a statement, posted statements (db_post()), and COMMIT. The server's
 * answers are read when a result is needed, or with COMMIT.
 *
 * Transactions that write take turns, as they do in SQLite, by an advisory lock
 * that the server releases with the transaction. So rows become visible in the
 * order of their numbers, what was read stays true until it is written, and two
 * transactions cannot deadlock. Readers wait for nobody.
 *
 * A durable commit is an asynchronous one, which releases the lock without
 * waiting for the disk, and behind it, in the same pipeline, a transaction that
 * writes nothing but waits until the WAL is durable: on disk, and at standbys
 * as the server's synchronous_commit demands. So the next writer works while
 * this one waits, as in SQLite.
 *
 * A statement that fails has failed its whole transaction, up to the savepoint
 * when that is undone. What could go on after an error sets a savepoint first.
 * If a posted statement fails, or BEGIN or the lock, savepoints do not help:
 * the transaction is rolled back as soon as that is known.
 *
 * Time: libpq waits for nothing here. A handle gives up a server that does not
 * answer, closes the connection and connects anew with the next statement, by
 * turns to each host, with pauses that grow from PAUSE_MIN_US to PAUSE_MAX_US.
 * What waits for the resolver of host names is libpq's alone.
 *
 * A statement is sent once more on a new connection only if it cannot have
 * taken effect: it reads outside of a transaction, or begins one. One that is a
 * transaction by itself is sent again after a deadlock or another conflict with
 * what others do; longer transactions are repeated by whoever knows what was in
 * them (committer), since others than us may take locks in another order.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include <assert.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/db/db_private.h"

enum {
	WAIT_MS = 10000,
	/* For the server to give up by itself, by how long it may wait. */
	GRACE_MIN_MS = 500,
	GRACE_MAX_MS = 1000,
	CONNECT_MS = 2000, /* a host */
	PAUSE_MIN_US = 50000,
	PAUSE_MAX_US = 2000000,
	PAUSE_LATE_US = 1000000,
	QUEUE_MAX = 12,
	POSTED_MAX = 1000, /* statements whose answers were not read */
	VERSION_MIN = 150000,
	VALUE_MAX = 1 << 30, /* bytes, of the server */
	CONFLICT_TRIES = 5,
};

/* Types of pg_type. */
enum { TYPE_UNKNOWN = 0, TYPE_BOOL = 16, TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_TEXT = 25 };

/* The statements of transactions. Each connection has them prepared, by their numbers. */
enum control {
	BEGIN,
	LOCK,
	SAVEPOINT,
	RELEASE,
	UNDO,
	LAZY,
	COMMIT,
	SYNC,
	ROLLBACK,
	CONTROLS,
};
static const char *const controls[CONTROLS] = {
	[BEGIN] = "BEGIN",
	[LOCK] = "SELECT pg_advisory_xact_lock(8101115116101114)",
	[SAVEPOINT] = "SAVEPOINT job",
	[RELEASE] = "RELEASE SAVEPOINT job",
	[UNDO] = "ROLLBACK TO SAVEPOINT job",
	[LAZY] = "SET LOCAL synchronous_commit = off",
	[COMMIT] = "COMMIT",
	/* A transaction by itself. A standby may lack what is on disk here. */
	[SYNC] = "SELECT pg_logical_emit_message(true, 'postern', '')"
		 " WHERE pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()"
		 " OR current_setting('synchronous_standby_names') <> ''",
	[ROLLBACK] = "ROLLBACK",
};

struct pg_db {
	struct db base;
	enum db_mode mode;
	PQconninfoOption *options; /* of the URL */
	struct strv hosts, hostaddrs, ports;
	size_t turn; /* of the host that is tried next */
	int64_t wait_ms;
	int64_t identity; /* of the database; 0: not known */

	PGconn *conn;   /* in pipeline mode, unless a command of several statements runs; NULL:
			 * there is none */
	unsigned age;   /* grows with each connection; statements are prepared for one */
	unsigned names; /* of statements that were prepared */
	int64_t pause_us;
	int64_t retry_us; /* no connection is tried before */
	struct err away;  /* why the last one failed */
	bool late;        /* the last connection was given up at a deadline */

	bool in_transaction;
	bool touched;                  /* the server may know of it */
	struct err failed;             /* why nothing more can be done in it; ERR_NONE: it can */
	enum control queue[QUEUE_MAX]; /* what goes in front of the next statement */
	size_t queued;
	size_t sent; /* commands in the pipeline whose answers were not read */
	/* Statements prepared by these commands. */
	struct pg_stmt **unsure;
	size_t n_unsure;
	int64_t changes;
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
	char *text; /* with numbers for the names of parameters */
	struct strv names;
	struct pg_param *params;
	bool reads;   /* and never writes */
	unsigned age; /* of the connection that it is prepared for; 0: none */
	unsigned name;
	Oid *types; /* that it is prepared for */
	/* What is sent of the parameters. */
	const char **values;
	int *lengths, *formats;
	PGresult *shape; /* its columns, before it has run */
	PGresult *result;
	int row;
	unsigned char **bytes; /* of the columns of the row, as they are asked for */
	bool used;             /* since it was reset */
	bool too_large;        /* a parameter is */
};

static struct pg_db *of_db(const struct db *db)
{
	return (struct pg_db *)db;
}

static struct pg_stmt *of_stmt(const struct db_stmt *stmt)
{
	return (struct pg_stmt *)stmt;
}

/* Errors. */

/* Of a class of SQLSTATE, or of one; the first that fits counts. */
static const struct {
	const char *state;
	enum err_code code;
} meanings[] = {
	{"23505", ERR_EXISTS},    /* unique */
	{"23503", ERR_NOT_FOUND}, /* reference */
	{"25006", ERR_TEMPORARY}, /* read only: a standby by now */
	{"55P03", ERR_TEMPORARY}, /* the lock was not to be had in time */
	{"57", ERR_TEMPORARY},    /* canceled, or the server stops */
	{"08", ERR_TEMPORARY},    /* the connection */
	{"40", ERR_TEMPORARY},    /* deadlock, serialization */
	{"53", ERR_TEMPORARY},    /* disk, memory, connections */
	{"58", ERR_TEMPORARY},    /* i/o */
	{"22021", ERR_INVALID},   /* no UTF-8, or a NUL */
	{"22P05", ERR_INVALID}, {"54", ERR_TOO_LARGE}, {"28", ERR_CONFIG}, /* credentials */
	{"3D", ERR_CONFIG},                                                /* no such database */
	{"3F", ERR_CONFIG},                                                /* no such schema */
	{"42501", ERR_CONFIG},
	{"42", ERR_CONFIG}, /* our statements are right: the tables are not */
};

static enum err_code meaning(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (str_starts(state, meanings[i].state))
			return meanings[i].code;
	return ERR_INTERNAL;
}

static int fail_server(struct pg_db *db, const PGresult *result, struct err *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	enum err_code code = state ? meaning(state) : ERR_TEMPORARY;

	db->base.repeatable = state && str_starts(state, "40");

	/* A write on a handle for reading is our bug, and no standby. */
	if (state && str_eq(state, "25006") && db->mode == DB_READ)
		code = ERR_INTERNAL;
	if (state && str_eq(state, "55P03"))
		text = "another writer has the database locked";
	return err_set(err, code, "%s: %s (SQLSTATE %s)", db->base.path,
		text ? text : "the connection is lost", state ? state : "none");
}

/* libpq ends its texts with a newline and may have several lines. */
static int fail_connection(struct pg_db *db, struct err *err)
{
	const char *text = PQerrorMessage(db->conn);

	return err_set(err, ERR_TEMPORARY, "%s: %.*s", db->base.path, (int)strcspn(text, "\n"),
		*text ? text : "the connection is lost");
}

/* The connection. */

static void disconnect(struct pg_db *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
	db->sent = db->n_unsure = 0;
}

/* Waits until the socket can be read, or with out also written: 1, 0 at the
 * deadline (0: never), -1 when that cannot be told. */
static int wait_for(struct pg_db *db, short events, int64_t deadline_us)
{
	struct pollfd fd = {.fd = PQsocket(db->conn), .events = events};

	for (;;) {
		int64_t left_us = deadline_us - clock_monotonic_us();
		int n;

		if (deadline_us != 0 && left_us <= 0)
			return 0;
		n = poll(&fd, 1, deadline_us == 0 ? -1 : (int)(left_us / 1000) + 1);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return -1;
	}
}

/* Goes on until libpq is done with the connection. */
static int poll_connection(struct pg_db *db, struct err *err)
{
	int64_t deadline_us = clock_monotonic_us() + CONNECT_MS * INT64_C(1000);
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (db->conn == NULL)
		return err_set(err, ERR_TEMPORARY, "%s: no memory for a connection", db->base.path);
	while (PQstatus(db->conn) != CONNECTION_BAD) {
		if (status == PGRES_POLLING_OK)
			return 0;
		if (status == PGRES_POLLING_FAILED)
			break;
		if (wait_for(db, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_us) <=
			0)
			return err_set(err, ERR_TEMPORARY, "%s: no connection within %d ms",
				db->base.path, CONNECT_MS);
		status = PQconnectPoll(db->conn);
	}
	return fail_connection(db, err);
}

static const char *item(const struct strv *list, size_t i)
{
	/* One port is that of all hosts. */
	return list->n == 0   ? NULL
	       : list->n == 1 ? list->items[0]
	       : i < list->n  ? list->items[i]
			      : NULL;
}

/* How long the server lets a statement wait for another writer, how long it lets it run, and a
 * transaction do nothing; 0: for ever. Migrations take their time. */
struct limits {
	long long lock_ms, run_ms, idle_ms;
};

static int64_t grace_ms(const struct pg_db *db)
{
	return db->wait_ms / 2 < GRACE_MIN_MS   ? GRACE_MIN_MS
	       : db->wait_ms / 2 > GRACE_MAX_MS ? GRACE_MAX_MS
						: db->wait_ms / 2;
}

static struct limits limits_of(const struct pg_db *db)
{
	struct limits limits = {.lock_ms = db->wait_ms > 0 ? db->wait_ms : 1};

	if (db->mode != DB_CREATE)
		limits.run_ms = limits.idle_ms = db->wait_ms + grace_ms(db);
	return limits;
}

/* The settings of the session. Those that the admin gives in the URL come last and win. */
static char *session_options(const struct pg_db *db, const char *given)
{
	struct limits limits = limits_of(db);

	return mem_printf(
		"-c jit=off -c default_transaction_isolation=read\\ committed -c lock_timeout=%lld -c statement_timeout=%lld "
		"-c idle_in_transaction_session_timeout=%lld%s %s",
		limits.lock_ms, limits.run_ms, limits.idle_ms,
		db->mode == DB_READ ? " -c default_transaction_read_only=on" : "",
		given ? given : "");
}

/* Begins to connect to one of the hosts: libpq would try all with no time for
 * each. */
static void begin_connection(struct pg_db *db)
{
	enum { MORE = 12 };
	const char *names[64 + MORE], *values[64 + MORE];
	_cleanup_free_ char *session = NULL;
	const char *options = NULL, *target = "primary";
	size_t n = 0;

	for (const PQconninfoOption *o = db->options; o->keyword && n < 64; o++) {
		if (o->val == NULL || str_eq(o->keyword, "host") ||
			str_eq(o->keyword, "hostaddr") || str_eq(o->keyword, "port"))
			continue;
		if (str_eq(o->keyword, "options"))
			options = o->val;
		else if (str_eq(o->keyword, "target_session_attrs"))
			target = o->val;
		else {
			names[n] = o->keyword;
			values[n++] = o->val;
		}
	}
	session = session_options(db, options);
#define GIVE(name_, value_) (names[n] = (name_), values[n++] = (value_))
	GIVE("host", item(&db->hosts, db->turn));
	GIVE("hostaddr", item(&db->hostaddrs, db->turn));
	GIVE("port", item(&db->ports, db->turn));
	GIVE("options", session);
	GIVE("target_session_attrs", target);
	GIVE("client_encoding", "UTF8");
	GIVE("fallback_application_name", "postern");
	GIVE(NULL, NULL);
#undef GIVE
	db->conn = PQconnectStartParams(names, values, 0);
}

static void ignore_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* Checks version and encoding, which no later try would find changed. Returns 0 or -1. */
static int check_server(struct pg_db *db, struct err *err)
{
	const char *encoding = PQparameterStatus(db->conn, "server_encoding");

	if (PQserverVersion(db->conn) < VERSION_MIN)
		return err_set(err, ERR_CONFIG,
			"%s: PostgreSQL %d is too old: 15 or a newer one is needed", db->base.path,
			PQserverVersion(db->conn) / 10000);
	if (!str_eq(encoding ? encoding : "", "UTF8"))
		return err_set(err, ERR_CONFIG,
			"%s: the database has the encoding %s: make it with `createdb -E UTF8 -T "
			"template0`",
			db->base.path, encoding ? encoding : "unknown");
	return 0;
}

/* Hands over what is to be sent and takes a result, which is NULL between those
 * of two statements: 0, or -1 when the server is lost. */
static int take_result(struct pg_db *db, int64_t deadline_us, PGresult **result_r, struct err *err)
{
	for (;;) {
		int unsent = PQflush(db->conn), ready;

		if (unsent < 0)
			return fail_connection(db, err);
		if (unsent == 0 && !PQisBusy(db->conn))
			break;
		ready = wait_for(db, unsent ? POLLIN | POLLOUT : POLLIN, deadline_us);
		db->late = ready == 0;
		if (db->late)
			return err_set(err, ERR_TEMPORARY, "%s: no answer within %lld ms",
				db->base.path, (long long)(db->wait_ms + 2 * grace_ms(db)));
		if (ready < 0 || PQconsumeInput(db->conn) == 0)
			return fail_connection(db, err);
	}
	*result_r = PQgetResult(db->conn);
	if (PQstatus(db->conn) != CONNECTION_BAD)
		return 0;
	/* The server says why it goes. */
	if (*result_r && PQresultErrorField(*result_r, PG_DIAG_SQLSTATE))
		fail_server(db, *result_r, err);
	else
		fail_connection(db, err);
	PQclear(*result_r);
	if (err)
		err->code = ERR_TEMPORARY;
	return -1;
}

static int64_t deadline_of(const struct pg_db *db)
{
	if (db->mode == DB_CREATE)
		return 0;
	return clock_monotonic_us() + (db->wait_ms + 2 * grace_ms(db)) * 1000;
}

/* Statements without parameters by the simple protocol, which the pipeline has
 * none of: 0, the first error with -1, or -1 with *lost_r. The first value of
 * the last result, as a number, goes to *number_r unless that is NULL. */
static int run_simple(
	struct pg_db *db, const char *sql, int64_t *number_r, bool *lost_r, struct err *err)
{
	int64_t deadline_us = deadline_of(db);
	int result = 0;
	PGresult *taken;

	*lost_r = true;
	PQexitPipelineMode(db->conn);
	if (PQsendQuery(db->conn, sql) == 0)
		return fail_connection(db, err);
	for (;;) {
		if (take_result(db, deadline_us, &taken, err) != 0)
			return -1;
		if (taken == NULL)
			break;
		if (PQresultStatus(taken) == PGRES_FATAL_ERROR && result == 0)
			result = fail_server(db, taken, err);
		if (number_r && PQntuples(taken) > 0)
			*number_r = strtoll(PQgetvalue(taken, 0, 0), NULL, 10);
		PQclear(taken);
	}
	*lost_r = false;
	PQenterPipelineMode(db->conn);
	return result;
}

/* The time of the first migration tells a database from all others, also in its
 * copies and standbys. One without tables has none yet. */
static int check_identity(struct pg_db *db, struct err *err)
{
	static const char sql_identity[] =
		"SELECT applied_us FROM schema_migration WHERE version = 1";
	struct err why = ERR_INIT;
	int64_t identity = 0;
	bool lost;

	if (db->mode == DB_CREATE)
		return 0;
	if (run_simple(db, sql_identity, &identity, &lost, &why) != 0 &&
		(lost || why.code != ERR_CONFIG))
		return err_copy(err, &why);
	if (db->identity == 0)
		db->identity = identity;
	if (db->identity == identity)
		return 0;
	return err_set(err, ERR_TEMPORARY,
		"%s: this is another database than before; restart what uses it", db->base.path);
}

static int prepare_controls(struct pg_db *db, struct err *err);

static int connect_to_host(struct pg_db *db, struct err *err)
{
	begin_connection(db);
	if (poll_connection(db, err) != 0)
		return -1;
	PQsetnonblocking(db->conn, 1);
	PQsetNoticeProcessor(db->conn, ignore_notice, NULL);
	PQenterPipelineMode(db->conn);
	if (check_server(db, err) != 0 || check_identity(db, err) != 0)
		return -1;
	return prepare_controls(db, err);
}

/* After a failure nobody tries for a while, each longer than the last, and not
 * all handles at the same time. */
static void pause_connecting(struct pg_db *db)
{
	int64_t now_us = clock_monotonic_us();

	db->pause_us = db->pause_us == 0 ? PAUSE_MIN_US : db->pause_us * 2;
	if (db->pause_us > PAUSE_MAX_US)
		db->pause_us = PAUSE_MAX_US;
	db->retry_us = now_us + db->pause_us / 2 +
		       (now_us ^ (intptr_t)db >> 4) % (db->pause_us / 2 + 1);
}

/* Tries each host once, beginning with that of the last connection. */
static int connect_anew(struct pg_db *db, struct err *err)
{
	size_t hosts = db->hosts.n > db->hostaddrs.n ? db->hosts.n : db->hostaddrs.n;

	if (clock_monotonic_us() < db->retry_us)
		return err_copy(err, &db->away);
	for (size_t tried = 0; tried < (hosts ? hosts : 1); tried++) {
		if (connect_to_host(db, &db->away) == 0) {
			db->age++;
			db->pause_us = 0;
			return 0;
		}
		disconnect(db);
		db->turn = hosts ? (db->turn + 1) % hosts : 0;
	}
	pause_connecting(db);
	return err_copy(err, &db->away);
}

/* A server that has gone said so to who is idle, and closed the connection behind it. */
static bool is_alive(struct pg_db *db)
{
	struct pollfd fd = {.fd = PQsocket(db->conn), .events = POLLIN};

	while (poll(&fd, 1, 0) != 0)
		if (PQconsumeInput(db->conn) == 0 || PQstatus(db->conn) != CONNECTION_OK)
			return false;
	return true;
}

/* Before the server knows of a transaction another connection is as good. */
static int require_connection(struct pg_db *db, struct err *err)
{
	if (db->conn && !db->touched && !is_alive(db))
		disconnect(db);
	return db->conn ? 0 : connect_anew(db, err);
}

/* The pipeline. */

enum { NO_COMMAND = SIZE_MAX };

static void control_name(enum control control, char name_r[static 16])
{
	snprintf(name_r, 16, "c%d", control);
}

static bool send_control(struct pg_db *db, enum control control)
{
	char name[16];

	control_name(control, name);
	db->sent++;
	return PQsendQueryPrepared(db->conn, name, 0, NULL, NULL, NULL, 0) == 1;
}

/* It stays in the queue until the server has answered or the caller empties it. */
static bool send_queue(struct pg_db *db)
{
	for (size_t i = 0; i < db->queued; i++)
		if (!send_control(db, db->queue[i]))
			return false;
	return true;
}

/* How the server has answered the commands in the pipeline. */
struct answers {
	PGresult *result; /* of the wanted command, if it was reached */
	size_t failed;    /* the first command that failed, from 0; NO_COMMAND: none */
	struct err why;
};

/* The server skips all commands behind one that failed. A name is never used twice, so a statement
 * that may or may not be prepared is prepared again. */
static void note_prepared(struct pg_db *db, bool all)
{
	for (size_t i = 0; i < db->n_unsure; i++)
		if (!all)
			db->unsure[i]->age = 0;
	db->n_unsure = 0;
}

/* Has the server answer all that was sent, and reads the answers. Returns 0, or -1 when the server
 * is lost. */
static int take_answers(struct pg_db *db, size_t wanted, struct answers *answers_r, struct err *err)
{
	int64_t deadline_us = deadline_of(db);
	struct answers answers = {.failed = NO_COMMAND, .why = ERR_INIT};
	bool empty = false;
	size_t at = 0;

	if (PQpipelineSync(db->conn) == 0)
		return fail_connection(db, err);
	for (;;) {
		PGresult *taken;
		ExecStatusType status;

		if (take_result(db, deadline_us, &taken, err) != 0)
			break;
		if (taken == NULL) {
			if (empty) { /* two in a row: there is nothing more */
				fail_connection(db, err);
				break;
			}
			empty = true;
			at++;
			continue;
		}
		empty = false;
		status = PQresultStatus(taken);
		if (status == PGRES_PIPELINE_SYNC) {
			PQclear(taken);
			db->sent = 0;
			note_prepared(db, answers.failed == NO_COMMAND);
			*answers_r = answers;
			return 0;
		}
		if (status == PGRES_FATAL_ERROR && answers.failed == NO_COMMAND) {
			answers.failed = at;
			fail_server(db, taken, &answers.why);
		}
		if (at == wanted && status != PGRES_FATAL_ERROR && answers.result == NULL)
			answers.result = taken;
		else
			PQclear(taken);
	}
	PQclear(answers.result);
	return -1;
}

static int prepare_controls(struct pg_db *db, struct err *err)
{
	struct answers answers;

	for (int i = 0; i < CONTROLS; i++) {
		char name[16];

		control_name((enum control)i, name);
		if (PQsendPrepare(db->conn, name, controls[i], 0, NULL) == 0)
			return fail_connection(db, err);
	}
	if (take_answers(db, NO_COMMAND, &answers, err) != 0)
		return -1;
	return answers.failed == NO_COMMAND ? 0 : err_copy(err, &answers.why);
}

/* Forgets the transaction. */
static void end_transaction(struct pg_db *db)
{
	db->in_transaction = db->touched = db->base.lost = false;
	db->failed = ERR_INIT;
	db->queued = 0;
}

/* The server's part of rolling back. */
static void end_at_server(struct pg_db *db)
{
	struct answers answers;

	if (db->conn && db->sent > 0 && take_answers(db, NO_COMMAND, &answers, NULL) != 0)
		disconnect(db);
	if (db->conn && PQtransactionStatus(db->conn) != PQTRANS_IDLE &&
		(!send_control(db, ROLLBACK) || take_answers(db, NO_COMMAND, &answers, NULL) != 0 ||
			answers.failed != NO_COMMAND))
		disconnect(db);
}

/* The transaction is over, and not by its owner. Until that calls db_rollback(), its statements
 * fail, since each would be a transaction by itself. */
static void abandon(struct pg_db *db, const struct err *why)
{
	end_at_server(db);
	end_transaction(db);
	db->base.lost = true;
	db->failed = *why;
}

/* The server is lost, and with it the transaction that it knew of. */
static void lose(struct pg_db *db, const struct err *why)
{
	bool known = db->touched;

	disconnect(db);
	/* A reader may be an event loop. It does not wait again at once, for a connection. */
	if (db->late && db->mode == DB_READ) {
		db->away = *why;
		db->retry_us = clock_monotonic_us() + PAUSE_LATE_US;
	}
	if (!known)
		return;
	db->base.repeatable = !db->late;
	abandon(db, why);
}

/* Sends the queue, and reads all answers. Returns 0 or -1. */
static int flush_pipeline(struct pg_db *db, struct err *err)
{
	struct answers answers = {.why = ERR_INIT};

	if (db->queued == 0 && db->sent == 0)
		return 0;
	db->touched = db->in_transaction;
	if (!send_queue(db)) {
		fail_connection(db, &answers.why);
		lose(db, &answers.why);
		return err_copy(err, &answers.why);
	}
	db->queued = 0;
	if (take_answers(db, NO_COMMAND, &answers, &answers.why) != 0)
		lose(db, &answers.why);
	else if (answers.failed == NO_COMMAND)
		return 0;
	else
		abandon(db, &answers.why);
	return err_copy(err, &answers.why);
}

static int enqueue(struct pg_db *db, enum control control, struct err *err)
{
	if (db->queued == QUEUE_MAX &&
		(require_connection(db, err) != 0 || flush_pipeline(db, err) != 0))
		return -1;
	db->queue[db->queued++] = control;
	return 0;
}

static bool is_last(const struct pg_db *db, enum control control)
{
	return db->queued > 0 && db->queue[db->queued - 1] == control;
}

/* Transactions. */

static void roll_back(struct pg_db *db)
{
	if (db->touched)
		end_at_server(db);
	end_transaction(db);
}

/* The server learns of it with the first statement. */
static int begin(struct pg_db *db, struct err *err)
{
	db->base.repeatable = false;
	end_transaction(db);
	if (require_connection(db, err) != 0)
		return -1;
	db->queue[db->queued++] = BEGIN;
	if (db->mode != DB_READ)
		db->queue[db->queued++] = LOCK;
	db->in_transaction = true;
	return 0;
}

/* Sends a commit, and what waits until it is durable. The number of COMMIT goes to *at_r. */
static bool send_commit(struct pg_db *db, bool lazy, size_t *at_r)
{
	bool reads = db->mode == DB_READ;

	if ((!reads && !send_control(db, LAZY)) || !send_control(db, COMMIT))
		return false;
	*at_r = db->sent - 1;
	return reads || lazy || send_control(db, SYNC);
}

/* Reads from the answers how the commit ended. Returns 0, or -1 if it was not made or may not be
 * durable. */
static int commit_result(
	struct pg_db *db, const struct answers *answers, size_t at, struct err *err)
{
	if (answers->failed <= at)
		return err_copy(err, &answers->why);
	/* The end of a transaction that has failed is a rollback, and no error. */
	if (!str_eq(PQcmdStatus(answers->result), "COMMIT"))
		return err_set(err, ERR_INTERNAL, "%s: the transaction had failed", db->base.path);
	if (answers->failed == NO_COMMAND)
		return 0;
	db->base.unsynced = true;
	return err_set(
		err, ERR_TEMPORARY, "committed, but perhaps not durably: %s", answers->why.text);
}

/* No answer means that it may have come to be. */
static int commit(struct pg_db *db, bool lazy, struct err *err)
{
	int64_t began_us = clock_monotonic_us();
	struct err why = ERR_INIT;
	struct answers answers;
	size_t at = 0;
	int result;

	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (!db->touched) { /* nothing was done in it */
		end_transaction(db);
		return 0;
	}
	if (!send_queue(db) || !send_commit(db, lazy, &at))
		result = fail_connection(db, &why);
	else
		result = take_answers(db, at, &answers, &why);
	if (result != 0) {
		disconnect(db);
		db->base.unsynced = true;
		db->base.repeatable = false;
		err_set(err, ERR_TEMPORARY, "no answer to COMMIT, it may have come to be: %s",
			why.text);
	} else {
		result = commit_result(db, &answers, at, err);
		PQclear(answers.result);
		end_at_server(db);
	}
	end_transaction(db);
	if (!lazy) {
		db->base.counts.syncs++;
		db->base.counts.sync_us += clock_monotonic_us() - began_us;
	}
	return result;
}

static int undo(struct pg_db *db, struct err *err)
{
	if (is_last(db, SAVEPOINT)) {
		db->queued--;
		return 0;
	}
	db->failed = ERR_INIT;
	return enqueue(db, UNDO, err) == 0 ? enqueue(db, RELEASE, err) : -1;
}

static int control(struct db *base, enum db_control what, struct err *err)
{
	struct pg_db *db = of_db(base);

	switch (what) {
	case DB_BEGIN:
		return begin(db, err);
	case DB_COMMIT:
	case DB_COMMIT_LAZY:
		return commit(db, what == DB_COMMIT_LAZY, err);
	case DB_ROLLBACK:
		roll_back(db);
		return 0;
	case DB_SAVEPOINT:
		if (db->failed.code != ERR_NONE)
			return err_copy(err, &db->failed);
		return enqueue(db, SAVEPOINT, err);
	case DB_RELEASE:
		if (db->failed.code != ERR_NONE)
			return err_copy(err, &db->failed);
		if (!is_last(db, SAVEPOINT))
			return enqueue(db, RELEASE, err);
		db->queued--;
		return 0;
	case DB_UNDO:
		return undo(db, err);
	}
	return -1;
}

static bool in_transaction(const struct db *db)
{
	return of_db(db)->in_transaction;
}

/* Statements. */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Past the word or whatever else begins here. */
static const char *skip_token(const char *at)
{
	if (*at == '\'' || *at == '"') {
		const char *end = strchr(at + 1, *at);

		return end ? end + 1 : at + strlen(at);
	}
	if (!is_word(*at))
		return at + 1;
	while (is_word(*at))
		at++;
	return at;
}

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/* Returns what follows the word, or NULL if the text does not begin with it. */
static const char *after_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 && !is_word(at[len]) ? skip_space(at + len) : NULL;
}

/* Skips INDEXED BY and the name, if the text begins with them. */
static const char *skip_hint(const char *at)
{
	const char *by = after_word(at, "INDEXED"), *name = by ? after_word(by, "BY") : NULL;

	return name ? skip_space(skip_token(name)) : at;
}

/* True if the joined table, perhaps under an alias, has a condition. */
static bool has_condition(const char *table)
{
	const char *at = skip_hint(skip_space(skip_token(table)));

	return after_word(at, "ON") || after_word(skip_hint(skip_space(skip_token(at))), "ON");
}

static size_t param_number(struct pg_stmt *stmt, const char *name, size_t len)
{
	_cleanup_free_ char *copy = mem_printf("%.*s", (int)len, name);

	for (size_t i = 0; i < stmt->names.n; i++)
		if (str_eq(stmt->names.items[i], copy))
			return i + 1;
	strv_add(&stmt->names, copy);
	return stmt->names.n;
}

/* The start of the operand that ends here. */
static size_t operand(const struct buf *text, size_t end)
{
	while (end > 0 && (is_word(text->data[end - 1]) || strchr(".$", text->data[end - 1])))
		end--;
	return end;
}

static size_t without_space(const struct buf *text, size_t end)
{
	while (end > 0 && strchr(" \t\n", text->data[end - 1]))
		end--;
	return end;
}

/* The text ends with a comparison, which is to ignore the case of ASCII:
 * a = b becomes lower(a) = lower(b). */
static void fold_comparison(struct buf *text)
{
	size_t end = without_space(text, text->len), right = operand(text, end);
	size_t sign_end = without_space(text, right), sign = sign_end;
	size_t left_end, left;
	_cleanup_free_ char *folded = NULL;

	while (sign > 0 && strchr("=<>", text->data[sign - 1]))
		sign--;
	left_end = without_space(text, sign);
	left = operand(text, left_end);
	folded = mem_printf("lower(%.*s) %.*s lower(%.*s COLLATE \"C\")", (int)(left_end - left),
		text->data + left, (int)(sign_end - sign), text->data + sign, (int)(end - right),
		text->data + right);
	/* A plus keeps SQLite from an index. */
	text->len = left > 0 && text->data[left - 1] == '+' ? left - 1 : left;
	buf_add_str(text, folded);
}

/* The statement as PostgreSQL has it: numbers for the names of parameters, comparisons of NOCASE
 * by lower(), ALL for LIMIT -1, and nothing of what tells SQLite's planner how to go about it:
 * CROSS JOIN with a condition, INDEXED BY. */
static char *translate(struct pg_stmt *stmt, const char *sql)
{
	struct buf text = BUF_INIT;
	const char *at = sql, *next;

	while (*at) {
		if (*at == '$' && is_word(at[1])) {
			next = skip_token(at + 1);
			buf_printf(&text, "$%zu", param_number(stmt, at, (size_t)(next - at)));
		} else if ((next = skip_hint(at)) != at) {
			buf_add_char(&text, ' ');
		} else if ((next = after_word(at, "LIMIT")) && str_starts(next, "-1")) {
			buf_add_str(&text, "LIMIT ALL");
			next += 2;
		} else if ((next = after_word(at, "group_concat"))) {
			buf_add_str(&text, "string_agg"); /* ours is in SQL, and slow */
		} else if ((next = after_word(at, "COLLATE")) && after_word(next, "NOCASE")) {
			fold_comparison(&text);
			next = skip_token(next);
		} else if ((next = after_word(at, "CROSS")) && after_word(next, "JOIN") &&
			   has_condition(after_word(next, "JOIN"))) {
			/* JOIN follows. */
		} else {
			next = skip_token(at);
			buf_add(&text, at, (size_t)(next - at));
		}
		at = next;
	}
	return buf_take(&text);
}

static bool has_word(const char *sql, const char *word)
{
	for (const char *at = sql; *at; at = skip_token(at))
		if (after_word(at, word))
			return true;
	return false;
}

static int prepare(struct db *base, const char *sql, struct db_stmt **stmt_r, struct err *err)
{
	struct pg_stmt *stmt = mem_new(struct pg_stmt);

	(void)base;
	(void)err;
	stmt->text = translate(stmt, sql);
	stmt->params = mem_alloc(stmt->names.n + 1, sizeof(*stmt->params));
	stmt->types = mem_alloc(stmt->names.n + 1, sizeof(*stmt->types));
	stmt->values = mem_alloc(stmt->names.n + 1, sizeof(*stmt->values));
	stmt->lengths = mem_alloc(stmt->names.n + 1, sizeof(*stmt->lengths));
	stmt->formats = mem_alloc(stmt->names.n + 1, sizeof(*stmt->formats));
	stmt->reads = !has_word(sql, "INSERT") && !has_word(sql, "UPDATE") &&
		      !has_word(sql, "DELETE") && !has_word(sql, "CREATE");
	*stmt_r = &stmt->base;
	return 0;
}

static void forget_bytes(struct pg_stmt *stmt)
{
	for (int i = 0; stmt->bytes && i < PQnfields(stmt->result); i++) {
		PQfreemem(stmt->bytes[i]);
		stmt->bytes[i] = NULL;
	}
}

static void drop_result(struct pg_stmt *stmt)
{
	forget_bytes(stmt);
	free(stmt->bytes);
	stmt->bytes = NULL;
	PQclear(stmt->result);
	stmt->result = NULL;
}

static void reset(struct db_stmt *base)
{
	struct pg_stmt *stmt = of_stmt(base);

	if (!stmt->used)
		return;
	stmt->used = stmt->too_large = false;
	drop_result(stmt);
	for (size_t i = 0; i < stmt->names.n; i++)
		stmt->params[i] = (struct pg_param){.type = TYPE_UNKNOWN};
}

/* The server drops the prepared statement with the connection. */
static void finalize(struct db_stmt *base)
{
	struct pg_stmt *stmt = of_stmt(base);

	drop_result(stmt);
	PQclear(stmt->shape);
	strv_free(&stmt->names);
	free(stmt->params);
	free(stmt->types);
	free(stmt->values);
	free(stmt->lengths);
	free(stmt->formats);
	free(stmt->text);
	free(stmt);
}

static int param_index(struct db_stmt *base, const char *name)
{
	const struct strv *names = &of_stmt(base)->names;

	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->items[i], name))
			return (int)i + 1;
	return 0;
}

static const char *param_name(struct db_stmt *base, int index)
{
	const struct strv *names = &of_stmt(base)->names;

	return (size_t)index <= names->n ? names->items[index - 1] : NULL;
}

static void bind_param(struct db_stmt *base, int index, const struct db_param *value)
{
	struct pg_stmt *stmt = of_stmt(base);
	struct pg_param *param = &stmt->params[index - 1];

	stmt->used = true;
	assert(index > 0 && (size_t)index <= stmt->names.n);
	switch (value->kind) {
	case DB_PARAM_TEXT:
	case DB_PARAM_GIVEN_TEXT:
		*param = (struct pg_param){.type = TYPE_TEXT, .value = value->text};
		break;
	case DB_PARAM_INT:
		*param = (struct pg_param){.type = TYPE_INT8, .value = param->number};
		snprintf(param->number, sizeof(param->number), "%lld", (long long)value->number);
		break;
	case DB_PARAM_BLOB:
		*param = (struct pg_param){.type = TYPE_BYTEA,
			.value = value->data,
			.len = (int)value->len,
			.binary = true};
		stmt->too_large |= value->len > VALUE_MAX;
		break;
	}
}

/* It is prepared for the types of its parameters; one that is not bound has that of the last time,
 * or what the server makes of it. */
static bool is_prepared(struct pg_stmt *stmt, const struct pg_db *db)
{
	bool same = stmt->age == db->age;

	for (size_t i = 0; i < stmt->names.n; i++) {
		Oid type = stmt->params[i].type;

		if (type == TYPE_UNKNOWN || type == stmt->types[i])
			continue;
		stmt->types[i] = type;
		same = false;
	}
	return same;
}

static void name_of(const struct pg_stmt *stmt, char name_r[static 16])
{
	snprintf(name_r, 16, "s%u", stmt->name);
}

static bool send_prepare(struct pg_db *db, struct pg_stmt *stmt)
{
	char name[16];

	stmt->name = ++db->names;
	stmt->age = db->age;
	db->unsure = mem_append(db->unsure, db->n_unsure, sizeof(struct pg_stmt *));
	db->unsure[db->n_unsure++] = stmt;
	name_of(stmt, name);
	db->sent++;
	return PQsendPrepare(db->conn, name, stmt->text, (int)stmt->names.n, stmt->types) == 1;
}

/* Sends it, and before, if it is not prepared, what prepares it. */
static bool send_stmt(struct pg_db *db, struct pg_stmt *stmt)
{
	size_t n = stmt->names.n;
	char name[16];

	if (!is_prepared(stmt, db) && !send_prepare(db, stmt))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct pg_param *param = &stmt->params[i];

		stmt->values[i] = param->value;
		stmt->lengths[i] = param->len;
		stmt->formats[i] = param->binary;
	}
	name_of(stmt, name);
	db->sent++;
	return PQsendQueryPrepared(
		       db->conn, name, (int)n, stmt->values, stmt->lengths, stmt->formats, 0) == 1;
}

/* How one try ended. */
enum outcome { DONE, FAILED, LOST };

/* All that the statement needs, in one pipeline. One that writes outside of transactions is one,
 * and waits for its turn as they do. */
static enum outcome try_stmt(struct pg_db *db, struct pg_stmt *stmt, struct err *err)
{
	bool alone = !db->in_transaction && !stmt->reads;
	struct answers answers;
	size_t first, wanted, at;
	bool sent;

	sent = send_queue(db) && (!alone || (send_control(db, BEGIN) && send_control(db, LOCK)));
	first = db->sent;
	sent = sent && send_stmt(db, stmt);
	wanted = db->sent - 1;
	sent = sent && (!alone || send_commit(db, false, &at));
	if (!sent) {
		fail_connection(db, err);
		return LOST;
	}
	if (take_answers(db, wanted, &answers, err) != 0)
		return LOST;
	db->queued = 0;
	db->touched = db->in_transaction;
	if (answers.failed == NO_COMMAND) {
		stmt->result = answers.result;
		return DONE;
	}
	PQclear(answers.result);
	err_copy(err, &answers.why);
	if (!db->in_transaction)
		end_at_server(db);
	else if (answers.failed < first)
		abandon(db, &answers.why);
	else
		db->failed = answers.why;
	return FAILED;
}

static void count_changes(struct pg_db *db, struct pg_stmt *stmt)
{
	if (!stmt->reads)
		db->changes = strtoll(PQcmdTuples(stmt->result), NULL, 10);
}

/* Checks that the statement can be sent, and connects if necessary. Returns 0 or -1. */
static int require_ready(struct pg_db *db, const struct pg_stmt *stmt, struct err *err)
{
	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (stmt->too_large)
		return err_set(err, ERR_TOO_LARGE, "%s: a value has more than %d bytes",
			db->base.path, VALUE_MAX);
	return require_connection(db, err);
}

static int execute(struct pg_db *db, struct pg_stmt *stmt, struct err *err)
{
	struct err why = ERR_INIT;
	bool inside = db->in_transaction;
	/* Nothing that was lost with the connection can have taken effect. */
	bool again = inside ? !db->touched : stmt->reads;
	enum outcome outcome;

	if (require_ready(db, stmt, err) != 0)
		return -1;
	outcome = try_stmt(db, stmt, &why);
	for (int tries = 1;
		outcome == FAILED && !inside && db->base.repeatable && tries < CONFLICT_TRIES;
		tries++) {
		why = ERR_INIT;
		outcome = try_stmt(db, stmt, &why);
	}
	if (outcome == LOST) {
		lose(db, &why);
		if (again && !db->late && require_connection(db, err) == 0) {
			why = ERR_INIT;
			outcome = try_stmt(db, stmt, &why);
			if (outcome == LOST)
				lose(db, &why);
		}
	}
	if (outcome == DONE) {
		count_changes(db, stmt);
		return 0;
	}
	return err_copy(err, &why);
}

static int step(struct db_stmt *base, struct err *err)
{
	struct pg_stmt *stmt = of_stmt(base);

	stmt->used = true;
	if (stmt->result == NULL) {
		if (execute(of_db(base->db), stmt, err) != 0) {
			reset(base);
			return -1;
		}
		stmt->row = -1;
	}
	forget_bytes(stmt);
	if (++stmt->row < PQntuples(stmt->result))
		return 1;
	reset(base);
	return 0;
}

static int64_t changes(const struct db *db)
{
	return of_db(db)->changes;
}

static const void *column_blob(struct db_stmt *base, int column, size_t *len_r)
{
	struct pg_stmt *stmt = of_stmt(base);
	const char *value = PQgetvalue(stmt->result, stmt->row, column);

	*len_r = 0;
	if (PQgetisnull(stmt->result, stmt->row, column))
		return NULL;
	if (PQftype(stmt->result, column) != TYPE_BYTEA) {
		*len_r = (size_t)PQgetlength(stmt->result, stmt->row, column);
		return value;
	}
	if (stmt->bytes == NULL)
		stmt->bytes = mem_alloc((size_t)PQnfields(stmt->result), sizeof(*stmt->bytes));
	PQfreemem(stmt->bytes[column]);
	stmt->bytes[column] = PQunescapeBytea((const unsigned char *)value, len_r);
	return stmt->bytes[column];
}

static const char *column_text(struct db_stmt *base, int column)
{
	struct pg_stmt *stmt = of_stmt(base);
	size_t len;

	if (PQgetisnull(stmt->result, stmt->row, column))
		return NULL;
	switch (PQftype(stmt->result, column)) {
	case TYPE_BYTEA:
		return column_blob(base, column, &len);
	case TYPE_BOOL:
		return *PQgetvalue(stmt->result, stmt->row, column) == 't' ? "1" : "0";
	default:
		return PQgetvalue(stmt->result, stmt->row, column);
	}
}

static int64_t column_int(struct db_stmt *base, int column)
{
	const char *text = column_text(base, column);

	return text ? strtoll(text, NULL, 10) : 0;
}

/* Sends the statement of a transaction without waiting for the answer. */
static int post(struct db_stmt *base, struct err *err)
{
	struct pg_db *db = of_db(base->db);
	struct pg_stmt *stmt = of_stmt(base);
	struct err why = ERR_INIT;

	if (!db->in_transaction)
		return step(base, err);
	if (require_ready(db, stmt, err) != 0 ||
		(db->sent >= POSTED_MAX && flush_pipeline(db, err) != 0)) {
		reset(base);
		return -1;
	}
	db->touched = true;
	if (!send_queue(db) || !send_stmt(db, stmt))
		fail_connection(db, &why);
	db->queued = 0;
	reset(base);
	if (why.code == ERR_NONE)
		return 0;
	lose(db, &why);
	return err_copy(err, &why);
}

/* Has the server tell the columns of a statement that has not run. */
static const PGresult *shape_of(struct db_stmt *base)
{
	struct pg_stmt *stmt = of_stmt(base);
	struct pg_db *db = of_db(base->db);
	struct answers answers;
	struct err why = ERR_INIT;
	char name[16];
	bool sent;

	if (stmt->result || stmt->shape)
		return stmt->result ? stmt->result : stmt->shape;
	if (db->failed.code != ERR_NONE || require_connection(db, NULL) != 0)
		return NULL;
	is_prepared(stmt, db);
	sent = send_queue(db) && send_prepare(db, stmt);
	name_of(stmt, name);
	sent = sent && PQsendDescribePrepared(db->conn, name) == 1;
	db->sent++;
	if (!sent || take_answers(db, db->sent - 1, &answers, &why) != 0) {
		if (!sent)
			fail_connection(db, &why);
		lose(db, &why);
		return NULL;
	}
	db->queued = 0;
	db->touched = db->in_transaction;
	stmt->shape = answers.result;
	if (answers.failed != NO_COMMAND && db->in_transaction)
		abandon(db, &answers.why);
	return stmt->shape;
}

static int columns(struct db_stmt *stmt)
{
	return PQnfields(shape_of(stmt));
}

static const char *column_name(struct db_stmt *stmt, int column)
{
	return PQfname(shape_of(stmt), column);
}

static int exec(struct db *base, const char *sql, struct err *err)
{
	struct pg_db *db = of_db(base);
	struct err why = ERR_INIT;
	bool lost;

	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (require_connection(db, err) != 0 || flush_pipeline(db, err) != 0)
		return -1;
	if (run_simple(db, sql, NULL, &lost, &why) == 0)
		return 0;
	if (lost)
		lose(db, &why);
	else if (db->in_transaction)
		db->failed = why;
	return err_copy(err, &why);
}

/* The whole database. */

static void set_wait(struct db *base, int wait_ms)
{
	struct pg_db *db = of_db(base);
	_cleanup_free_ char *sql = NULL;
	struct limits limits;

	db->wait_ms = wait_ms;
	limits = limits_of(db);
	sql = mem_printf(
		"SET lock_timeout = %lld; SET statement_timeout = %lld; "
		"SET idle_in_transaction_session_timeout = %lld",
		limits.lock_ms, limits.run_ms, limits.idle_ms);
	/* A server that is away learns it with the next connection. */
	if (db->conn)
		exec(base, sql, NULL);
}

static int set_cache(struct db *db, int kib, struct err *err)
{
	(void)db;
	(void)kib;
	(void)err;
	return 0;
}

/* Returns the name of the database for messages, without user and password. */
static char *display_name(const PQconninfoOption *options)
{
	const char *host = NULL, *dbname = NULL;

	for (; options->keyword; options++) {
		if (str_eq(options->keyword, "host"))
			host = options->val;
		if (str_eq(options->keyword, "dbname"))
			dbname = options->val;
	}
	return mem_printf("postgresql://%s/%s", host ? host : "", dbname ? dbname : "");
}

bool db_url_has_password(const char *url)
{
	PQconninfoOption *options = PQconninfoParse(url, NULL);
	bool has = false;

	for (size_t i = 0; options && options[i].keyword; i++)
		has |= (str_eq(options[i].keyword, "password") ||
			       str_eq(options[i].keyword, "sslpassword")) &&
		       !str_empty(options[i].val);
	PQconninfoFree(options);
	return has;
}

static int open_url(const char *name, enum db_mode mode, struct db **db_r, struct err *err)
{
	const char *mark = strrchr(name, '#'); /* before the name of this host */
	_cleanup_free_ char *url = mark ? mem_dup(name, (size_t)(mark - name)) : mem_strdup(name);
	struct pg_db *db;
	char *text = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &text);

	if (options == NULL) {
		err_set(err, ERR_CONFIG, "the URL of the database: %.*s",
			(int)strcspn(text ? text : "no memory", "\n"), text ? text : "no memory");
		PQfreemem(text);
		return -1;
	}
	db = mem_new(struct pg_db);
	db->base.engine = &db_postgresql;
	db->base.path = display_name(options);
	db->base.host = mem_strdup(mark ? mark + 1 : "");
	db->mode = mode;
	db->options = options;
	db->wait_ms = WAIT_MS;
	db->away = ERR_INIT;
	db->failed = ERR_INIT;
	for (const PQconninfoOption *o = options; o->keyword; o++) {
		if (o->val && str_eq(o->keyword, "host"))
			strv_split(&db->hosts, o->val, ',');
		if (o->val && str_eq(o->keyword, "hostaddr"))
			strv_split(&db->hostaddrs, o->val, ',');
		if (o->val && str_eq(o->keyword, "port"))
			strv_split(&db->ports, o->val, ',');
	}
	if (connect_anew(db, err) != 0) {
		db_close(&db->base);
		return -1;
	}
	*db_r = &db->base;
	return 0;
}

static void close_connection(struct db *base)
{
	struct pg_db *db = of_db(base);

	disconnect(db);
	PQconninfoFree(db->options);
	strv_free(&db->hosts);
	strv_free(&db->hostaddrs);
	strv_free(&db->ports);
	free(db->unsure);
	free((char *)db->base.path);
	free((char *)db->base.host);
	free(db);
}

/* Each connection is looked at when it is made. */
static int same(const char *name, struct db_identity *identity, struct err *err)
{
	(void)name;
	(void)identity;
	(void)err;
	return 0;
}

static void make_room(struct db *db)
{
	(void)db;
}

/* The server overwrites by itself what was removed. */
static int empty_log(struct db *db, struct err *err)
{
	(void)db;
	(void)err;
	return 1;
}

/* A commit changes what a snapshot sees, and so its text. */
static int version(struct db *db, int64_t *version_r, struct err *err)
{
	static const char sql_version[] = "SELECT pg_current_snapshot()::text";
	uint64_t hash = 14695981039346656037u;
	struct db_stmt *stmt;

	if (db_start(db, sql_version, NULL, &stmt, err) != 0 || db_step(stmt, err) != 1)
		return -1;
	for (const char *at = db_text(stmt, 0); *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	db_reset(stmt);
	*version_r = (int64_t)hash;
	return 0;
}

static int backup(struct db *db, const char *path, struct err *err)
{
	(void)path;
	return err_set(err, ERR_CONFIG,
		"%s: PostgreSQL makes its backups itself: pg_dump -Fc, or pg_basebackup for the whole "
		"server",
		db->path);
}

static int check(struct db *db, struct err *err)
{
	static const char sql_faults[] =
		"SELECT 'the index ' || indexrelid::regclass || ' is not valid: REINDEX it'"
		" FROM pg_index WHERE NOT indisvalid"
		" UNION ALL SELECT 'the constraint ' || conname || ' of ' || conrelid::regclass ||"
		" ' is not validated' FROM pg_constraint WHERE NOT convalidated";
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql_faults, NULL, &stmt, err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	err_set(err, ERR_CONFIG, "%s: %s", db->path, db_text(stmt, 0));
	db_reset(stmt);
	return -1;
}

static int has_table(struct db *db, const char *name, struct err *err)
{
	static const char sql_table[] =
		"SELECT 1 FROM pg_tables WHERE schemaname = current_schema()"
		" AND ($name IS NULL OR tablename = $name) LIMIT 1";
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql_table, DB_PARAMS(DB_TEXT("$name", name)), &stmt, err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result == 1)
		db_reset(stmt);
	return result;
}

static int64_t steps(const struct db *db)
{
	(void)db;
	return 0;
}

const struct db_engine db_postgresql = {
	.dialect = DB_POSTGRESQL,
	.open = open_url,
	.free = close_connection,
	.same = same,
	.set_wait = set_wait,
	.set_cache = set_cache,
	.exec = exec,
	.prepare = prepare,
	.finalize = finalize,
	.param_index = param_index,
	.param_name = param_name,
	.bind = bind_param,
	.step = step,
	.post = post,
	.reset = reset,
	.changes = changes,
	.text = column_text,
	.integer = column_int,
	.blob = column_blob,
	.columns = columns,
	.column_name = column_name,
	.control = control,
	.in_transaction = in_transaction,
	.make_room = make_room,
	.empty_log = empty_log,
	.version = version,
	.backup = backup,
	.check = check,
	.has_table = has_table,
	.steps = steps,
};
