/*
 * db_watch: knows whether a database server answers, without waiting for it.
 *
 * A thread of its own asks the server four times a second. Event loops look here before they use a
 * handle of theirs, which would block them until a timeout while the server hangs.
 */
#ifndef POSTERN_DB_DB_WATCH_H
#define POSTERN_DB_DB_WATCH_H

#include "core/db/db.h"

struct db_watch;

/* Starts the thread, for the database at a URL. The server counts as there until it fails to
 * answer. Returns 0 or -1. */
int db_watch_new(const char *url, struct db_watch **watch_r, struct err *err);
/* Waits until the thread has ended, a few seconds at most. */
void db_watch_free(struct db_watch *watch);
DEFINE_CLEANUP(db_watch, db_watch_free)

/* Returns 0 if the server has answered the last time, otherwise -1 with the reason. Thread-safe. */
int db_watch_look(struct db_watch *watch, struct err *err);

#endif
