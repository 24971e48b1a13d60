/*
 * db_sqlite: SQLite as an engine behind db.h; nothing else includes sqlite3.h.
 *
 * The database is in WAL mode: readers and the one writer do not wait for each other. If root
 * creates the -wal and -shm files, SQLite gives them the owner and mode of the database, so the
 * daemons can use what a command of root has left.
 *
 * With synchronous=FULL a commit would hold the write lock while it waits for the disk, and other
 * daemons would wait as well. So this file uses NORMAL, and syncs the WAL after the lock is free.
 * In between, another connection may checkpoint the WAL into the database and restart it: SQLite
 * syncs both before it does so.
 *
 * Others can read what is committed only while the WAL and its index (-shm) have their names. If
 * somebody removes them, programs that have the database open go on with the nameless files, and
 * whoever opens it makes new ones, after which the old WAL is lost. So whatever writes looks at
 * both first, and what others have open without a WAL is not opened. A transaction looks again when
 * it has the lock; a statement that writes alone does not, so one that waits for the lock just then
 * may be lost.
 *
 * No mmap: with it, an I/O error would arrive as a signal instead of an error.
 *
 * Threads: a handle is used by one thread at a time; SQLite is configured for that and takes no
 * locks of its own.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/db/db_file.h"
#include "core/db/db_private.h"

/* Reads the number in the only column of the first row. Returns 0 or -1. */
static int read_number(struct db *db, const char *sql, int64_t *number_r, struct err *err)
{
	struct db_stmt *stmt;
	int result = db_first(db, sql, NULL, &stmt, err);

	if (result < 0)
		return -1;
	assert(result == 1);
	*number_r = db_int(stmt, 0);
	db_reset(stmt);
	return 0;
}

static int has_table(struct db *db, const char *name, struct err *err)
{
	static const char sql_table[] =
		"SELECT 1 FROM sqlite_schema WHERE type = 'table'"
		" AND CASE WHEN $name IS NULL THEN name NOT LIKE 'sqlite\\_%'"
		" ESCAPE '\\' ELSE name = $name END";
	struct db_stmt *stmt;
	int result = db_first(db, sql_table, DB_PARAMS(DB_TEXT("$name", name)), &stmt, err);

	if (result == 1)
		db_reset(stmt);
	return result;
}

static int data_version(struct db *db, int64_t *version_r, struct err *err)
{
	static const char sql_version[] = "PRAGMA data_version";

	return read_number(db, sql_version, version_r, err);
}

static int check_all(struct db *db, struct err *err)
{
	static const char sql_pages[] = "PRAGMA integrity_check(1)";
	static const char sql_references[] = "PRAGMA foreign_key_check";
	struct db_stmt *stmt;
	int result = 0;

	if (db_first(db, sql_pages, NULL, &stmt, err) < 0)
		return -1;
	if (!str_eq(db_text(stmt, 0), "ok"))
		result = err_set(err, ERR_CONFIG, "%s: %s", db->path, db_text(stmt, 0));
	db_reset(stmt);
	if (result == 0)
		result = db_first(db, sql_references, NULL, &stmt, err);
	if (result != 1)
		return result;
	err_set(err, ERR_CONFIG,
		"%s: a row of the table %s refers to a row of the table %s that does not exist",
		db->path, db_text(stmt, 0), db_text(stmt, 2));
	db_reset(stmt);
	return -1;
}

enum {
	WAIT_MS = 10000,
	OPEN_WAIT_US = 2000000, /* for a WAL, while another program opens or closes */
	ROOM_WAIT_US = 100000,  /* to wait for space that others hold */
	POLL_MIN_US = 200,      /* between attempts to get a lock */
	POLL_SPREAD_US = 300,
	LOG_PAGES = 4000, /* in the WAL before a checkpoint */
	LOG_PAGES_MIN = 50,
	PAGE_BYTES = 4096,
	WRITE_LOCK = 120,     /* in the index of the WAL (SQLite's WAL-mode File Format, 2.3.1) */
	LOGS_PER_VOLUME = 16, /* so many logs of that size would fill the file system */
};

/* A file beside the database. */
struct beside {
	char *path;
	struct db_identity identity; /* of the file that the handle has open */
};

