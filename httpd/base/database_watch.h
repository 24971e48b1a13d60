/*
 * database_watch: whether the file that a worker reads from is still the
 * database.
 *
 * Of one that was replaced or removed reads still come back, and are of the
 * past: a key that was revoked since would be valid. It is not opened anew: the
 * log of the old one lies beside the new one until all that use it have ended,
 * and SQLite would mix them.
 */
#ifndef POSTERN_HTTPD_DATABASE_WATCH_H
#define POSTERN_HTTPD_DATABASE_WATCH_H

#include <stdbool.h>

#include "core/db/db_file.h"

struct log;

struct database_watch {
	const char *path;
	struct log *log;
	struct db_file_id file;
	int64_t next_us; /* monotonic: no look before */
	bool gone;       /* nothing that is read means anything */
};

/* Learns which file it is; to be called when it was just opened. path and log
 * must live as long. */
void database_watch_begin(
	struct database_watch *watch, const char *path, struct log *log);

/* Looks, at most once a second, and logs what has changed. */
void database_watch_look(struct database_watch *watch, int64_t now_us);

#endif
