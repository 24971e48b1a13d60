/*
 * work_pool: threads for work that would keep a worker's loop too long.
 *
 * A worker hands work over with what it needs and gets it back through its
 * task queue. Companies take turns, work of one company starts in order, and no
 * company occupies all threads: another one's work waits for a piece of
 * somebody's work at most, which is why long work is done in pieces. After a
 * piece the rest waits behind the company's other work.
 *
 * Threads: work_pool_submit() from any.
 */
#ifndef POSTERN_HTTPD_WORKER_WORK_POOL_H
#define POSTERN_HTTPD_WORKER_WORK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "httpd/worker/task_queue.h"

struct work_pool;

/* Embed it in what the work is about. Until done is run, what it is about
 * belongs to the pool. */
struct work {
	struct task done;         /* first; run by the worker when all is done */
	struct task_queue *tasks; /* of the worker that gets it back */
	const char *company_id;   /* in whose queue it waits */
	/* A piece of the work, on a thread of the pool: true when all is done,
	 * false when there is more, which waits behind the others again. */
	bool (*run)(struct work *work);
	STAILQ_ENTRY(work) link; /* the pool's */
};

/* With so many threads, two at least. */
struct work_pool *work_pool_new(size_t threads);
/* No work may be left. NULL is fine. */
void work_pool_free(struct work_pool *pool);

void work_pool_submit(struct work_pool *pool, struct work *work);

#endif
