/*
 * cmd_db: the database as a whole.
 */
#include "cli/cmd.h"
#include "core/conf/conf.h"
#include "core/db/migrate.h"

enum { DATABASE, VERSION, APPLIED };

static const struct column migrate_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[VERSION] = {"version", "VERSION", .type = COLUMN_INT},
	[APPLIED] = {"applied", "APPLIED", .type = COLUMN_INT},
	{0},
};

enum { OK = DATABASE + 1 };

static const struct column check_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[OK] = {"ok", "OK", .type = COLUMN_FLAG},
	{0},
};

enum { COPY = DATABASE + 1 };

static const struct column backup_columns[] = {
	[DATABASE] = {"database", "DATABASE", .type = COLUMN_TEXT},
	[COPY] = {"backup", "BACKUP", .type = COLUMN_TEXT},
	{0},
};

static void add_row(struct report *report, const struct call *call)
{
	report_add_row(report);
	report_text(report, DATABASE, call->conf->store.database);
}

static void note_migration(
	struct report *report, const char *path, int version, int applied)
{
	if (applied == 0)
		report_note(report, "%s: has version %d of the schema already",
			path, version);
	else if (applied < version)
		report_note(report, "%s: brought to version %d of the schema",
			path, version);
	else
		report_note(report, "%s: made, with version %d of the schema",
			path, version);
}

static int run_migrate(
	const struct call *call, struct report *report, struct err *err)
{
	int version, applied;

	if (migrate_run(call->db, call->now_us, &applied, err) < 0 ||
		migrate_version(call->db, &version, err) < 0)
		return -1;
	add_row(report, call);
	report_number(report, VERSION, version);
	report_number(report, APPLIED, applied);
	note_migration(report, call->conf->store.database, version, applied);
	return 0;
}

static int run_check(
	const struct call *call, struct report *report, struct err *err)
{
	if (db_check(call->db, err) < 0)
		return -1;
	add_row(report, call);
	report_number(report, OK, true);
	report_note(report, "ok");
	return 0;
}

static int run_backup(
	const struct call *call, struct report *report, struct err *err)
{
	const char *path = call_argument(call);

	if (db_backup(call->db, path, err) < 0)
		return -1;
	add_row(report, call);
	report_text(report, COPY, path);
	report_note(report, "%s copied to %s", call->conf->store.database, path);
	return 0;
}

const struct verb cmd_db_migrate = {
	.noun = "db",
	.name = "migrate",
	.access = VERB_MIGRATES,
	.shape = VERB_NOTE,
	.columns = migrate_columns,
	.help = "Makes the database when there is none, and brings its schema "
		"to the version of this program. Does nothing when it has "
		"that version. The database gets the owner of its folder.",
	.run = run_migrate,
};

const struct verb cmd_db_check = {
	.noun = "db",
	.name = "check",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = check_columns,
	.help = "Checks all pages and all references of the database.",
	.run = run_check,
};

const struct verb cmd_db_backup = {
	.noun = "db",
	.name = "backup",
	.argument = "FILE",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = backup_columns,
	.help = "Copies the database to a new file while the daemons go on "
		"working. A file that exists is not overwritten.",
	.run = run_backup,
};
