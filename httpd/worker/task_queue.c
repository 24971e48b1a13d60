/*
 * task_queue: a list of tasks with an eventfd to wake the loop that runs them.
 *
 * Threads: task_queue_post() from any; everything else on the owner's.
 */
#include "httpd/worker/task_queue.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/mem.h"

struct task_queue {
	int fd;
	struct event *readable;
	pthread_mutex_t lock; /* protects the members below */
	struct task *first;
	struct task **end;
};

static void run_all(struct task_queue *queue)
{
	struct task *task;

	pthread_mutex_lock(&queue->lock);
	task = queue->first;
	queue->first = NULL;
	queue->end = &queue->first;
	pthread_mutex_unlock(&queue->lock);
	while (task != NULL) {
		struct task *next = task->next;

		task->run(task);
		task = next;
	}
}

static void on_queue_readable(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0) {
		/* A spurious wakeup; run_all() looks at the list. */
	}
	run_all(arg);
}

struct task_queue *task_queue_new(struct event_base *base)
{
	struct task_queue *queue = mem_new(struct task_queue);

	queue->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (queue->fd < 0) {
		free(queue);
		return NULL;
	}
	pthread_mutex_init(&queue->lock, NULL);
	queue->end = &queue->first;
	queue->readable = event_new(
		base, queue->fd, EV_READ | EV_PERSIST, on_queue_readable, queue);
	event_add(queue->readable, NULL);
	return queue;
}

void task_queue_free(struct task_queue *queue)
{
	if (queue == NULL)
		return;
	run_all(queue);
	event_free(queue->readable);
	close(queue->fd);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

void task_queue_post(struct task_queue *queue, struct task *task)
{
	const uint64_t one = 1;
	bool first;

	task->next = NULL;
	pthread_mutex_lock(&queue->lock);
	/* If tasks are waiting, the reader was already woken for them. */
	first = queue->first == NULL;
	*queue->end = task;
	queue->end = &task->next;
	/* Within the lock, because the reader may free the queue as soon as it
	 * has the task that it waits for. */
	if (first && write(queue->fd, &one, sizeof(one)) < 0) {
		/* The eventfd's counter is full, so the reader wakes anyway. */
	}
	pthread_mutex_unlock(&queue->lock);
}
