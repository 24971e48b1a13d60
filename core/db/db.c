/*
 * db: what all SQL engines share: the statements that a handle keeps prepared,
 * and transactions.
 *
 * Invariant: a statement lives as long as its handle and stands in one bucket.
 */
#include "core/db/db.h"

#include <assert.h>
#include <string.h>

#include "core/db/db_private.h"

static const char sql_commit[] = "COMMIT";
static const char sql_rollback[] = "ROLLBACK";
static const char sql_savepoint[] = "SAVEPOINT job";
static const char sql_release[] = "RELEASE SAVEPOINT job";
static const char sql_undo[] = "ROLLBACK TO SAVEPOINT job";

static void free_statements(struct db *db)
{
	for (size_t i = 0; i < DB_STMT_BUCKETS; i++)
		while (db->stmts[i] != NULL) {
			struct db_stmt *stmt = db->stmts[i];

			db->stmts[i] = stmt->next;
			free(stmt->note);
			db_finalize(stmt);
		}
}

void db_close(struct db *db)
{
	if (db == NULL)
		return;
	free_statements(db);
	db_free(db);
}

void db_set_actor(struct db *db, const struct db_actor *actor)
{
	db->actor = actor;
}

const struct db_actor *db_actor(const struct db *db)
{
	return db->actor;
}

static struct db_stmt **bucket_of(struct db *db, const char *sql)
{
	/* Texts lie some words apart: the lowest bits tell little. */
	return &db->stmts[((uintptr_t)sql >> 5) % DB_STMT_BUCKETS];
}

/* The statement, reset and with nothing bound. */
static int prepare(struct db *db, const char *sql, struct db_stmt **stmt_r, struct err *err)
{
	struct db_stmt **bucket = bucket_of(db, sql), *stmt = *bucket;

	while (stmt != NULL && stmt->sql != sql)
		stmt = stmt->next;
	if (stmt != NULL) {
		db_reset(stmt);
	} else {
		if (db_prepare(db, sql, &stmt, err) != 0)
			return -1;
		stmt->db = db;
		stmt->sql = sql;
		stmt->next = *bucket;
		*bucket = stmt;
	}
	*stmt_r = stmt;
	return 0;
}

/* Most are given in the order in which the statement names them. */
static int find_param(struct db_stmt *stmt, const char *name, int guess)
{
	const char *there = db_param_name(stmt, guess);

	return there && strcmp(there, name) == 0 ? guess : db_param_index(stmt, name);
}

int db_start(struct db *db, const char *sql, const struct db_param *params, struct db_stmt **stmt_r,
	struct err *err)
{
	int index = 0;

	if (prepare(db, sql, stmt_r, err) != 0)
		return -1;
	for (; params && params->name; params++) {
		if (params->kind == DB_PARAM_GIVEN_TEXT && params->text == NULL)
			continue;
		index = find_param(*stmt_r, params->name, index + 1);
		assert(index > 0);
		db_bind(*stmt_r, index, params);
	}
	return 0;
}

void *db_stmt_note(const struct db_stmt *stmt)
{
	return stmt->note;
}

void db_stmt_set_note(struct db_stmt *stmt, void *note)
{
	free(stmt->note);
	stmt->note = note;
}

int db_change(struct db *db, const char *sql, const struct db_param *params, struct err *err)
{
	struct db_stmt *stmt;

	if (db_start(db, sql, params, &stmt, err) != 0 || db_run(stmt, err) != 0)
		return -1;
	return (int)db_changes(db);
}

int db_run(struct db_stmt *stmt, struct err *err)
{
	int result = db_step(stmt, err);

	assert(result != 1);
	return result;
}

const struct db_counts *db_counts(const struct db *db)
{
	return &db->counts;
}

char *db_copy(struct db_stmt *stmt, int column)
{
	return mem_strdup(db_text(stmt, column));
}

/* Runs a statement of this file, kept prepared like any other. */
static int run_sql(struct db *db, const char *sql, struct err *err)
{
	struct db_stmt *stmt;

	if (prepare(db, sql, &stmt, err) != 0)
		return -1;
	return db_step(stmt, err);
}

int db_begin(struct db *db, struct err *err)
{
	assert(!db_in_transaction(db));
	return run_sql(db, db_sql_begin, err);
}

int db_commit_lazy(struct db *db, struct err *err)
{
	if (run_sql(db, sql_commit, err) == 0) {
		db->counts.commits++;
		return 0;
	}
	db_rollback(db);
	return -1;
}

int db_commit(struct db *db, struct err *err)
{
	if (db_commit_lazy(db, err) != 0)
		return -1;
	return db_sync(db, err);
}

void db_rollback(struct db *db)
{
	/* It fails only when the engine has rolled back by itself. */
	if (db_in_transaction(db))
		run_sql(db, sql_rollback, NULL);
	assert(!db_in_transaction(db));
}

int db_atomic(struct db *db, int (*job)(struct db *db, void *arg, struct err *err), void *arg,
	struct err *err)
{
	int result;

	if (db_in_transaction(db))
		return job(db, arg, err);
	if (db_begin(db, err) != 0)
		return -1;
	result = job(db, arg, err);
	if (result < 0)
		db_rollback(db);
	else if (db_commit(db, err) != 0)
		result = -1;
	return result;
}

int db_savepoint(struct db *db, struct err *err)
{
	return run_sql(db, sql_savepoint, err);
}

int db_release(struct db *db, struct err *err)
{
	return run_sql(db, sql_release, err);
}

void db_undo(struct db *db)
{
	if (!db_in_transaction(db))
		return;
	if (run_sql(db, sql_undo, NULL) != 0 || run_sql(db, sql_release, NULL) != 0)
		db_rollback(db);
}
