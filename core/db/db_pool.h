/*
 * db_pool: read handles that threads borrow for a moment.
 */
#ifndef POSTERN_DB_DB_POOL_H
#define POSTERN_DB_DB_POOL_H

#include "core/db/db.h"

struct db_pool;

/* A pool of at most max handles, opened when first needed. */
struct db_pool *db_pool_new(const char *path, size_t max);
/* All handles must have been given back. */
void db_pool_free(struct db_pool *pool);
DEFINE_CLEANUP(db_pool, db_pool_free)

/* Borrows a handle, waiting while all are lent. ERR_TEMPORARY when the file is
 * not the one that the first borrower had. */
int db_pool_take(struct db_pool *pool, struct db **db_r, struct err *err);
/* Gives it back; broken ones (ok false) are closed, so that the next borrower
 * opens anew. */
void db_pool_give(struct db_pool *pool, struct db *db, bool ok);

#endif