struct sqlite_db {
	struct db base;
	struct beside beside[2]; /* of a handle that writes: the WAL and its index */
	sqlite3 *handle;
	int64_t wait_us;
	int64_t deadline_us; /* end of the present wait */
	bool full;           /* a statement found the disk full */
	bool must_empty_log; /* a sync of the WAL has failed */
};

struct sqlite_stmt {
	struct db_stmt base;
	sqlite3_stmt *handle;
	struct strv names; /* names of the parameters, because SQLite searches them linearly */
	int bind_error;    /* reported by the next step */
	bool used;         /* since the last reset */
};

static const char pragmas_all[] =
	"PRAGMA foreign_keys=ON;"
	"PRAGMA temp_store=MEMORY;"
	"PRAGMA trusted_schema=OFF;"
	"PRAGMA cell_size_check=ON;";
static const char pragmas_read[] =
	"PRAGMA query_only=ON;"
	"PRAGMA cache_size=-4096;";
static const char pragmas_write[] =
	"PRAGMA synchronous=NORMAL;"
	"PRAGMA secure_delete=ON;"
	"PRAGMA journal_size_limit=67108864;"
	"PRAGMA cache_size=-16384;";

static struct sqlite_db *of_db(const struct db *db)
{
	return (struct sqlite_db *)db;
}

static struct sqlite_stmt *of_stmt(struct db_stmt *stmt)
{
	return (struct sqlite_stmt *)stmt;
}

/* Maps a result code; extended codes are looked up before primary ones. */
static enum err_code meaning(int rc)
{
	switch (rc) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_ROWID:
		return ERR_EXISTS;
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return ERR_NOT_FOUND;
	}
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_NOMEM:
		return ERR_TEMPORARY;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return ERR_CONFIG;
	case SQLITE_TOOBIG:
		return ERR_TOO_LARGE;
	default:
		return ERR_INTERNAL;
	}
}

