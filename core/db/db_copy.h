/*
 * db_copy: copies all rows of a SQLite file into a database on a server, in steps.
 */
#ifndef POSTERN_DB_DB_COPY_H
#define POSTERN_DB_DB_COPY_H

#include "core/base/strv.h"
#include "core/db/db.h"

struct db_copied {
	int tables;
	int64_t rows;
	int64_t mended; /* texts that were repaired, because the server refuses invalid UTF-8 */
};

struct db_copy_how {
	/* Names the file and its state; a copy goes on only from the source that it began with. */
	const char *source;
	bool anew; /* removes what an unfinished copy has written, and begins again */
	/* Called often, with the rows of a table that are there; or NULL. */
	void (*progress)(const char *table, int64_t rows, int64_t total);
};

/* Copies a snapshot of the rows of all tables, in transactions of some thousand rows. A copy that
 * was interrupted goes on where it was; until it is finished, migrate_check() refuses the database.
 * Both databases have the schema of this program. texts, empty at first, keeps what the handles
 * need until they are closed. Returns 0 or -1: ERR_EXISTS if the server's database has a company or
 * an email that no unfinished copy has written; ERR_CONFIG if the unfinished copy is of another
 * source; ERR_INTERNAL if a table has a different number of rows in the end. */
int db_copy_all(struct db *from, struct db *to, const struct db_copy_how *how, struct strv *texts,
	struct db_copied *copied_r, struct err *err);

#endif
