/*
 * db_pool: a pool of read handles for threads.
 */
#ifndef POSTERN_DB_DB_POOL_H
#define POSTERN_DB_DB_POOL_H

#include "core/db/db.h"

struct db_pool;

/* Creates a pool of up to max handles, opened on demand. */
struct db_pool *db_pool_new(const char *path, size_t max);
/* Sets db_set_wait() of the handles that are opened from now on. */
void db_pool_set_wait(struct db_pool *pool, int wait_ms);
/* All handles must have been given back. */
void db_pool_free(struct db_pool *pool);
DEFINE_CLEANUP(db_pool, db_pool_free)

/* Borrows a handle, and waits while all are lent. Returns 0 or -1, ERR_TEMPORARY if the file is not
 * the one that the first borrower had. After a database that is away could not be opened, one
 * borrower at a time tries again, with pauses of up to two seconds; the others fail at once. */
int db_pool_take(struct db_pool *pool, struct db **db_r, struct err *err);
/* Returns a handle; a broken one (ok false) is closed with all idle ones, which may be broken too,
 * so that the next borrowers open new ones. */
void db_pool_give(struct db_pool *pool, struct db *db, bool ok);
/* Makes a borrowed handle the borrower's own, who closes it. The pool may open another one. */
void db_pool_release(struct db_pool *pool);

#endif
