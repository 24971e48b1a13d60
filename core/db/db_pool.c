/*
 * db_pool: a pool of read handles. The handle returned last is lent first, because its cache is
 * warm.
 *
 * Invariant: idle holds n_idle handles; n_open counts idle and lent handles, and those being
 * opened; n_idle <= n_open <= max.
 *
 * Threads: any. The mutex guards everything; handles are opened outside of it.
 */
#include "core/db/db_pool.h"

#include <assert.h>
#include <pthread.h>

struct db_pool {
	char *path;
	struct db_identity identity; /* the file that all handles have open */
	size_t max;
	pthread_mutex_t mutex;
	pthread_cond_t given; /* a handle is available */
	size_t n_open;
	size_t n_idle;
	struct db **idle;
};

struct db_pool *db_pool_new(const char *path, size_t max)
{
	struct db_pool *pool = mem_new(struct db_pool);

	assert(max > 0);
	pool->path = mem_strdup(path);
	pool->max = max;
	pool->idle = mem_alloc(max, sizeof(*pool->idle));
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->given, NULL);
	return pool;
}

void db_pool_free(struct db_pool *pool)
{
	if (pool == NULL)
		return;
	assert(pool->n_idle == pool->n_open);
	while (pool->n_idle > 0)
		db_close(pool->idle[--pool->n_idle]);
	pthread_cond_destroy(&pool->given);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->idle);
	free(pool->path);
	free(pool);
}

/* Returns an idle handle, or NULL if the caller may open one. */
static struct db *wait_for_turn(struct db_pool *pool)
{
	struct db *db = NULL;

	pthread_mutex_lock(&pool->mutex);
	while (pool->n_idle == 0 && pool->n_open == pool->max)
		pthread_cond_wait(&pool->given, &pool->mutex);
	if (pool->n_idle > 0)
		db = pool->idle[--pool->n_idle];
	else
		pool->n_open++;
	pthread_mutex_unlock(&pool->mutex);
	return db;
}

static int check_file(struct db_pool *pool, struct err *err)
{
	int result;

	pthread_mutex_lock(&pool->mutex);
	result = db_same(pool->path, &pool->identity, err);
	pthread_mutex_unlock(&pool->mutex);
	return result;
}

int db_pool_take(struct db_pool *pool, struct db **db_r, struct err *err)
{
	struct db *db = wait_for_turn(pool);

	if (check_file(pool, err) != 0 ||
		(db == NULL && db_open(pool->path, DB_READ, &db, err) != 0)) {
		db_pool_give(pool, db, false);
		return -1;
	}
	*db_r = db;
	return 0;
}

void db_pool_give(struct db_pool *pool, struct db *db, bool ok)
{
	if (!ok)
		db_close(db);
	pthread_mutex_lock(&pool->mutex);
	if (ok)
		pool->idle[pool->n_idle++] = db;
	else
		pool->n_open--;
	pthread_cond_signal(&pool->given);
	pthread_mutex_unlock(&pool->mutex);
}