/* Fills err with SQLite's message for rc, the last result on the handle. */
static int fail_sqlite(struct sqlite_db *db, int rc, struct err *err)
{
	enum err_code code = meaning(rc);
	int cause = sqlite3_system_errno(db->handle);
	char text[128];

	if ((rc & 0xff) == SQLITE_FULL || cause == ENOSPC || cause == EDQUOT)
		db->full = true;
	/* A write on a read handle is a bug of ours, not a missing permission. */
	if (rc == SQLITE_READONLY && !sqlite3_db_readonly(db->handle, "main"))
		code = ERR_INTERNAL;
	if (cause != 0 && (rc & 0xff) != SQLITE_BUSY && code == ERR_TEMPORARY)
		return err_set(err, code, "%s: %s: %s", db->base.path, sqlite3_errmsg(db->handle),
			strerror_r(cause, text, sizeof(text)));
	return err_set(err, code, "%s: %s%s", db->base.path, sqlite3_errmsg(db->handle),
		(rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB
			? "; `postern db check` looks at all of it, `postern db "
			  "restore FILE` puts a backup in its place"
			: "");
}

/* SQLite's own busy handler sleeps up to 100 ms at a time; the other writer needs only a few. */
static int on_busy(void *arg, int count)
{
	struct sqlite_db *db = arg;
	int64_t now_us = clock_monotonic_us();
	struct timespec pause = {0};

	if (count == 0)
		db->deadline_us = now_us + db->wait_us;
	if (now_us >= db->deadline_us)
		return 0;
	pause.tv_nsec = (POLL_MIN_US + (int)(now_us % POLL_SPREAD_US)) * 1000L;
	nanosleep(&pause, NULL);
	return 1;
}

static void set_wait(struct db *db, int wait_ms)
{
	of_db(db)->wait_us = (int64_t)wait_ms * 1000;
}

static bool in_transaction(const struct db *db)
{
	return sqlite3_get_autocommit(of_db(db)->handle) == 0;
}

/* The checkpoint holds the write lock while it waits for readers, so it must not wait long. */
static int empty_log(struct sqlite_db *db)
{
	int64_t wait_us = db->wait_us;
	int rc;

	assert(!in_transaction(&db->base));
	db->wait_us = ROOM_WAIT_US;
	rc = sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	db->wait_us = wait_us;
	return rc;
}

/* Syncs the WAL, for which SQL has no statement. Statements outside of transactions do this
 * themselves.
 *
 * After a failed sync, the kernel marks the pages that it could not write as clean, and the next
 * sync succeeds without them. So the WAL is emptied then: a checkpoint copies it into the database,
 * and syncs that. */
static int sync_log(struct db *base, struct err *err)
{
	struct sqlite_db *db = of_db(base);
	int64_t began_us = clock_monotonic_us();
	sqlite3_file *log = NULL;
	int rc;

	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (log == NULL || log->pMethods == NULL)
		return 0;
	rc = db->must_empty_log ? empty_log(db) : log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
	base->counts.syncs++;
	base->counts.sync_us += clock_monotonic_us() - began_us;
	base->unsynced = db->must_empty_log = rc != SQLITE_OK;
	if (rc == SQLITE_OK)
		return 0;
	return err_set(err, ERR_TEMPORARY, "%s: cannot sync the write-ahead log: %m", base->path);
}

/* Until a checkpoint empties the WAL, pages are on the disk twice. Checkpoints follow commits,
 * which a full disk may prevent. */
static void make_room(struct db *base)
{
	struct sqlite_db *db = of_db(base);

	if (!db->full)
		return;
	db->full = false;
	empty_log(db);
}

/* First checkpoints what is possible without the write lock. */
static int empty_whole_log(struct db *base, struct err *err)
{
	struct sqlite_db *db = of_db(base);
	int rc = sqlite3_wal_checkpoint_v2(
		db->handle, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = empty_log(db);
	if ((rc & 0xff) == SQLITE_BUSY)
		return 0;
	return rc == SQLITE_OK ? 1 : fail_sqlite(db, rc, err);
}

/* Remembers the files that the handle has just opened, which lie beside the file that a symbolic
 * link leads to. */
static void note_beside(struct sqlite_db *db)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	const char *path = sqlite3_db_filename(db->handle, "main");

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		db->beside[i].path = mem_printf("%s%s", path, suffixes[i]);
		db_file_same(db->beside[i].path, &db->beside[i].identity, NULL);
	}
}

/* Returns 1 if the database is open without a WAL with a name, here or in another process: that
 * connection has a shared lock on the database, so nobody else gets an exclusive one. 0 if not; -1
 * on error. */
static int is_open_without_log(struct sqlite_db *db, const char *log, struct err *err)
{
	sqlite3_file *file = NULL;
	int rc;

	if (access(log, F_OK) == 0 || errno != ENOENT)
		return 0;
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	rc = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
	if (rc == SQLITE_OK)
		rc = file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE);
	file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
	if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
		return rc != SQLITE_OK;
	return fail_sqlite(db, rc, err);
}

/* Before a new handle reads, for which SQLite would make a new WAL. A program that opens the
 * database has the lock before there is a WAL, and one that closes it removes the WAL before it
 * gives up the lock. So this waits. */
static int check_unopened(struct sqlite_db *db, struct err *err)
{
	_cleanup_free_ char *log = mem_printf("%s-wal", sqlite3_db_filename(db->handle, "main"));
	int64_t wait_us = db->wait_us;
	int result, count = 0;

	db->wait_us = OPEN_WAIT_US;
	do
		result = is_open_without_log(db, log, err);
	while (result == 1 && on_busy(db, count++));
	db->wait_us = wait_us;
	if (result == 1)
		err_set(err, ERR_TEMPORARY,
			"%s: this file of the database was removed while the database was in use; "
			"what it contained would be lost. Stop or restart what uses the database",
			log);
	return result == 0 ? 0 : -1;
}

/* Has SQLite make a WAL with a name, when all of the one without is in the database. */
static void make_log(const struct sqlite_db *db)
{
	sqlite3 *handle;

	if (sqlite3_open_v2(db->base.path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) == SQLITE_OK)
		sqlite3_exec(handle, "PRAGMA schema_version", NULL, NULL, NULL);
	sqlite3_close(handle);
}

