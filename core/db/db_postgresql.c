/*
 * db_postgresql: PostgreSQL as an engine behind db.h: the handle, and what concerns the database as
 * a whole. pg_private.h names the other files of the engine.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

enum { WAIT_MS = 10000 };

static int exec(struct db *base, const char *sql, struct err *err)
{
	struct pg_db *db = pg_db_of(base);
	struct err why = ERR_INIT;
	bool lost;

	assert(db->n_ahead == 0 || db->ahead_answered);
	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (pg_connect_if_needed(db, err) != 0 || pg_transaction_flush(db, err) != 0)
		return -1;
	if (pg_wire_run(db, sql, NULL, &lost, &why) == 0)
		return 0;
	if (lost)
		pg_transaction_lose(db, &why);
	else if (db->in_transaction)
		db->failed = why;
	return err_copy(err, &why);
}

static void set_wait(struct db *base, int wait_ms)
{
	struct pg_db *db = pg_db_of(base);
	_cleanup_free_ char *sql = NULL;
	struct pg_limits limits;

	db->wait_ms = wait_ms;
	limits = pg_connect_limits(db);
	sql = mem_printf(
		"SET lock_timeout = %lld; SET statement_timeout = %lld; "
		"SET idle_in_transaction_session_timeout = %lld",
		limits.lock_ms, limits.run_ms, limits.idle_ms);
	/* A connection that is made later gets the limits when it starts. */
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
	PQconninfoOption *options;
	bool has = false;

	if (pg_library_load(NULL) != 0)
		return true; /* for all that is known */
	options = pq.conninfoParse(url, NULL);
	for (size_t i = 0; options && options[i].keyword; i++)
		has |= (str_eq(options[i].keyword, "password") ||
			       str_eq(options[i].keyword, "sslpassword")) &&
		       !str_empty(options[i].val);
	pq.conninfoFree(options);
	return has;
}

static int open_url(const char *name, enum db_mode mode, struct db **db_r, struct err *err)
{
	const char *mark = strrchr(name, '#'); /* before the name of this host */
	_cleanup_free_ char *url = mark ? mem_dup(name, (size_t)(mark - name)) : mem_strdup(name);
	struct pg_db *db;
	PQconninfoOption *options;
	char *text = NULL;

	if (pg_library_load(err) != 0)
		return -1;
	options = pq.conninfoParse(url, &text);
	if (options == NULL) {
		err_set(err, ERR_CONFIG, "the URL of the database: %.*s",
			(int)strcspn(text ? text : "no memory", "\n"), text ? text : "no memory");
		pq.freemem(text);
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
	if (pg_connect(db, err) != 0) {
		db_close(&db->base);
		return -1;
	}
	*db_r = &db->base;
	return 0;
}

static void close_connection(struct db *base)
{
	struct pg_db *db = pg_db_of(base);

	pg_wire_close(db);
	pg_stmt_drop_ahead(db);
	pq.conninfoFree(db->options);
	strv_free(&db->hosts);
	strv_free(&db->hostaddrs);
	strv_free(&db->ports);
	free(db->unsure);
	free(db->ahead);
	free((char *)db->base.path);
	free((char *)db->base.host);
	free(db);
}

static bool in_transaction(const struct db *db)
{
	return pg_db_of(db)->in_transaction;
}

static int64_t changes(const struct db *db)
{
	return pg_db_of(db)->changes;
}

/* Each new connection is checked: check_identity(). */
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

/* The server recycles its WAL by itself. */
static int empty_log(struct db *db, struct err *err)
{
	(void)db;
	(void)err;
	return 1;
}

/* Each commit changes what a snapshot sees, and so its text. */
static int version(struct db *db, int64_t *version_r, struct err *err)
{
	static const char sql_version[] = "SELECT pg_current_snapshot()::text";
	uint64_t hash = 14695981039346656037u;
	struct db_stmt *stmt;

	if (db_first(db, sql_version, NULL, &stmt, err) != 1)
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
	int result = db_first(db, sql_faults, NULL, &stmt, err);

	if (result != 1)
		return result;
	err_set(err, ERR_CONFIG, "%s: %s", db->path, db_text(stmt, 0));
	db_reset(stmt);
	return -1;
}

/* Of a chain of sessions that wait for each other, its end. */
static int blocker(struct db *db, char **who_r, struct err *err)
{
	static const char sql_blocker[] =
		"SELECT coalesce(nullif(application_name, ''), usename) || ' (process ' || pid"
		" || ' of the server, ' || coalesce(state, 'of another user') || '; SELECT"
		" pg_terminate_backend(' || pid || ') ends it)'"
		" FROM pg_stat_activity"
		" WHERE pid IN (SELECT unnest(pg_blocking_pids(pid)) FROM pg_stat_activity"
		"   WHERE datname = current_database() AND wait_event_type = 'Lock')"
		" AND cardinality(pg_blocking_pids(pid)) = 0"
		" AND coalesce(xact_start < clock_timestamp() - interval '3 seconds', true)"
		" ORDER BY xact_start LIMIT 1";
	struct db_stmt *stmt;
	int result = db_first(db, sql_blocker, NULL, &stmt, err);

	if (result == 1) {
		*who_r = db_copy(stmt, 0);
		db_reset(stmt);
	}
	return result;
}

static int has_table(struct db *db, const char *name, struct err *err)
{
	static const char sql_table[] =
		"SELECT 1 FROM pg_tables WHERE schemaname = current_schema()"
		" AND ($name IS NULL OR tablename = $name) LIMIT 1";
	struct db_stmt *stmt;
	int result = db_first(db, sql_table, DB_PARAMS(DB_TEXT("$name", name)), &stmt, err);

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
	.prepare = pg_stmt_prepare,
	.finalize = pg_stmt_finalize,
	.param_index = pg_stmt_param_index,
	.param_name = pg_stmt_param_name,
	.bind = pg_stmt_bind,
	.step = pg_stmt_step,
	.post = pg_stmt_post,
	.read_ahead = pg_stmt_read_ahead,
	.end_ahead = pg_stmt_end_ahead,
	.set_ahead_only = pg_stmt_set_ahead_only,
	.ahead_send = pg_stmt_ahead_send,
	.ahead_receive = pg_stmt_ahead_receive,
	.ahead_socket = pg_stmt_ahead_socket,
	.post_rows = pg_rows_post,
	.reset = pg_stmt_reset,
	.changes = changes,
	.text = pg_stmt_text,
	.integer = pg_stmt_integer,
	.blob = pg_stmt_blob,
	.columns = pg_stmt_columns,
	.column_name = pg_stmt_column_name,
	.control = pg_transaction_control,
	.in_transaction = in_transaction,
	.make_room = make_room,
	.empty_log = empty_log,
	.version = version,
	.backup = backup,
	.check = check,
	.blocker = blocker,
	.has_table = has_table,
	.steps = steps,
};
