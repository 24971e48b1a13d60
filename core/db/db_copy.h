/*
 * db_copy: copies all rows of a SQLite file into a database on a server, while the file may be in
 * use.
 */
#ifndef POSTERN_DB_DB_COPY_H
#define POSTERN_DB_DB_COPY_H

#include "core/base/strv.h"
#include "core/db/db.h"

struct db_copied {
	int tables;
	int64_t rows;    /* of the file */
	int64_t written; /* rows that were inserted, changed or deleted */
	int64_t mended;  /* texts that were repaired, because the server refuses invalid UTF-8 */
};

struct db_copy_how {
	const char *source; /* names the file; a copy goes on only from the one it began with */
	bool anew;          /* removes what an unfinished copy has written, and begins again */
	/* Called often, with the rows of a table that are there; or NULL. */
	void (*progress)(const char *table, int64_t rows, int64_t total);
};

/* Makes the rows of the server's tables those of a snapshot of the file: writes what is missing or
 * different, deletes what the file does not have, and checks the number of rows of each table. What
 * was written is committed some thousand rows at a time, so a pass that was interrupted has not
 * been in vain. After the last pass call db_copy_finish(); until then migrate_check() refuses the
 * database. Both databases have the schema of this program. texts, empty at first, keeps what the
 * handles need until they are closed. Returns 0 or -1: ERR_EXISTS if the server's database has a
 * company or an email that no unfinished copy has written, or rows have exchanged values that are
 * unique; ERR_CONFIG if the unfinished copy is of another source; ERR_INTERNAL if a table has a
 * different number of rows in the end. */
int db_copy_pass(struct db *from, struct db *to, const struct db_copy_how *how, struct strv *texts,
	struct db_copied *copied_r, struct err *err);

/* Ends the copy: from now on the server's database can be used. Returns 0 or -1. */
int db_copy_finish(struct db *to, struct err *err);

#endif
