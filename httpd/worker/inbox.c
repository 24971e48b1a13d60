/*
 * inbox: a queue of letters with an eventfd to wake its reader.
 *
 * Threads: inbox_post() from any; everything else on the owner's.
 */
#include "httpd/worker/inbox.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/mem.h"

struct inbox {
	int fd;
	struct event *readable;
	pthread_mutex_t lock; /* of what follows */
	struct letter *first;
	struct letter **end;
};

static struct letter *take_all(struct inbox *inbox)
{
	struct letter *first;

	pthread_mutex_lock(&inbox->lock);
	first = inbox->first;
	inbox->first = NULL;
	inbox->end = &inbox->first;
	pthread_mutex_unlock(&inbox->lock);
	return first;
}

static void deliver_all(struct inbox *inbox)
{
	struct letter *letter = take_all(inbox);

	while (letter != NULL) {
		struct letter *next = letter->next;

		letter->deliver(letter);
		letter = next;
	}
}

static void on_inbox_readable(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0) {
		/* Woken for nothing; the queue tells what there is. */
	}
	deliver_all(arg);
}

struct inbox *inbox_new(struct event_base *base)
{
	struct inbox *inbox = mem_new(struct inbox);

	inbox->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (inbox->fd < 0) {
		free(inbox);
		return NULL;
	}
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->end = &inbox->first;
	inbox->readable = event_new(base, inbox->fd, EV_READ | EV_PERSIST,
		on_inbox_readable, inbox);
	event_add(inbox->readable, NULL);
	return inbox;
}

void inbox_free(struct inbox *inbox)
{
	if (inbox == NULL)
		return;
	deliver_all(inbox);
	event_free(inbox->readable);
	close(inbox->fd);
	pthread_mutex_destroy(&inbox->lock);
	free(inbox);
}

void inbox_post(struct inbox *inbox, struct letter *letter)
{
	const uint64_t one = 1;

	letter->next = NULL;
	pthread_mutex_lock(&inbox->lock);
	*inbox->end = letter;
	inbox->end = &letter->next;
	/* Within the lock: the reader may free the inbox once it has the
	 * letter that it waits for. */
	if (write(inbox->fd, &one, sizeof(one)) < 0) {
		/* The counter is full: the reader is woken anyway. */
	}
	pthread_mutex_unlock(&inbox->lock);
}
