/*
 * cmd_db: the database as a whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/db/db_copy.h"
#include "core/db/migrate.h"
#include "core/db/restore.h"
#include "core/store/email/store_message.h"

enum { BACKUP_FOLDER_MODE = 0700 };

enum { DATABASE, VERSION, APPLIED, BACKUP };

static const struct column migrate_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[VERSION] = {"version", "VERSION", .type = COLUMN_INT},
	[APPLIED] = {"applied", "APPLIED", .type = COLUMN_INT},
	[BACKUP] = {"backup", "BACKUP", .type = COLUMN_TEXT},
	{0},
};

static const struct column rehearse_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[VERSION] = {"version", "VERSION", .type = COLUMN_INT},
	{0},
};

enum { OK = DATABASE + 1 };

static const struct column check_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[OK] = {"ok", "OK", .type = COLUMN_FLAG},
	{0},
};

enum { RESTORED_FROM = VERSION + 1, KEPT };

static const struct column restore_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[VERSION] = {"version", "VERSION", .type = COLUMN_INT},
	[RESTORED_FROM] = {"backup", "BACKUP", .type = COLUMN_TEXT},
	[KEPT] = {"kept", "KEPT", .type = COLUMN_TEXT},
	{0},
};

enum { TABLES = DATABASE + 1, ROWS, WRITTEN, MENDED, MISSING, SECONDS, FINISHED };

static const struct column copy_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[TABLES] = {"tables", "TABLES", .type = COLUMN_INT},
	[ROWS] = {"rows", "ROWS", .type = COLUMN_INT},
	[WRITTEN] = {"written", "WRITTEN", .type = COLUMN_INT},
	[MENDED] = {"mended", "MENDED", .type = COLUMN_INT},
	[MISSING] = {"missing_files", "MISSING", .type = COLUMN_INT},
	[SECONDS] = {"seconds", "SECONDS", .type = COLUMN_INT},
	[FINISHED] = {"finished", "FINISHED", .type = COLUMN_FLAG},
	{0},
};

enum { COPY = DATABASE + 1 };

static const struct column backup_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[COPY] = {"backup", "BACKUP", .type = COLUMN_TEXT},
	{0},
};

/* Returns the name for reports: that of a server without user and password. */
static const char *store_name(const struct conf *conf)
{
	return str_empty(conf->store.url) ? conf->store.database : "PostgreSQL";
}

static void add_store_row(struct report *report, const struct call *call)
{
	report_add_row(report);
	report_text(report, DATABASE, store_name(call->conf));
}

/* Refuses to create an empty database in place of a missing one: it would contain no keys and
 * protect no domain. */
static int refuse_in_place_of_another(
	struct arguments *arguments, const struct conf *conf, struct err *err)
{
	const char *path = conf->store.database;
	_cleanup_free_ char *trace = NULL;

	if (!str_empty(conf->store.url) || arguments->values[OPTION_NEW] ||
		access(path, F_OK) == 0 || errno != ENOENT)
		return 0;
	trace = db_file_trace(path);
	return trace ? db_file_require(path, err) : 0;
}

/* Prints the name of a migration before it runs, and its duration after, because one of many rows
 * takes minutes. Uses standard error, so that --json stays valid. */
static void show_migration(const char *name, size_t done, size_t all)
{
	static int64_t began_us;
	int64_t now_us = clock_monotonic_us();

	if (done > 0)
		fprintf(stderr, "%zu of %zu: done in %.1f s\n", done, all,
			(double)(now_us - began_us) / 1e6);
	if (name)
		fprintf(stderr, "%zu of %zu: %s\n", done + 1, all, name);
	began_us = now_us;
}

