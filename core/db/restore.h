/*
 * restore: replaces the database by a backup.
 */
#ifndef POSTERN_DB_RESTORE_H
#define POSTERN_DB_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct restored {
	int version; /* of the backup's schema */
	/* The path of the former database; its log has the suffix -wal; NULL: there was none.
	 * The caller frees it. */
	char *kept;
};

/* Copies the backup beside the database, checks the copy, keeps the database under another name,
 * and moves the copy into its place, with the owner and mode of the former one. The backup is not
 * changed; if it has a log (-wal) beside it, that is included.
 *
 * ERR_INVALID if this program cannot use the backup: it is the database itself, damaged, of another
 * program, or of a newer schema. ERR_CONFIG if another process has the database open, unless
 * forced; ERR_TEMPORARY if there is no room. The database is unchanged after these.
 *
 * Whenever this process is killed, or the power fails, the database is the former one, the backup,
 * or missing, and the replaced one is complete under either name; then the restore must be run
 * again. */
int restore_run(const char *database, const char *backup, bool forced, int64_t now_us,
	struct restored *restored_r, struct err *err);

#endif