/* Checks that the files beside the database are still those of the handle. If one is missing, no
 * other program uses the database by new ones yet: then all that was committed is copied into the
 * database, where whoever opens it next finds it. */
static int check_beside(struct sqlite_db *db, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(db->beside); i++) {
		struct beside *file = &db->beside[i];

		if (file->path == NULL || db_file_same(file->path, &file->identity, NULL) == 0)
			continue;
		if (access(file->path, F_OK) != 0 && !in_transaction(&db->base) &&
			empty_log(db) == SQLITE_OK)
			make_log(db);
		return err_set(err, ERR_TEMPORARY,
			"%s: this file of the database was replaced or removed while the database "
			"was in use; restart what uses it",
			file->path);
	}
	return 0;
}

static int run_all(struct sqlite_db *db, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fail_sqlite(db, rc, err);
}

static int set_cache(struct db *base, int kib, struct err *err)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA cache_size=-%d", kib);
	return run_all(of_db(base), sql, err);
}

/* Migrations may change a CHECK in the text of the schema, as SQLite's documentation describes it
 * (ALTER TABLE, 7). Other statements may not. */
static int exec(struct db *base, const char *sql, struct err *err)
{
	sqlite3 *handle = of_db(base)->handle;
	int result;

	if (!in_transaction(base) && check_beside(of_db(base), err) != 0)
		return -1;
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	result = run_all(of_db(base), sql, err);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (result != 0)
		return -1;
	return in_transaction(base) ? 0 : sync_log(base, err);
}

/* Enables WAL mode, which is persistent; ERR_CONFIG if the file system does not support it. If two
 * processes enable it in a new database at once, SQLite returns busy to one of them without any
 * wait, so this waits. */
static int enter_wal(struct sqlite_db *db, struct err *err)
{
	static const char sql_wal[] = "PRAGMA journal_mode=WAL";
	struct db_stmt *stmt;
	int count = 0, result = 0;

	while (db_first(&db->base, sql_wal, NULL, &stmt, err) < 0)
		if ((sqlite3_errcode(db->handle) & 0xff) != SQLITE_BUSY || !on_busy(db, count++))
			return -1;
	if (!str_eq(db_text(stmt, 0), "wal"))
		result = err_set(err, ERR_CONFIG,
			"%s: no write-ahead log is possible here: not on a local file system?",
			db->base.path);
	db_reset(stmt);
	return result;
}

/* On a small disk the usual limit would never be reached before it is full. */
static int log_pages(const char *path)
{
	int64_t pages = db_file_volume(path) / LOGS_PER_VOLUME / PAGE_BYTES;

	if (pages > LOG_PAGES)
		return LOG_PAGES;
	return pages > LOG_PAGES_MIN ? (int)pages : LOG_PAGES_MIN;
}

/* The SQL function folded(): str_folded() of a text. */
static void fold(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	_cleanup_free_ char *folded = text ? str_folded(text) : NULL;

	(void)n;
	if (folded)
		sqlite3_result_text(context, folded, -1, SQLITE_TRANSIENT);
}

static int configure(struct sqlite_db *db, enum db_mode mode, struct err *err)
{
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_handler(db->handle, on_busy, db);
	sqlite3_create_function_v2(db->handle, "folded", 1,
		SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, fold, NULL, NULL,
		NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);

	/* SQLite opens a file only when it first reads it; the version is in its header. */
	if (check_unopened(db, err) != 0 || run_all(db, "PRAGMA schema_version", err) != 0 ||
		run_all(db, pragmas_all, err) != 0)
		return -1;
	if (mode == DB_READ)
		return run_all(db, pragmas_read, err);
	if (enter_wal(db, err) != 0)
		return -1;
	sqlite3_wal_autocheckpoint(db->handle, log_pages(db->base.path));
	return run_all(db, pragmas_write, err);
}

/* Before the first handle, for the whole process. Otherwise SQLite counts every allocation under
 * one lock, for which all threads wait. */