static int run_migrate(const struct call *call, struct report *report, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, show_migration};
	bool wanted = !call_option(call, OPTION_NO_BACKUP) && str_empty(call->conf->store.url);
	const char *name = store_name(call->conf);
	const char *database = call->conf->store.database;
	_cleanup_free_ char *backup = NULL;
	char stamp[CLOCK_TEXT_SIZE];
	int version, applied;

	if (migrate_version(call->db, &version, err) < 0)
		return -1;
	if (wanted && version > 0 && version < migrations_n) {
		_cleanup_(db) struct db *before = NULL;

		clock_stamp(call->now_us, stamp);
		backup = mem_printf("%s.v%d-%s", database, version, stamp);
		/* The open transaction keeps others from writing meanwhile; this handle sees the
		 * state before it. */
		if (db_open(database, DB_READ, &before, err) < 0 ||
			db_backup(before, backup, err) < 0)
			return err_prefix(err,
				"nothing was migrated, for want of a backup (make one elsewhere by "
				"`postern db backup FILE`, then `postern db migrate --no-backup`)");
	}
	if (migrate_run_list(call->db, &list, call->now_us, &applied, err) < 0) {
		if (backup)
			unlink(backup); /* nothing was changed */
		return -1;
	}
	version += applied;
	add_store_row(report, call);
	report_number(report, VERSION, version);
	report_number(report, APPLIED, applied);
	report_text(report, BACKUP, backup);
	if (applied == 0)
		report_note(report, "%s: is at schema version %d already", name, version);
	else if (applied == version)
		report_note(report, "%s: created, with schema version %d", name, version);
	else if (backup)
		report_note(report,
			"%s: migrated to schema version %d; the backup with version %d is %s", name,
			version, version - applied, backup);
	else
		report_note(report, "%s: migrated to schema version %d", name, version);
	return 0;
}

/* Copies the database with its newest changes, at version *version_r; *copy_r is NULL if the
 * database is missing or has this program's version. */
static int copy_older(const struct call *call, char **copy_r, int *version_r, struct err *err)
{
	const char *database = call->conf->store.database;
	_cleanup_(db) struct db *db = NULL;
	_cleanup_free_ char *path = NULL;
	char stamp[CLOCK_TEXT_SIZE];

	if (access(database, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (db_open(database, DB_READ, &db, err) < 0 || migrate_version(db, version_r, err) < 0)
		return -1;
	if (*version_r == migrations_n)
		return 0;
	clock_stamp(call->now_us, stamp);
	path = mem_printf("%s.rehearsal-%s", database, stamp);
	if (db_backup(db, path, err) < 0)
		return -1;
	*copy_r = TAKE_PTR(path);
	return 0;
}

static int migrate_copy(const char *path, int64_t now_us, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, show_migration};
	_cleanup_(db) struct db *db = NULL;
	int applied;

	if (db_open(path, DB_WRITE, &db, err) < 0 || db_begin(db, err) < 0)
		return -1;
	fputs("Migrating a copy of the database, to see whether it works:\n", stderr);
	if (migrate_run_list(db, &list, now_us, &applied, err) == 0 && db_commit(db, err) == 0)
		return 0;
	db_rollback(db);
	return -1;
}

/* On a server there is no copy to try it on; but a migration that fails there changes nothing. */
static int look_at_server(const struct call *call, struct report *report, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, NULL};
	_cleanup_(db) struct db *db = NULL;
	int version;

	if (db_open(conf_store(call->conf), DB_READ, &db, err) < 0 ||
		migrate_version(db, &version, err) < 0)
		return -1;
	if (version > list.n)
		return migrate_check_list(db, &list, err);
	add_store_row(report, call);
	report_number(report, VERSION, version);
	report_note(report, "%s: is at schema version %d of %d; nothing was tried",
		store_name(call->conf), version, list.n);
	return 0;
}

static int run_rehearse(const struct call *call, struct report *report, struct err *err)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	_cleanup_free_ char *copy = NULL;
	int version = 0, result;

	if (!str_empty(call->conf->store.url))
		return look_at_server(call, report, err);
	if (copy_older(call, &copy, &version, err) < 0)
		return -1;
	report_add_row(report);
	report_text(report, DATABASE, store_name(call->conf));
	report_number(report, VERSION, version);
	if (copy == NULL) {
		report_note(report, "%s: nothing is to be migrated", call->conf->store.database);
		return 0;
	}
	result = migrate_copy(copy, call->now_us, err);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_free_ char *file = mem_printf("%s%s", copy, ends[i]);

		unlink(file);
	}
	if (result < 0)
		return err_prefix(err, "of a copy of the database; the database is as it was");
	report_note(report, "%s: the migration from version %d to %d works on a copy",
		call->conf->store.database, version, migrations_n);
	return 0;
}

