/*
 * task_queue: runs callbacks of other threads on a worker's thread.
 *
 * Any thread posts tasks. They run on the thread of the event base, in the
 * order of posting.
 */
#ifndef POSTERN_HTTPD_WORKER_TASK_QUEUE_H
#define POSTERN_HTTPD_WORKER_TASK_QUEUE_H

struct event_base;
struct task_queue;

/* Embed it in the object that it is about. run() takes ownership of that
 * object. */
struct task {
	void (*run)(struct task *task);
	struct task *next; /* the queue's */
};

/* NULL if there is no free descriptor. */
struct task_queue *task_queue_new(struct event_base *base);
/* Runs the remaining tasks. Nobody may post any more. NULL is fine. */
void task_queue_free(struct task_queue *queue);

void task_queue_post(struct task_queue *queue, struct task *task);

#endif
