/*
 * work_pool: threads for work that would keep a worker's loop too long.
 *
 * Invariant: a turn is in the list while its company has work that waits or
 * runs; the one that was served last stands last.
 */
#include "httpd/worker/work_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"

/* The work of one company. */
struct turn {
	char company_id[ID_SIZE];
	STAILQ_HEAD(, work) waiting;
	size_t running;
	TAILQ_ENTRY(turn) link;
};

struct work_pool {
	pthread_t *threads;
	size_t threads_n;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	TAILQ_HEAD(turns, turn) turns;
	bool stopping;
};

static struct turn *turn_of(struct work_pool *pool, const char *company_id)
{
	struct turn *turn;

	TAILQ_FOREACH(turn, &pool->turns, link)
	if (strcmp(turn->company_id, company_id) == 0)
		return turn;
	turn = mem_new(struct turn);
	snprintf(turn->company_id, sizeof(turn->company_id), "%s", company_id);
	STAILQ_INIT(&turn->waiting);
	TAILQ_INSERT_TAIL(&pool->turns, turn, link);
	return turn;
}

/* Whose turn it is; NULL when nothing may run now. */
static struct turn *next_turn(struct work_pool *pool)
{
	struct turn *turn;

	TAILQ_FOREACH(turn, &pool->turns, link)
	if (!STAILQ_EMPTY(&turn->waiting) && turn->running < pool->threads_n - 1)
		break;
	if (turn) {
		TAILQ_REMOVE(&pool->turns, turn, link);
		TAILQ_INSERT_TAIL(&pool->turns, turn, link);
	}
	return turn;
}

/* A piece of the turn's first work; the lock is held before and after. */
static void run_one(struct work_pool *pool, struct turn *turn)
{
	struct work *work = STAILQ_FIRST(&turn->waiting);
	bool done;

	STAILQ_REMOVE_HEAD(&turn->waiting, link);
	turn->running++;
	pthread_mutex_unlock(&pool->lock);
	done = work->run(work);
	if (done)
		inbox_post(work->inbox, &work->letter);
	pthread_mutex_lock(&pool->lock);
	turn->running--;
	if (!done)
		STAILQ_INSERT_TAIL(&turn->waiting, work, link);
	if (turn->running == 0 && STAILQ_EMPTY(&turn->waiting)) {
		TAILQ_REMOVE(&pool->turns, turn, link);
		free(turn);
	}
}

static void *serve(void *arg)
{
	struct work_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stopping) {
		struct turn *turn = next_turn(pool);

		if (turn)
			run_one(pool, turn);
		else
			pthread_cond_wait(&pool->changed, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct work_pool *work_pool_new(size_t threads)
{
	struct work_pool *pool = mem_new(struct work_pool);

	pool->threads_n = threads > 2 ? threads : 2;
	pool->threads = mem_alloc(pool->threads_n, sizeof(*pool->threads));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	TAILQ_INIT(&pool->turns);
	for (size_t i = 0; i < pool->threads_n; i++) {
		if (pthread_create(&pool->threads[i], NULL, serve, pool) == 0)
			continue;
		pthread_mutex_lock(&pool->lock);
		pool->threads_n = i;
		pthread_mutex_unlock(&pool->lock);
		work_pool_free(pool);
		return NULL;
	}
	return pool;
}

void work_pool_free(struct work_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->threads_n; i++)
		pthread_join(pool->threads[i], NULL);
	assert(TAILQ_EMPTY(&pool->turns));
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->changed);
	free(pool->threads);
	free(pool);
}

void work_pool_submit(struct work_pool *pool, struct work *work)
{
	pthread_mutex_lock(&pool->lock);
	STAILQ_INSERT_TAIL(&turn_of(pool, work->company_id)->waiting, work, link);
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}
