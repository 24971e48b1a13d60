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

#include "core/base/clock.h"

struct db_pool {
	char *path;
	struct db_identity identity; /* the file that all handles have open */
	size_t max;
	int wait_ms; /* 0: as the engine has it */
	pthread_mutex_t mutex;
	pthread_cond_t given; /* a handle is available */
	size_t n_open;
	size_t n_idle;
	struct db **idle;
	struct err away;  /* why the last attempt to open a handle failed */
	int64_t pause_us; /* 0: it did not fail */
	int64_t retry_us; /* monotonic: nobody tries before */
};

enum { PAUSE_MIN_US = 50 * 1000, PAUSE_MAX_US = 2 * 1000 * 1000, TRY_US = 10 * 1000 * 1000 };

struct db_pool *db_pool_new(const char *path, size_t max)
{
	struct db_pool *pool = mem_new(struct db_pool);

	assert(max > 0);
	pool->path = mem_strdup(path);
	pool->max = max;
	pool->away = ERR_INIT;
	pool->idle = mem_alloc(max, sizeof(*pool->idle));
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->given, NULL);
	return pool;
}

void db_pool_set_wait(struct db_pool *pool, int wait_ms)
{
	pool->wait_ms = wait_ms;
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

/* Opens a handle, unless the database is away and one has tried a moment ago: who tries puts the
 * time off for all others. */
static int open_handle(struct db_pool *pool, struct db **db_r, struct err *err)
{
	struct err why = ERR_INIT;
	int64_t now_us = clock_monotonic_us();
	bool too_early;
	int result;

	pthread_mutex_lock(&pool->mutex);
	too_early = pool->pause_us > 0 && now_us < pool->retry_us;
	if (too_early)
		why = pool->away;
	else if (pool->pause_us > 0)
		pool->retry_us = now_us + TRY_US;
	pthread_mutex_unlock(&pool->mutex);
	if (too_early)
		return err_copy(err, &why);

	result = db_open(pool->path, DB_READ, db_r, &why);

	pthread_mutex_lock(&pool->mutex);
	if (result == 0 || why.code != ERR_TEMPORARY) {
		pool->pause_us = 0;
	} else {
		pool->pause_us = pool->pause_us == 0 ? PAUSE_MIN_US : pool->pause_us * 2;
		if (pool->pause_us > PAUSE_MAX_US)
			pool->pause_us = PAUSE_MAX_US;
		pool->retry_us = clock_monotonic_us() + pool->pause_us;
		pool->away = why;
	}
	pthread_mutex_unlock(&pool->mutex);
	if (result != 0)
		return err_copy(err, &why);
	if (pool->wait_ms > 0)
		db_set_wait(*db_r, pool->wait_ms);
	return 0;
}

int db_pool_take(struct db_pool *pool, struct db **db_r, struct err *err)
{
	struct db *db = wait_for_turn(pool);
	int result;

	pthread_mutex_lock(&pool->mutex);
	result = db_same(pool->path, &pool->identity, err);
	pthread_mutex_unlock(&pool->mutex);
	if (result == 0 && db == NULL)
		result = open_handle(pool, &db, err);
	if (result != 0) {
		db_pool_give(pool, db, false);
		return -1;
	}
	*db_r = db;
	return 0;
}

/* Closes the idle handles: one that failed may mean that the server is gone, and each of the
 * others would find that out by itself, after a timeout of its own. */
static void close_idle(struct db_pool *pool)
{
	struct db *db;

	do {
		db = NULL;
		pthread_mutex_lock(&pool->mutex);
		if (pool->n_idle > 0) {
			db = pool->idle[--pool->n_idle];
			pool->n_open--;
			pthread_cond_signal(&pool->given);
		}
		pthread_mutex_unlock(&pool->mutex);
		db_close(db);
	} while (db);
}

void db_pool_release(struct db_pool *pool)
{
	db_pool_give(pool, NULL, false);
}

void db_pool_give(struct db_pool *pool, struct db *db, bool ok)
{
	if (!ok && db) {
		db_close(db);
		close_idle(pool);
	}
	pthread_mutex_lock(&pool->mutex);
	if (ok)
		pool->idle[pool->n_idle++] = db;
	else
		pool->n_open--;
	pthread_cond_signal(&pool->given);
	pthread_mutex_unlock(&pool->mutex);
}