static int run_check(const struct call *call, struct report *report, struct err *err)
{
	if (db_check(call->db, err) < 0)
		return -1;
	add_store_row(report, call);
	report_number(report, OK, true);
	report_note(report, "ok");
	return 0;
}

/* Makes backup.folder if it is missing. Returns the path of a new file in it; NULL on error. */
static char *new_backup(const struct call *call, struct err *err)
{
	const char *folder = call->conf->backup.folder;
	const char *name = strrchr(call->conf->store.database, '/') + 1;
	char stamp[CLOCK_TEXT_SIZE];

	if (str_empty(folder)) {
		err_set(err, ERR_CONFIG, "give the name of a file, or set backup.folder");
		return NULL;
	}
	if (mkdir(folder, BACKUP_FOLDER_MODE) < 0 && errno != EEXIST) {
		err_set(err, ERR_CONFIG, "cannot make backup.folder %s: %m", folder);
		return NULL;
	}
	clock_stamp(call->now_us, stamp);
	return mem_printf("%s/%s-%s", folder, name, stamp);
}

static int run_backup(const struct call *call, struct report *report, struct err *err)
{
	const char *argument = call_argument(call);
	_cleanup_free_ char *path = argument ? mem_strdup(argument) : new_backup(call, err);
	_cleanup_free_ char *part = NULL;
	struct db *copy = NULL;
	int result;

	if (path == NULL)
		return -1;
	/* The newest file in the folder is always a complete backup. */
	part = argument ? mem_strdup(path) : mem_printf("%s.part", path);
	if (db_backup(call->db, part, err) < 0)
		return -1;
	result = db_open(part, DB_READ, &copy, err) < 0 ? -1 : db_check(copy, err);
	/* SQLite removes its files beside the copy when it closes it, by the name that it opened:
	 * so the copy is closed before it is renamed or removed. */
	db_close(copy);
	if (result < 0) {
		unlink(part);
		return err_prefix(err, "no backup was made, the copy");
	}
	if (!argument && rename(part, path) < 0)
		return err_set(err, ERR_CONFIG, "cannot rename %s: %m", part);
	add_store_row(report, call);
	report_text(report, COPY, path);
	report_note(report, "%s copied to %s", call->conf->store.database, path);
	return 0;
}

/* Shows a table that is done, and once a second how far a large one is. */
static void show_table(const char *table, int64_t rows, int64_t total)
{
	static int64_t shown_us;
	int64_t now_us = clock_monotonic_us();

	if (total == 0 || (rows < total && now_us - shown_us < 1000 * 1000))
		return;
	shown_us = now_us;
	fprintf(stderr, "%s: %lld of %lld rows\n", table, (long long)rows, (long long)total);
}

