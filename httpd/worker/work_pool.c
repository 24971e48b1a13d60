/*
 * work_pool: threads for work that would block a worker's loop too long.
 *
 * Invariant: a company has a queue while any of its work waits or runs. The
 * list of queues is in the order of turns: a queue goes to the end when it is
 * new and when a piece of its work starts.
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
struct queue {
	char company_id[ID_SIZE];
	STAILQ_HEAD(, work) waiting;
	size_t running;
	TAILQ_ENTRY(queue) link;
};

struct work_pool {
	pthread_t *threads;
	size_t threads_n;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	TAILQ_HEAD(queues, queue) queues;
	bool stopping;
};

static struct queue *queue_of(struct work_pool *pool, const char *company_id)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &pool->queues, link)
		if (strcmp(queue->company_id, company_id) == 0)
			return queue;
	queue = mem_new(struct queue);
	snprintf(queue->company_id, sizeof(queue->company_id), "%s", company_id);
	STAILQ_INIT(&queue->waiting);
	TAILQ_INSERT_TAIL(&pool->queues, queue, link);
	return queue;
}

/* The queue to serve next, moved to the end of the list. NULL if nothing may
 * run. */
static struct queue *next_queue(struct work_pool *pool)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &pool->queues, link)
		if (!STAILQ_EMPTY(&queue->waiting) && queue->running < pool->threads_n - 1)
			break;
	if (queue) {
		TAILQ_REMOVE(&pool->queues, queue, link);
		TAILQ_INSERT_TAIL(&pool->queues, queue, link);
	}
	return queue;
}

/* Runs a piece of the queue's first work. Called with the lock held; releases
 * it meanwhile. */
static void run_one(struct work_pool *pool, struct queue *queue)
{
	struct work *work = STAILQ_FIRST(&queue->waiting);
	bool done;

	STAILQ_REMOVE_HEAD(&queue->waiting, link);
	queue->running++;
	pthread_mutex_unlock(&pool->lock);
	done = work->run(work);
	if (done)
		task_queue_post(work->tasks, &work->done);
	pthread_mutex_lock(&pool->lock);
	queue->running--;
	if (!done)
		STAILQ_INSERT_TAIL(&queue->waiting, work, link);
	if (queue->running == 0 && STAILQ_EMPTY(&queue->waiting)) {
		TAILQ_REMOVE(&pool->queues, queue, link);
		free(queue);
	}
}

static void *run_worker_thread(void *arg)
{
	struct work_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stopping) {
		struct queue *queue = next_queue(pool);

		if (queue)
			run_one(pool, queue);
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
	TAILQ_INIT(&pool->queues);
	for (size_t i = 0; i < pool->threads_n; i++) {
		if (pthread_create(&pool->threads[i], NULL, run_worker_thread, pool) == 0)
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
	assert(TAILQ_EMPTY(&pool->queues));
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->changed);
	free(pool->threads);
	free(pool);
}

void work_pool_submit(struct work_pool *pool, struct work *work)
{
	pthread_mutex_lock(&pool->lock);
	STAILQ_INSERT_TAIL(&queue_of(pool, work->company_id)->waiting, work, link);
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}
