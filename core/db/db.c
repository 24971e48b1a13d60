/*
 * db: the part that all SQL engines share: the prepared statements of a handle, and transactions;
 * it passes everything else to the engine.
 *
 * Invariant: a statement lives as long as its handle.
 */
#include "core/db/db.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/db/db_private.h"

static void free_statements(struct db *db)
{
	struct db_stmt *stmt;
	size_t at = 0;

	while ((stmt = hash_table_next(&db->stmts, &at)) != NULL) {
		free(stmt->note);
		db->engine->finalize(stmt);
	}
	hash_table_clear(&db->stmts);
}

void db_close(struct db *db)
{
	if (db == NULL)
		return;
	free_statements(db);
	db->engine->free(db);
}

bool db_is_url(const char *name)
{
	return str_starts(name, "postgresql://") || str_starts(name, "postgres://");
}

static const struct db_engine *engine_of(const char *name)
{
	return db_is_url(name) ? &db_postgresql : &db_sqlite;
}

int db_open(const char *name, enum db_mode mode, struct db **db_r, struct err *err)
{
	return engine_of(name)->open(name, mode, db_r, err);
}

int db_same(const char *name, struct db_identity *identity, struct err *err)
{
	return engine_of(name)->same(name, identity, err);
}

void db_set_actor(struct db *db, const struct db_actor *actor)
{
	db->actor = actor;
}

const struct db_actor *db_actor(const struct db *db)
{
	return db->actor;
}

const char *db_host(const struct db *db)
{
	return db->host ? db->host : "";
}

static bool has_text(const void *stmt, const void *sql)
{
	return ((const struct db_stmt *)stmt)->sql == sql;
}

/* Returns the statement, reset and with nothing bound. */
static int prepare(struct db *db, const char *sql, struct db_stmt **stmt_r, struct err *err)
{
	struct db_stmt *stmt = hash_table_find(&db->stmts, (uintptr_t)sql, has_text, sql);

	if (stmt != NULL) {
		db_reset(stmt);
	} else {
		if (db->engine->prepare(db, sql, &stmt, err) != 0)
			return -1;
		stmt->db = db;
		stmt->sql = sql;
		hash_table_add(&db->stmts, (uintptr_t)sql, stmt);
		stmt->host_index = db_param_index(stmt, "$this_host");
	}
	*stmt_r = stmt;
	return 0;
}

/* Parameters mostly come in the order of the statement. */
static int find_param(struct db_stmt *stmt, const char *name, int guess)
{
	const char *there = stmt->db->engine->param_name(stmt, guess);

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
	if ((*stmt_r)->host_index > 0)
		db_bind(*stmt_r, (*stmt_r)->host_index, DB_PARAMS(DB_TEXT("", db_host(db))));
	return 0;
}