/* Returns the state of the file, which changes with every write. The caller frees it. */
static char *state_of(const char *path)
{
	_cleanup_free_ char *log = mem_printf("%s-wal", path);
	struct stat file = {0}, written = {0};

	stat(path, &file);
	stat(log, &written);
	return mem_printf("%lld %lld.%09ld %lld", (long long)file.st_size,
		(long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (long long)written.st_size);
}

/* Returns 1 if programs have the file open, or have changed it since state was read; 0 if not; -1
 * on error. */
static int is_in_use(const char *path, const char *state, struct err *err)
{
	_cleanup_free_ char *now = state_of(path);
	int pid, open = db_is_open_elsewhere(path, &pid, err);

	return open != 0 ? open : !str_eq(now, state);
}

/* What one pass came to. */
struct copy_pass {
	struct db_copied copied;
	int64_t messages; /* that were copied from files */
	int64_t missing;  /* files */
	int64_t took_us;
};

/* Opens the file for this pass alone, so that it is known afterwards whether others have it. */
static int run_pass(const char *path, struct db *to, const struct db_copy_how *how,
	struct strv *texts, struct copy_pass *pass_r, struct err *err)
{
	int64_t began_us = clock_monotonic_us();
	_cleanup_(db) struct db *from = NULL;

	if (db_open(path, DB_READ, &from, err) < 0 || migrate_check(from, err) < 0)
		return err_prefix(err, "%s", path);
	if (db_copy_pass(from, to, how, texts, &pass_r->copied, err) < 0)
		return -1;
	pass_r->messages = store_message_import(to, path, &pass_r->missing, err);
	pass_r->took_us = clock_monotonic_us() - began_us;
	return pass_r->messages < 0 ? -1 : 0;
}

static int run_copy(const struct call *call, struct report *report, struct err *err)
{
	const char *path = call_argument(call);
	_cleanup_strv_ struct strv texts = STRV_INIT;
	_cleanup_(db) struct db *to = NULL;
	_cleanup_free_ char *state = NULL, *rest = NULL, *real = realpath(path, NULL);
	struct db_copy_how how = {
		.source = real ? real : path,
		.anew = call_option(call, OPTION_NEW) != NULL,
		.progress = show_table,
	};
	struct copy_pass pass = {.missing = 0};
	const struct db_copied *copied = &pass.copied;
	int64_t took_s;
	int in_use;

	if (str_empty(call->conf->store.url))
		return err_set(err, ERR_CONFIG, "store.url names no database to copy to");
	if (real == NULL)
		return err_set(err, ERR_CONFIG, "%s: %s", path, strerror(errno));
	state = state_of(path);
	in_use = is_in_use(path, state, err);
	if (in_use < 0 || db_open(call->conf->store.place, DB_CREATE, &to, err) < 0 ||
		migrate_check_version(to, err) < 0 ||
		run_pass(path, to, &how, &texts, &pass, err) < 0)
		return -1;
	how.anew = false;
	/* Again, because the first pass took long, and to see how long the last one will take. */
	if (in_use && run_pass(path, to, &how, &texts, &pass, err) < 0)
		return -1;
	if (!in_use)
		in_use = is_in_use(path, state, err);
	if (in_use < 0 || (!in_use && db_copy_finish(to, err) < 0))
		return -1;
	took_s = (pass.took_us + SECOND_US - 1) / SECOND_US;
	add_store_row(report, call);
	report_number(report, TABLES, copied->tables);
	report_number(report, ROWS, copied->rows);
	report_number(report, WRITTEN, copied->written);
	report_number(report, MENDED, copied->mended);
	report_number(report, MISSING, pass.missing);
	report_number(report, SECONDS, took_s);
	report_number(report, FINISHED, !in_use);
	rest = mem_printf(
		"\nThe copy is not finished: programs use the file, and what they write from now "
		"on is not copied. Stop the daemons, and run this again. It took %lld s to compare "
		"all rows and to write %lld.",
		(long long)took_s, (long long)copied->written);
	report_note(report, "%lld rows of %d tables are there, as many as in the file%s%s%s",
		(long long)copied->rows, copied->tables,
		copied->mended ? "; texts that were not UTF-8 were mended" : "",
		pass.missing ? "; files of messages are missing" : "", in_use ? rest : "");
	return 0;
}

static int run_restore(const struct call *call, struct report *report, struct err *err)
{
	const char *path = call_argument(call);
	bool forced = call_option(call, OPTION_FORCE) != NULL;
	struct restored restored;

	if (!str_empty(call->conf->store.url))
		return err_set(err, ERR_CONFIG,
			"store.url names a server, whose backups are restored by pg_restore");
	if (restore_run(call->conf->store.database, path, forced, call->now_us, &restored, err) < 0)
		return -1;
	add_store_row(report, call);
	report_number(report, VERSION, restored.version);
	report_text(report, RESTORED_FROM, path);
	report_text(report, KEPT, restored.kept);
	report_note(report,
		"%s: restored from %s, with version %d of the schema%s%s%s. Restart the daemons "
		"that ran meanwhile.",
		call->conf->store.database, path, restored.version,
		restored.version < migrations_n
			? "; this program needs a newer one: `postern db migrate`"
			: "",
		restored.kept ? "; what was there is kept in " : "",
		restored.kept ? restored.kept : "");
	free(restored.kept);
	return 0;
}

const struct verb cmd_db_migrate = {
	.noun = "db",
	.name = "migrate",
	.access = VERB_MIGRATES,
	.shape = VERB_NOTE,
	.columns = migrate_columns,
	.options = {{OPTION_NO_BACKUP, false,
			    "Makes no backup of a database whose schema is brought to a newer "
			    "version."},
		{OPTION_NEW, false,
			"Makes an empty database where files beside it show that there was one, "
			"which is missing."}},
	.help = "Makes the database when there is none, and brings its schema to the "
		"version of this program. Does nothing when it has that version. A new "
		"database gets the owner of its folder. Before a database is changed a "
		"backup is made beside it, named for its version and the time, as "
		"postern.db.v11-20261122T214501Z, which its maker alone may read: it has "
		"to be removed by hand when it is no longer wanted. When there is no room "
		"for it, nothing is changed.",
	.prepare = refuse_in_place_of_another,
	.run = run_migrate,
};

const struct verb cmd_db_rehearse = {
	.noun = "db",
	.name = "rehearse",
	.access = VERB_NO_DATABASE,
	.shape = VERB_NOTE,
	.columns = rehearse_columns,
	.help = "Does what postern db migrate would do to a copy of the database, which it makes "
		"beside it and removes in the end. The database stays as it is, and the daemons "
		"that have it open go on: so an upgrade finds out, before it stops anything, "
		"whether the new version can take the database over. Of a database on a server "
		"only the version is looked at.",
	.run = run_rehearse,
};

const struct verb cmd_db_check = {
	.noun = "db",
	.name = "check",
	.access = VERB_READS_ANY,
	.shape = VERB_NOTE,
	.columns = check_columns,
	.help = "Checks all pages and all references of the database, whatever the version "
		"of its schema. Of a database on a server it looks for invalid indexes and for "
		"constraints that were not validated; pg_amcheck checks the pages.",
	.run = run_check,
};

const struct verb cmd_db_backup = {
	.noun = "db",
	.name = "backup",
	.argument = "[FILE]",
	.access = VERB_READS_ANY,
	.shape = VERB_NOTE,
	.columns = backup_columns,
	.help = "Copies the database to a new file while the daemons go on working, whatever the "
		"version of its schema, and checks all pages and references of the copy. Without "
		"FILE the copy is put into backup.folder, named for the time, as "
		"postern.db-20261122T214501Z. A file that exists is not overwritten. A database "
		"on a server is backed up by the server's own programs.",
	.run = run_backup,
};

const struct verb cmd_db_copy = {
	.noun = "db",
	.name = "copy",
	.argument = "FILE",
	.access = VERB_NO_DATABASE,
	.shape = VERB_NOTE,
	.columns = copy_columns,
	.options = {{OPTION_NEW, false,
		"Removes what a copy that was interrupted has written, and begins again."}},
	.help = "Copies all of a SQLite database into the one on a server that store.url names, "
		"which postern db migrate has made and which is empty. Run it on the host that has "
		"the file: the rows get the name of this host. Both have to have the version of "
		"this program. The daemons may go on meanwhile with the file, by settings without "
		"store.url: then the copy stays unfinished, and tells how long the last run will "
		"take. Stop the daemons for that one: it copies what has changed, checks that each "
		"table has as many rows as in the file, and finishes. Until then no program uses "
		"the server's database. A run that was interrupted is run again, and goes on. "
		"Messages in files beside the database (of over 32 KiB) are copied as well.",
	.run = run_copy,
};

const struct verb cmd_db_restore = {
	.noun = "db",
	.name = "restore",
	.argument = "FILE",
	.access = VERB_NO_DATABASE,
	.shape = VERB_NOTE,
	.columns = restore_columns,
	.options = {{OPTION_FORCE, false,
		"Also while programs have the database open. What they do with the former one is "
		"lost, and they answer nothing until they are restarted."}},
	.help = "Puts a backup in the place of the database, which is kept beside it "
		"(postern.db.replaced-20261122T214501Z). Before, all pages and references "
		"of the backup are checked. It may be of an older version, which postern "
		"db migrate then brings to this one, but not of a newer one. Stop the "
		"daemons first. What was recorded since the backup is then unknown: mail "
		"that went out has gone out, but its emails cannot be read back; keys and "
		"users that were removed since are valid again, and those made since are "
		"not; a request that comes again with its Idempotency-Key is sent again; "
		"mail that waits in Postfix for the milter with a ticket made since does "
		"not go out, see postern held list. postern-events reads again what "
		"Postfix's log has said since.",
	.run = run_restore,
};
