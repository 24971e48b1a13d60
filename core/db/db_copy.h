/*
 * db_copy: moves all that a SQLite file has into a database on a server.
 */
#ifndef POSTERN_DB_DB_COPY_H
#define POSTERN_DB_DB_COPY_H

#include "core/base/strv.h"
#include "core/db/db.h"

struct db_copied {
	int tables;
	int64_t rows;
	int64_t mended; /* texts that were not UTF-8, which the server refuses */
};

/* Copies the rows of all tables, as they are at one moment, in one transaction: all or nothing.
 * Both have the schema of this program. progress, or NULL, is told of each table with its rows when
 * it is done. texts, which starts empty, keeps what the handles need until they are closed.
 * ERR_EXISTS when the server's database has a company or an email already; ERR_INTERNAL when a
 * table has other rows than it should in the end. */
int db_copy_all(struct db *from, struct db *to, void (*progress)(const char *table, int64_t rows),
	struct strv *texts, struct db_copied *copied_r, struct err *err);

#endif
