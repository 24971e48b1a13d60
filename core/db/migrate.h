/*
 * migrate: the numbered files of schema/, embedded in the programs.
 */
#ifndef POSTERN_DB_MIGRATE_H
#define POSTERN_DB_MIGRATE_H

#include "core/db/db.h"

/* One file of schema/, and of schema/postgresql/; the list is generated at build time, in order of
 * version, which begins at 1 and has no gaps. */
struct migration {
	int version;
	const char *name; /* as 0001_init */
	const char *sql;
	/* The same for PostgreSQL. Up to the first that has it the steps of SQLite
	 * are none of PostgreSQL's: its first makes all that they do. NULL: nothing
	 * is to be done. */
	const char *postgresql;
};
extern const struct migration migrations[];
extern const int migrations_n;

/* The version of the database, also one that is newer than this program; 0 for
 * one that is empty. ERR_CONFIG when it is not Postern's. */
int migrate_version(struct db *db, int *version_r, struct err *err);

/* 0 when the database has exactly the schema of this program; ERR_CONFIG, with
 * what to do, when it is older or newer. */
int migrate_check(struct db *db, struct err *err);
/* The same of the database with the name, when it can be opened at all: so that a
 * program fails at its start instead of later. */
int migrate_check_name(const char *name, struct err *err);

struct migrate_list {
	const struct migration *items;
	int n;
	/* Told of each that is missing before it is applied: its name and how
	 * many were applied; and at the end, with NULL. Or NULL. */
	void (*progress)(const char *name, size_t done, size_t all);
};

/* Applies what is missing, all in one transaction; *applied_r says how many.
 * Safe when two programs do it at once. ERR_CONFIG when the database has a
 * newer schema, or one of other names, than the list. */
int migrate_run_list(struct db *db, const struct migrate_list *list, int64_t now_us, int *applied_r,
	struct err *err);
/* As migrate_check(). */
int migrate_check_list(struct db *db, const struct migrate_list *list, struct err *err);

#endif
