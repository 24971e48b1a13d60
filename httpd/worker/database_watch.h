/*
 * database_watch: notices when the database file that a worker reads is
 * replaced or removed, or the database server does not answer.
 *
 * Reads of such a file still succeed, but are stale: a key that was revoked
 * since would be valid. The worker does not open the new file: the old WAL lies
 * beside it until all users of the old file have closed it, and SQLite would
 * mix them. Reads from a server that hangs would block the event loop.
 *
 * Threads: the worker's.
 */
#ifndef POSTERN_HTTPD_WORKER_DATABASE_WATCH_H
#define POSTERN_HTTPD_WORKER_DATABASE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/db.h"

struct db_watch;
struct log;

struct database_watch {
	const char *path;
	struct db_watch *server; /* NULL: a file */
	struct log *log;
	struct db_identity identity;
	int64_t next_us; /* monotonic: no check before */
	bool gone; /* the database server does not answer, or what it returns is out of date */
};

/* Remembers which file was opened; call it right after that. server is NULL for
 * a file. All must live as long as the watch. */
void database_watch_begin(
	struct database_watch *watch, const char *path, struct db_watch *server, struct log *log);

/* Checks a file at most once a second, and logs a change. Asks no server, but what its db_watch has
 * found. */
void database_watch_look(struct database_watch *watch, int64_t now_us);

#endif
