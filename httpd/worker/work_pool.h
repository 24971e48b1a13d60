/*
 * work_pool: threads for work that would block a worker's loop too long.
 *
 * A worker submits work with all that it needs, and gets it back through its
 * task queue. Companies take turns; the work of one company starts in order. No
 * company occupies all threads, so the work of another waits for one piece of
 * work at most. For that reason long work runs in pieces. After a piece the
 * rest goes behind the company's other work.
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

/* Embed it in the object that it is about. The pool owns that object until done
 * runs. */
struct work {
	struct task done;         /* first; run on the worker's thread when the work is done */
	struct task_queue *tasks; /* task queue of the worker that submitted it */
	const char *company_id;   /* the company whose turn it uses */
	/* Does a piece of the work, on a thread of the pool. Returns true when
	 * all is done, false when there is more: the rest then queues again. */
	bool (*run)(struct work *work);
	STAILQ_ENTRY(work) link; /* the pool's */
};

/* Starts the threads, two at least. NULL on failure. */
struct work_pool *work_pool_new(size_t threads);
/* The caller ensures that no work waits or runs any more. NULL is fine. */
void work_pool_free(struct work_pool *pool);

void work_pool_submit(struct work_pool *pool, struct work *work);

#endif