static void stop_memory_statistics(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int open_file(const char *path, enum db_mode mode, struct db **db_r, struct err *err)
{
	/* Even a reader writes: its read mark in the -shm file. */
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sqlite_db *db;
	int rc, result;

	if (mode == DB_CREATE ? db_file_create(path, err) : db_file_require(path, err))
		return -1;
	pthread_once(&once, stop_memory_statistics);
	db = mem_new(struct sqlite_db);
	db->base.engine = &db_sqlite;
	db->base.path = mem_strdup(path);
	set_wait(&db->base, WAIT_MS);
	rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
	result = rc == SQLITE_OK ? configure(db, mode, err) : fail_sqlite(db, rc, err);
	if (result != 0) {
		db_close(&db->base);
		return -1;
	}
	if (mode != DB_READ)
		note_beside(db);
	*db_r = &db->base;
	return 0;
}

static void close_file(struct db *base)
{
	struct sqlite_db *db = of_db(base);
	int rc = sqlite3_close(db->handle);

	assert(rc == SQLITE_OK);
	(void)rc;
	for (size_t i = 0; i < ARRAY_SIZE(db->beside); i++)
		free(db->beside[i].path);
	free((char *)db->base.path);
	free(db);
}

static int64_t changes(const struct db *db)
{
	return sqlite3_changes64(of_db(db)->handle);
}

static int prepare(struct db *base, const char *sql, struct db_stmt **stmt_r, struct err *err)
{
	struct sqlite_db *db = of_db(base);
	struct sqlite_stmt *stmt = mem_new(struct sqlite_stmt);
	size_t len = strlen(sql), returning = strlen(DB_RETURNING_SEQ);
	const char *tail;
	int rc;

	/* For RETURNING, SQLite copies each page that the statement changes, for an email about
	 * ten, so that it could undo the statement alone. It knows the number without. */
	if (len > returning && str_eq(sql + len - returning, DB_RETURNING_SEQ))
		len -= returning;
	rc = sqlite3_prepare_v3(
		db->handle, sql, (int)len, SQLITE_PREPARE_PERSISTENT, &stmt->handle, &tail);
	if (rc != SQLITE_OK) {
		free(stmt);
		fail_sqlite(db, rc, err);
		/* Our statements are correct, so the tables are wrong. */
		if (rc == SQLITE_ERROR && err != NULL)
			err->code = ERR_CONFIG;
		return -1;
	}
	assert(stmt->handle != NULL && tail == sql + len);
	for (int i = 1; i <= sqlite3_bind_parameter_count(stmt->handle); i++)
		strv_add(&stmt->names, sqlite3_bind_parameter_name(stmt->handle, i));
	*stmt_r = &stmt->base;
	return 0;
}

static int64_t steps(const struct db *base)
{
	const struct sqlite_db *db = (const struct sqlite_db *)base;
	sqlite3_stmt *stmt = NULL;
	int64_t steps = 0;

	while ((stmt = sqlite3_next_stmt(db->handle, stmt)) != NULL)
		steps += sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
	return steps;
}

static void finalize(struct db_stmt *base)
{
	strv_free(&of_stmt(base)->names);
	sqlite3_finalize(of_stmt(base)->handle);
	free(base);
}

static int param_index(struct db_stmt *stmt, const char *name)
{
	return sqlite3_bind_parameter_index(of_stmt(stmt)->handle, name);
}

static const char *param_name(struct db_stmt *stmt, int index)
{
	const struct strv *names = &of_stmt(stmt)->names;

	return (size_t)index <= names->n ? names->items[index - 1] : NULL;
}

static void bind_param(struct db_stmt *base, int index, const struct db_param *value)
{
	struct sqlite_stmt *stmt = of_stmt(base);
	int rc = SQLITE_OK;

	stmt->used = true;
	switch (value->kind) {
	case DB_PARAM_TEXT:
	case DB_PARAM_GIVEN_TEXT:
		rc = sqlite3_bind_text64(stmt->handle, index, value->text,
			value->text ? strlen(value->text) : 0, SQLITE_STATIC, SQLITE_UTF8);
		break;
	case DB_PARAM_INT:
		rc = sqlite3_bind_int64(stmt->handle, index, value->number);
		break;
	case DB_PARAM_BLOB:
		rc = sqlite3_bind_blob64(
			stmt->handle, index, value->data, value->len, SQLITE_STATIC);
		break;
	}
	assert(rc != SQLITE_MISUSE && rc != SQLITE_RANGE);
	if (rc != SQLITE_OK)
		stmt->bind_error = rc;
}

static void reset(struct db_stmt *base)
{
	struct sqlite_stmt *stmt = of_stmt(base);

	if (!stmt->used)
		return;
	stmt->used = false;
	sqlite3_reset(stmt->handle);
	sqlite3_clear_bindings(stmt->handle);
	stmt->bind_error = SQLITE_OK;
}

/* True if the statement writes as a transaction of its own, or begins one that writes. SQLite does
 * not count COMMIT among these. */
static bool writes_alone(const struct sqlite_stmt *stmt)
{
	return !sqlite3_stmt_readonly(stmt->handle) && !in_transaction(stmt->base.db);
}

static int step(struct db_stmt *base, struct err *err)
{
	struct sqlite_stmt *stmt = of_stmt(base);
	int rc = stmt->bind_error, result = 0;

	if (!sqlite3_stmt_busy(stmt->handle) && writes_alone(stmt) &&
		check_beside(of_db(base->db), err) != 0) {
		reset(base);
		return -1;
	}
	stmt->used = true;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt->handle);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		result = fail_sqlite(of_db(base->db), rc, err);
	reset(base);
	if (rc == SQLITE_DONE && writes_alone(stmt))
		result = sync_log(base->db, err);
	return result;
}

