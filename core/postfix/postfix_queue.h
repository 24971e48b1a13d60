/*
 * postfix_queue: Postfix's queue, through the programs that Postfix has for it:
 * postqueue(1), postcat(1), postsuper(1) and sendmail(1).
 */
#ifndef POSTERN_POSTFIX_POSTFIX_QUEUE_H
#define POSTERN_POSTFIX_POSTFIX_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/strv.h"

struct conf;
struct postfix_queue;

/* One message of the queue. */
struct queue_item {
	char *queue; /* as `hold`, `deferred` */
	char *id;
	int64_t arrival_s;
	int64_t size;
	char *sender;           /* "": the null sender */
	struct strv recipients; /* those that it was not delivered to yet */
	struct strv reasons;    /* why not, for each of them; "" for nothing */
	bool mended;            /* an address is not UTF-8; its odd bytes are shown as ? */
};
void queue_item_clear(struct queue_item *item);
/* Whether it can be the message of this queue id that came in at came_us, by the
 * clock of the milter; one that came later has the id of one that was removed. */
bool queue_item_came_by(const struct queue_item *item, int64_t came_us);

/* The queue of the Postfix that the settings name. ERR_CONFIG when there is
 * none. */
int postfix_queue_open(const struct conf *conf, struct postfix_queue **queue_r, struct err *err);
void postfix_queue_free(struct postfix_queue *queue);
DEFINE_CLEANUP(postfix_queue, postfix_queue_free)

/* Gives each message to on_item, one at a time, however many there are; one
 * that moves meanwhile may come twice. on_item may take over what the item has,
 * and ends the walk with 1, or with -1 as a failure. */
int postfix_queue_each(const struct postfix_queue *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err);

/* The header, or the whole message, as a file in memory that the caller
 * closes. ERR_NOT_FOUND when the message is gone. */
int postfix_queue_read(const struct postfix_queue *queue, const char *id, bool whole, int *file_r,
	struct err *err);

enum queue_change {
	QUEUE_RELEASE, /* from hold, to be delivered at once */
	QUEUE_REMOVE,  /* wherever it is */
};
/* Does it to all that are still there; done_r gets their ids. Each message is
 * changed in one step: a rename or an unlink. */
int postfix_queue_change(const struct postfix_queue *queue, enum queue_change change,
	const struct strv *ids, struct strv *done_r, struct err *err);

/* Submits the file as the message by sendmail(1), and waits: 0 when Postfix has
 * it, durably. */
int postfix_queue_submit(const struct postfix_queue *queue, const char *sender,
	const char *recipient, int file, struct err *err);

/* When Postfix tries a deferred message again, and how long it does, in
 * seconds. */
struct queue_times {
	int64_t shortest_s;        /* minimal_backoff_time */
	int64_t longest_s;         /* maximal_backoff_time */
	int64_t lifetime_s;        /* maximal_queue_lifetime */
	int64_t bounce_lifetime_s; /* bounce_queue_lifetime: of the null sender */
};
int postfix_queue_times(const struct conf *conf, struct queue_times *times_r, struct err *err);
/* The earliest time of the attempt that follows one at last_s, as the queue
 * manager sets it: as much later as the message was old then, within bounds. */
int64_t queue_next_attempt(const struct queue_times *times, int64_t arrival_s, int64_t last_s);

/* Whether this process may read and change the queue: root may. */
int postfix_queue_check_rights(struct err *err);

#endif
