/*
 * restore: puts a backup in the place of the database.
 */
#ifndef POSTERN_DB_RESTORE_H
#define POSTERN_DB_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct restored {
	int version; /* of the backup's schema */
	char *kept;  /* where the files of the former database are: this one,
		      * and its log with -wal behind the name; NULL: there
		      * were none. The caller frees it. */
};

/* Copies the backup beside the database, checks the copy, keeps the database
 * under another name, and puts the copy in its place, with the owner and mode
 * of the former one. The backup stays as it is; one whose log (-wal) lies
 * beside it is taken with that.
 *
 * ERR_INVALID when the backup is none that this program can use: the database
 * itself, damaged, another program's, or of a newer schema. ERR_CONFIG when
 * another process has the database open, unless forced; ERR_TEMPORARY when
 * there is no room. The database is then as it was.
 *
 * Whenever this process is killed, or the power fails, the database is the
 * former one, the backup, or missing, and what was replaced is whole under one
 * name or the other; then it is to be run again. */
int restore_run(const char *database, const char *backup, bool forced, int64_t now_us,
	struct restored *restored_r, struct err *err);

/* The time as part of a file's name: 20261122T214501Z. */
enum { RESTORE_STAMP_SIZE = 20 };
void restore_stamp(int64_t time_us, char stamp_r[static RESTORE_STAMP_SIZE]);

#endif
