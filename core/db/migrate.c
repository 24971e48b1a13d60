/*
 * migrate: brings a database to the schema of this program.
 *
 * The table schema_migration has one row for each applied migration. Invariant: its versions are 1
 * to n without gaps, because all missing migrations are applied in order, in one transaction.
 */
#include "core/db/migrate.h"

#include "core/base/str.h"
#include "core/db/db_private.h"

/* The state of a database relative to a list of migrations. */
struct status {
	int version;
	bool strange;  /* it has tables that are not ours */
	char *foreign; /* the first migration that has another name in the list */
};

/* The caller frees status->foreign. */
static int read_schema_status(
	struct db *db, const struct migrate_list *list, struct status *status, struct err *err)
{
	static const char sql_applied[] =
		"SELECT version, name FROM schema_migration ORDER BY version";
	struct db_stmt *stmt;
	int result = db_has_table(db, "schema_migration", err);

	*status = (struct status){0};
	if (result == 0) {
		result = db_has_table(db, NULL, err);
		status->strange = result == 1;
		return result < 0 ? -1 : 0;
	}
	if (result < 0)
		return -1;
	if (db_start(db, sql_applied, NULL, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		int version = (int)db_int(stmt, 0);

		status->version = version;
		if (status->foreign == NULL && version >= 1 && version <= list->n &&
			!str_eq(db_text(stmt, 1), list->items[version - 1].name))
			status->foreign = db_copy(stmt, 1);
	}
	return result;
}

/* Reads the version, from 0 on, of a database of ours, which may be newer. */
static int own_version(
	struct db *db, const struct migrate_list *list, int *version_r, struct err *err)
{
	struct status status;
	int result = read_schema_status(db, list, &status, err);

	if (result == 0 && status.strange)
		result = err_set(err, ERR_CONFIG,
			"the database has tables of another program: is it Postern's database?");
	else if (result == 0 && status.foreign != NULL)
		result = err_set(err, ERR_CONFIG,
			"the database has the migration %s, which is not one of this program's: is "
			"it Postern's database?",
			status.foreign);
	free(status.foreign);
	if (result == 0)
		*version_r = status.version;
	return result;
}

/* Returns the version, from 0 to that of the list; -1 for any other database. */
static int known_version(struct db *db, const struct migrate_list *list, struct err *err)
{
	int version;

	if (own_version(db, list, &version, err) < 0)
		return -1;
	if (version <= list->n)
		return version;
	return err_set(err, ERR_CONFIG,
		"the database has schema version %d, which is newer than version %d of this "
		"program: install the newer Postern, or restore a backup (`postern db restore`)",
		version, list->n);
}

struct migrate_job {
	const struct migrate_list *list;
	int64_t now_us;
	int applied;
};

/* Reports nothing for a new database: it has no rows. */
static void report_progress(const struct migrate_job *job, const char *name, int before)
{
	if (job->list->progress && before > 0)
		job->list->progress(name, (size_t)job->applied, (size_t)(job->list->n - before));
}

static int apply_missing(struct db *db, void *arg, struct err *err)
{
	static const char sql_table[] =
		"CREATE TABLE IF NOT EXISTS schema_migration ("
		"	version INTEGER NOT NULL PRIMARY KEY,"
		"	name TEXT NOT NULL,"
		"	applied_us BIGINT NOT NULL)";
	static const char sql_note[] =
		"INSERT INTO schema_migration (version, name, applied_us)"
		" VALUES ($version, $name, $applied)";
	struct migrate_job *job = arg;
	int version = known_version(db, job->list, err), before = version;

	if (version < 0 || db_exec(db, sql_table, err) != 0)
		return -1;
	for (; version < job->list->n; version++) {
		const struct migration *next = &job->list->items[version];
		const char *sql = db->engine->dialect == DB_POSTGRESQL ? next->postgresql
								       : next->sql;

		report_progress(job, next->name, before);
		if (sql && db_exec(db, sql, err) != 0)
			return err_prefix(err, "migration %s", next->name);
		if (db_execute(db, sql_note,
			    DB_PARAMS(DB_INT("$version", next->version),
				    DB_TEXT("$name", next->name), DB_INT("$applied", job->now_us)),
			    err) != 0)
			return -1;
		job->applied++;
	}
	if (job->applied > 0)
		report_progress(job, NULL, before);
	return 0;
}

int migrate_run_list(struct db *db, const struct migrate_list *list, int64_t now_us, int *applied_r,
	struct err *err)
{
	struct migrate_job job = {.list = list, .now_us = now_us};

	if (db_atomic(db, apply_missing, &job, err) != 0)
		return -1;
	*applied_r = job.applied;
	return 0;
}

int migrate_check_list(struct db *db, const struct migrate_list *list, struct err *err)
{
	int version = known_version(db, list, err);

	if (version < 0)
		return -1;
	if (version == 0)
		return err_set(err, ERR_CONFIG,
			"the database has no schema yet: run `postern db migrate`");
	if (version < list->n)
		return err_set(err, ERR_CONFIG,
			"the database has schema version %d, this program needs version %d: run "
			"`postern db migrate`",
			version, list->n);
	return 0;
}

int migrate_version(struct db *db, int *version_r, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, NULL};

	return own_version(db, &list, version_r, err);
}

int migrate_check_version(struct db *db, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, NULL};

	return migrate_check_list(db, &list, err);
}

int migrate_check(struct db *db, struct err *err)
{
	int unfinished;

	if (migrate_check_version(db, err) < 0)
		return -1;
	unfinished = db_has_table(db, "store_copy", err);
	if (unfinished <= 0)
		return unfinished;
	return err_set(err, ERR_CONFIG,
		"the database has a part of a copy that was interrupted: run `postern db copy` again");
}

int migrate_check_name(const char *name, struct err *err)
{
	_cleanup_(db) struct db *db = NULL;

	if (db_open(name, DB_READ, &db, err) < 0)
		return -1;
	return migrate_check(db, err);
}