int db_first(struct db *db, const char *sql, const struct db_param *params, struct db_stmt **stmt_r,
	struct err *err)
{
	return db_start(db, sql, params, stmt_r, err) == 0 ? db_step(*stmt_r, err) : -1;
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

int db_execute(struct db *db, const char *sql, const struct db_param *params, struct err *err)
{
	struct db_stmt *stmt;

	return db_start(db, sql, params, &stmt, err) != 0 ? -1 : db_run(stmt, err);
}

int db_run(struct db_stmt *stmt, struct err *err)
{
	int result = db_step(stmt, err);

	assert(result != 1);
	return result;
}

int db_insert(struct db_stmt *stmt, int64_t *number_r, struct err *err)
{
	const struct db *db = stmt->db;
	int64_t number = 0;
	int result = db_step(stmt, err);

	if (result == 1) {
		number = db_int(stmt, 0);
		db_reset(stmt);
	} else if (result == 0 && db->engine->inserted) {
		number = db->engine->inserted(db);
		result = number != 0;
	}
	if (result == 0)
		return err_set(err, ERR_INTERNAL, "%s: no row was inserted", db->path);
	if (result < 0)
		return -1;
	*number_r = number;
	return 0;
}

const struct db_counts *db_counts(const struct db *db)
{
	return &db->counts;
}

char *db_copy(struct db_stmt *stmt, int column)
{
	return mem_strdup(db_text(stmt, column));
}

int db_run_sql(struct db *db, const char *sql, struct err *err)
{
	struct db_stmt *stmt;

	if (prepare(db, sql, &stmt, err) != 0)
		return -1;
	return db_step(stmt, err);
}

int db_begin(struct db *db, struct err *err)
{
	assert(!db_in_transaction(db));
	return db->engine->control(db, DB_BEGIN, err);
}

static int commit(struct db *db, enum db_control control, struct err *err)
{
	int result;

	db->unsynced = false;
	result = db->engine->control(db, control, err);
	if (result == 0)
		db->counts.commits++;
	else
		db_rollback(db);
	return result;
}

int db_commit_lazy(struct db *db, struct err *err)
{
	return commit(db, DB_COMMIT_LAZY, err);
}

int db_commit(struct db *db, struct err *err)
{
	return commit(db, DB_COMMIT, err);
}

bool db_unsynced(const struct db *db)
{
	return db->unsynced;
}

bool db_repeatable(const struct db *db)
{
	return db->repeatable;
}

void db_rollback(struct db *db)
{
	/* A rollback fails only if the engine has rolled back already. */
	if (db_in_transaction(db) || db->lost)
		db->engine->control(db, DB_ROLLBACK, NULL);
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
	return db->engine->control(db, DB_SAVEPOINT, err);
}

int db_release(struct db *db, struct err *err)
{
	return db->engine->control(db, DB_RELEASE, err);
}

void db_undo(struct db *db)
{
	if (db_in_transaction(db) && db->engine->control(db, DB_UNDO, NULL) != 0)
		db_rollback(db);
}

bool db_in_transaction(const struct db *db)
{
	return db->engine->in_transaction(db);
}

void db_set_wait(struct db *db, int wait_ms)
{
	db->engine->set_wait(db, wait_ms);
}

int db_set_cache(struct db *db, int kib, struct err *err)
{
	return db->engine->set_cache(db, kib, err);
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
	return db->engine->exec(db, sql, err);
}

int db_param_index(struct db_stmt *stmt, const char *name)
{
	return stmt->db->engine->param_index(stmt, name);
}

void db_bind(struct db_stmt *stmt, int index, const struct db_param *value)
{
	stmt->db->engine->bind(stmt, index, value);
}

int db_step(struct db_stmt *stmt, struct err *err)
{
	return stmt->db->engine->step(stmt, err);
}

int db_post_stmt(struct db_stmt *stmt, struct err *err)
{
	const struct db_engine *engine = stmt->db->engine;

	return engine->post ? engine->post(stmt, err) : db_run(stmt, err);
}

int db_post(struct db *db, const char *sql, const struct db_param *params, struct err *err)
{
	struct db_stmt *stmt;

	return db_start(db, sql, params, &stmt, err) == 0 ? db_post_stmt(stmt, err) : -1;
}

void db_read_ahead(struct db *db, const char *sql, const struct db_param *params)
{
	struct db_stmt *stmt;

	/* What fails here fails again when the statement is started. */
	if (db->engine->read_ahead && db_start(db, sql, params, &stmt, NULL) == 0)
		db->engine->read_ahead(stmt);
}

void db_end_ahead(struct db *db)
{
	if (db->engine->end_ahead)
		db->engine->end_ahead(db);
}

void db_set_ahead_only(struct db *db)
{
	db->engine->set_ahead_only(db);
}

int db_ahead_send(struct db *db, struct err *err)
{
	return db->engine->ahead_send(db, err);
}

int db_ahead_receive(struct db *db, struct err *err)
{
	return db->engine->ahead_receive(db, err);
}

int db_ahead_socket(const struct db *db)
{
	return db->engine->ahead_socket(db);
}

void db_rows_add(struct db_rows *rows, const struct db_param *params)
{
	size_t width;

	for (size_t n = 0; rows->n == 0 && params[n].name; n++)
		rows->params = n + 1;
	width = rows->params + 1;
	rows->items = mem_append(rows->items, rows->n, width * sizeof(*rows->items));
	memcpy(rows->items + rows->n++ * width, params, width * sizeof(*rows->items));
}

int db_post_rows(struct db *db, const char *sql, const struct db_rows *rows, struct err *err)
{
	struct db_stmt *stmt;

	if (rows->n > 1 && db->engine->post_rows)
		return prepare(db, sql, &stmt, err) == 0 ? db->engine->post_rows(stmt, rows, err)
							 : -1;
	for (size_t i = 0; i < rows->n; i++)
		if (db_post(db, sql, rows->items + i * (rows->params + 1), err) != 0)
			return -1;
	return 0;
}

int64_t db_changes(const struct db *db)
{
	return db->engine->changes(db);
}

void db_reset(struct db_stmt *stmt)
{
	stmt->db->engine->reset(stmt);
}

const char *db_text(struct db_stmt *stmt, int column)
{
	return stmt->db->engine->text(stmt, column);
}

int64_t db_int(struct db_stmt *stmt, int column)
{
	return stmt->db->engine->integer(stmt, column);
}

const void *db_blob(struct db_stmt *stmt, int column, size_t *len_r)
{
	return stmt->db->engine->blob(stmt, column, len_r);
}

int db_columns(struct db_stmt *stmt)
{
	return stmt->db->engine->columns(stmt);
}

const char *db_column_name(struct db_stmt *stmt, int column)
{
	return stmt->db->engine->column_name(stmt, column);
}

void db_make_room(struct db *db)
{
	db->engine->make_room(db);
}

int db_empty_log(struct db *db, struct err *err)
{
	return db->engine->empty_log(db, err);
}

int db_version(struct db *db, int64_t *version_r, struct err *err)
{
	return db->engine->version(db, version_r, err);
}

int db_backup(struct db *db, const char *path, struct err *err)
{
	return db->engine->backup(db, path, err);
}

int db_check(struct db *db, struct err *err)
{
	return db->engine->check(db, err);
}

int db_blocker(struct db *db, char **who_r, struct err *err)
{
	return db->engine->blocker(db, who_r, err);
}

int64_t db_steps(const struct db *db)
{
	return db->engine->steps(db);
}

int db_has_table(struct db *db, const char *name, struct err *err)
{
	return db->engine->has_table(db, name, err);
}
