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
	const char *name; /* such as 0001_init */
	const char *sql;
	/* The same for PostgreSQL; NULL: nothing to do. The first migration that has it creates
	 * what all SQLite migrations up to it create, so the earlier ones have none. */
	const char *postgresql;
};
extern const struct migration migrations[];
extern const int migrations_n;

/* Reads the version of the database, which may be newer than this program; 0 for an empty one.
 * ERR_CONFIG if it is not Postern's. */
int migrate_version(struct db *db, int *version_r, struct err *err);

/* Returns 0 if the database has exactly the schema of this program, and no unfinished copy of
 * another one (db_copy.h); otherwise -1 with ERR_CONFIG, and what to do. */
int migrate_check(struct db *db, struct err *err);
/* Checks as migrate_check() does, but accepts an unfinished copy. */
int migrate_check_version(struct db *db, struct err *err);
/* The same for the database with this name, if it can be opened, so that a program fails at its
 * start instead of later. */
int migrate_check_name(const char *name, struct err *err);

struct migrate_list {
	const struct migration *items;
	int n;
	/* Called before each missing migration is applied, with its name and how many were applied;
	 * and at the end with NULL. May be NULL. */
	void (*progress)(const char *name, size_t done, size_t all);
};

/* Applies missing migrations in one transaction; *applied_r is their number. Two programs can
 * safely do it at once. ERR_CONFIG if the schema of the database is newer than the list, or has
 * migrations with other names. */
int migrate_run_list(struct db *db, const struct migrate_list *list, int64_t now_us, int *applied_r,
	struct err *err);
/* Checks as migrate_check() does, against another list. */
int migrate_check_list(struct db *db, const struct migrate_list *list, struct err *err);

#endif