static int64_t inserted(const struct db *db)
{
	return changes(db) > 0 ? sqlite3_last_insert_rowid(of_db(db)->handle) : 0;
}

static const char *column_text(struct db_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(of_stmt(stmt)->handle, column);
}

static int64_t column_int(struct db_stmt *stmt, int column)
{
	return sqlite3_column_int64(of_stmt(stmt)->handle, column);
}

static const void *column_blob(struct db_stmt *stmt, int column, size_t *len_r)
{
	const void *data = sqlite3_column_blob(of_stmt(stmt)->handle, column);

	*len_r = (size_t)sqlite3_column_bytes(of_stmt(stmt)->handle, column);
	return data;
}

static int columns(struct db_stmt *stmt)
{
	return sqlite3_column_count(of_stmt(stmt)->handle);
}

static const char *column_name(struct db_stmt *stmt, int column)
{
	return sqlite3_column_name(of_stmt(stmt)->handle, column);
}

static int control(struct db *db, enum db_control what, struct err *err)
{
	static const char sql_begin[] = "BEGIN IMMEDIATE";
	static const char sql_commit[] = "COMMIT";
	static const char sql_rollback[] = "ROLLBACK";
	static const char sql_savepoint[] = "SAVEPOINT job";
	static const char sql_release[] = "RELEASE SAVEPOINT job";
	static const char sql_undo[] = "ROLLBACK TO SAVEPOINT job";
	static const char *const texts[] = {
		[DB_BEGIN] = sql_begin,
		[DB_COMMIT] = sql_commit,
		[DB_COMMIT_LAZY] = sql_commit,
		[DB_ROLLBACK] = sql_rollback,
		[DB_SAVEPOINT] = sql_savepoint,
		[DB_RELEASE] = sql_release,
		[DB_UNDO] = sql_undo,
	};

	if (db_run_sql(db, texts[what], err) != 0)
		return -1;
	/* Again under the lock, without which nobody makes a new WAL: this may have waited. */
	if (what == DB_BEGIN && check_beside(of_db(db), err) != 0) {
		db_run_sql(db, sql_rollback, NULL);
		return -1;
	}
	if (what == DB_UNDO)
		return db_run_sql(db, sql_release, err);
	return what == DB_COMMIT ? sync_log(db, err) : 0;
}

/* Copies all pages in one step: a snapshot, for which nobody waits in WAL mode. */
static int copy_pages(const struct sqlite_db *from, struct sqlite_db *to, struct err *err)
{
	sqlite3_backup *copy = sqlite3_backup_init(to->handle, "main", from->handle, "main");

	if (copy != NULL) {
		sqlite3_backup_step(copy, -1);
		sqlite3_backup_finish(copy);
	}
	if (sqlite3_errcode(to->handle) != SQLITE_OK)
		return fail_sqlite(to, sqlite3_extended_errcode(to->handle), err);
	return 0;
}

