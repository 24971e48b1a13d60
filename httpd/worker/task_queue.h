/*
 * task_queue: how other threads have something done on a worker's thread.
 *
 * A task is posted from any thread and run on the thread of the event base, in
 * the order of posting.
 */
#ifndef POSTERN_HTTPD_WORKER_TASK_QUEUE_H
#define POSTERN_HTTPD_WORKER_TASK_QUEUE_H

struct event_base;
struct task_queue;

/* Embed it in what it is about, which belongs to run() once that is called. */
struct task {
	void (*run)(struct task *task);
	struct task *next; /* the queue's */
};

/* NULL when the system has no descriptor left. */
struct task_queue *task_queue_new(struct event_base *base);
/* Runs what is left. No one may post any more. NULL is fine. */
void task_queue_free(struct task_queue *queue);

void task_queue_post(struct task_queue *queue, struct task *task);

#endif
