/*
 * db_copy: copies all rows of a SQLite file into a database on a server.
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

/* Copies a snapshot of the rows of all tables in one transaction: all or nothing. Both databases
 * have the schema of this program. progress, or NULL, is called for each table when it is done.
 * texts, empty at first, keeps what the handles need until they are closed. Returns 0 or -1:
 * ERR_EXISTS if the server's database has a company or an email already; ERR_INTERNAL if a table
 * has a different number of rows in the end. */
int db_copy_all(struct db *from, struct db *to, void (*progress)(const char *table, int64_t rows),
	struct strv *texts, struct db_copied *copied_r, struct err *err);

#endif
