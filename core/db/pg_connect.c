/*
 * pg_connect: connections to one of the hosts of the URL, tried in turn, with pauses that grow from
 * PAUSE_MIN_US to PAUSE_MAX_US after failures.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

enum {
	CONNECT_MS = 2000, /* for each host, unless the URL has a connect_timeout */
	PAUSE_MIN_US = 50000,
	PAUSE_MAX_US = 2000000,
	VERSION_MIN = 150000,
};

/* Waits until the connection is made. Returns 0 or -1. */
static int poll_connection(struct pg_db *db, struct err *err)
{
	int64_t wait_ms = CONNECT_MS, deadline_us;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (db->conn == NULL)
		return err_set(err, ERR_TEMPORARY, "%s: no memory for a connection", db->base.path);
	/* libpq leaves connect_timeout (seconds) to callers that connect without blocking. */
	for (const PQconninfoOption *o = db->options; o->keyword; o++)
		if (str_eq(o->keyword, "connect_timeout") && o->val && atoi(o->val) > 0)
			wait_ms = atoi(o->val) * INT64_C(1000);
	deadline_us = clock_monotonic_us() + wait_ms * 1000;
	while (pq.status(db->conn) != CONNECTION_BAD) {
		if (status == PGRES_POLLING_OK)
			return 0;
		if (status == PGRES_POLLING_FAILED)
			break;
		if (pg_wire_wait(db, status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
			    deadline_us) <= 0)
			return err_set(err, ERR_TEMPORARY, "%s: no connection within %lld ms",
				db->base.path, (long long)wait_ms);
		status = pq.connectPoll(db->conn);
	}
	return pg_wire_error(db, err);
}

static const char *item(const struct strv *list, size_t i)
{
	/* A single port counts for all hosts. */
	return list->n == 0   ? NULL
	       : list->n == 1 ? list->items[0]
	       : i < list->n  ? list->items[i]
			      : NULL;
}

struct pg_limits pg_connect_limits(const struct pg_db *db)
{
	struct pg_limits limits = {.lock_ms = db->wait_ms > 0 ? db->wait_ms : 1};

	if (db->mode != DB_CREATE)
		limits.run_ms = limits.idle_ms = db->wait_ms + pg_wire_grace_ms(db);
	return limits;
}

/* Begins to connect to one host. libpq would try all hosts itself, but without a timeout for each.
 */
static void begin_connection(struct pg_db *db)
{
	enum { MORE = 12 };
	struct pg_limits limits = pg_connect_limits(db);
	const char *names[64 + MORE], *values[64 + MORE];
	_cleanup_free_ char *session = NULL;
	const char *options = "", *target = "primary";
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
	/* A plan is kept until the tables are analyzed again, about a minute. One that was made
	 * while a table had few rows would read all of it for each email, however many there are by
	 * then. The options in the admin's URL come last, and so win. */
	session = mem_printf(
		"-c jit=off -c default_transaction_isolation=read\\ committed"
		" -c lock_timeout=%lld -c statement_timeout=%lld"
		" -c idle_in_transaction_session_timeout=%lld%s %s",
		limits.lock_ms, limits.run_ms, limits.idle_ms,
		db->mode == DB_READ    ? " -c default_transaction_read_only=on"
		: db->mode == DB_WRITE ? " -c enable_seqscan=off"
				       : "",
		options);
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
	db->conn = pq.connectStartParams(names, values, 0);
}

static void ignore_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* Checks version and encoding. Returns 0 or -1. */
static int check_server(struct pg_db *db, struct err *err)
{
	const char *encoding = pq.parameterStatus(db->conn, "server_encoding");

	if (pq.serverVersion(db->conn) < VERSION_MIN)
		return err_set(err, ERR_CONFIG,
			"%s: PostgreSQL %d is too old: 15 or a newer one is needed", db->base.path,
			pq.serverVersion(db->conn) / 10000);
	if (!str_eq(encoding ? encoding : "", "UTF8"))
		return err_set(err, ERR_CONFIG,
			"%s: the database has the encoding %s: make it with `createdb -E UTF8 -T "
			"template0`",
			db->base.path, encoding ? encoding : "unknown");
	return 0;
}

/* Checks that this is the database of the first connection. The time of the first migration
 * identifies a database, and is the same in its copies and standbys; a database without tables has
 * none yet. Returns 0 or -1. */
static int check_identity(struct pg_db *db, struct err *err)
{
	static const char sql_identity[] =
		"SELECT applied_us FROM schema_migration WHERE version = 1";
	struct err why = ERR_INIT;
	int64_t identity = 0;
	bool lost;

	if (db->mode == DB_CREATE)
		return 0;
	if (pg_wire_run(db, sql_identity, &identity, &lost, &why) != 0 &&
		(lost || why.code != ERR_CONFIG))
		return err_copy(err, &why);
	if (db->identity == 0)
		db->identity = identity;
	if (db->identity == identity)
		return 0;
	return err_set(err, ERR_TEMPORARY,
		"%s: this is another database than before; restart what uses it", db->base.path);
}

static int connect_to_host(struct pg_db *db, struct err *err)
{
	begin_connection(db);
	if (poll_connection(db, err) != 0)
		return -1;
	pq.setnonblocking(db->conn, 1);
	pq.setNoticeProcessor(db->conn, ignore_notice, NULL);
	pq.enterPipelineMode(db->conn);
	if (check_server(db, err) != 0 || check_identity(db, err) != 0)
		return -1;
	return pg_wire_prepare_controls(db, err);
}

int pg_connect(struct pg_db *db, struct err *err)
{
	size_t hosts = db->hosts.n > db->hostaddrs.n ? db->hosts.n : db->hostaddrs.n;
	int64_t now_us;

	if (clock_monotonic_us() < db->retry_us)
		return err_copy(err, &db->away);
	for (size_t tried = 0; tried < (hosts ? hosts : 1); tried++) {
		if (connect_to_host(db, &db->away) == 0) {
			db->age++;
			db->pause_us = 0;
			return 0;
		}
		pg_wire_close(db);
		db->turn = hosts ? (db->turn + 1) % hosts : 0;
	}
	/* Backoff with jitter: each pause is up to twice the last, and differs between handles. */
	now_us = clock_monotonic_us();
	db->pause_us = db->pause_us == 0 ? PAUSE_MIN_US : db->pause_us * 2;
	if (db->pause_us > PAUSE_MAX_US)
		db->pause_us = PAUSE_MAX_US;
	db->retry_us = now_us + db->pause_us / 2 +
		       (now_us ^ (intptr_t)db >> 4) % (db->pause_us / 2 + 1);
	return err_copy(err, &db->away);
}

int pg_connect_if_needed(struct pg_db *db, struct err *err)
{
	/* Until the server knows of the transaction, another connection will do. */
	if (db->conn && !db->touched && !pg_wire_is_alive(db))
		pg_wire_close(db);
	return db->conn ? 0 : pg_connect(db, err);
}
