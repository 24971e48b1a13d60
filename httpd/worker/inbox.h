/*
 * inbox: how other threads speak to a worker.
 *
 * A letter is posted from any thread and delivered on the thread of the event
 * base, in the order of posting.
 */
#ifndef POSTERN_HTTPD_WORKER_INBOX_H
#define POSTERN_HTTPD_WORKER_INBOX_H

struct event_base;
struct inbox;

/* Owned by whom it is delivered to; embed it in what it speaks of. */
struct letter {
	void (*deliver)(struct letter *letter);
	struct letter *next; /* the inbox's */
};

/* NULL when the system has no descriptor left. */
struct inbox *inbox_new(struct event_base *base);
/* Delivers what is left. No one may post any more. */
void inbox_free(struct inbox *inbox);

void inbox_post(struct inbox *inbox, struct letter *letter);

#endif