static int back_up(struct db *base, const char *path, struct err *err)
{
	static const char sql_size[] =
		"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
	struct sqlite_db to = {.base.path = path};
	int64_t bytes;
	int rc, result;

	if (read_number(base, sql_size, &bytes, err) < 0 || db_file_create_copy(path, err) != 0)
		return -1;
	result = db_file_require_room(path, bytes, err);
	if (result == 0) {
		rc = sqlite3_open_v2(
			path, &to.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
		result = rc == SQLITE_OK ? copy_pages(of_db(base), &to, err)
					 : fail_sqlite(&to, rc, err);
		sqlite3_close(to.handle);
	}
	if (result == 0)
		result = db_file_sync_folder(path, err);
	if (result != 0)
		unlink(path);
	return result;
}

/* In WAL mode a connection holds a shared lock on the lock bytes of the database (SQLite
 * documentation: File Format, "The Lock-Byte Page") until it closes. */
int db_is_open_elsewhere(const char *path, int *pid_r, struct err *err)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = 0x40000000,
		.l_len = 512,
	};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(err, ERR_CONFIG, "cannot open %s: %m", path);
	result = fcntl(fd, F_GETLK, &lock);
	close(fd);
	if (result < 0)
		return err_set(err, ERR_TEMPORARY, "%s: cannot tell who has it open: %m", path);
	if (lock.l_type == F_UNLCK)
		return 0;
	*pid_r = lock.l_pid > 0 ? lock.l_pid : 0;
	return 1;
}

/* Returns the process that has the write lock, which is a byte of the WAL's index; 0 if none has.
 * The system is asked without opening the index: closing it again would give up our own locks. */
static int writing_process(const struct sqlite_db *db)
{
	_cleanup_free_ char *index = mem_printf("%s-shm", sqlite3_db_filename(db->handle, "main"));
	_cleanup_free_ char *line = NULL;
	FILE *locks = fopen("/proc/locks", "re");
	struct stat info;
	size_t size = 0;
	int writer = 0;

	if (stat(index, &info) < 0)
		info.st_ino = 0;
	while (locks && writer == 0 && getline(&line, &size, locks) >= 0) {
		unsigned long long inode, first, last;
		int pid;

		/* Some file systems have another device there than stat(2) tells. */
		if (sscanf(line, "%*s POSIX %*s WRITE %d %*x:%*x:%llu %llu %llu", &pid, &inode,
			    &first, &last) == 4 &&
			inode == info.st_ino && first <= WRITE_LOCK && last >= WRITE_LOCK)
			writer = pid;
	}
	if (locks)
		fclose(locks);
	return writer;
}

/* Of a writer that makes progress the WAL grows, or another one has its turn. */
static int blocker(struct db *base, char **who_r, struct err *err)
{
	enum { LOOKS = 30 };
	static const struct timespec pause = {.tv_nsec = 100000000};
	struct sqlite_db *db = of_db(base);
	_cleanup_free_ char *log = mem_printf("%s-wal", sqlite3_db_filename(db->handle, "main"));
	struct stat before = {0}, now = {0};
	int writer = writing_process(db);

	(void)err;
	stat(log, &before);
	for (int i = 0; writer && i < LOOKS; i++) {
		nanosleep(&pause, NULL);
		if (writing_process(db) != writer || stat(log, &now) < 0 ||
			now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
			now.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
			writer = 0;
	}
	if (writer)
		*who_r = db_file_user(writer);
	return writer != 0;
}

const struct db_engine db_sqlite = {
	.dialect = DB_SQLITE,
	.open = open_file,
	.free = close_file,
	.same = db_file_same,
	.set_wait = set_wait,
	.set_cache = set_cache,
	.exec = exec,
	.prepare = prepare,
	.finalize = finalize,
	.param_index = param_index,
	.param_name = param_name,
	.bind = bind_param,
	.step = step,
	.inserted = inserted,
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
	.empty_log = empty_whole_log,
	.version = data_version,
	.backup = back_up,
	.check = check_all,
	.blocker = blocker,
	.has_table = has_table,
	.steps = steps,
};
