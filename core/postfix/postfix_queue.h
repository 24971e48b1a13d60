/*
 * postfix_queue: Postfix's queue, accessed with its programs postqueue(1), postcat(1),
 * postsuper(1) and sendmail(1).
 */
#ifndef POSTERN_POSTFIX_POSTFIX_QUEUE_H
#define POSTERN_POSTFIX_POSTFIX_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/strv.h"

struct conf;
struct postfix_queue;

/* A message of the queue. */
struct queue_item {
	char *queue; /* such as `hold` or `deferred` */
	char *id;
	int64_t arrival_s;
	int64_t size;
	char *sender;           /* "" is the null sender */
	struct strv recipients; /* recipients that are not delivered yet */
	struct strv reasons;    /* the delay reason of each; "" if none */
	bool mended;            /* an address is not UTF-8; its invalid bytes are shown as ? */
};
void queue_item_clear(struct queue_item *item);
/* True if this can be the message with this queue id that arrived at came_us by the milter's
 * clock. One that arrived later reuses the id of a removed message. */
bool queue_item_came_by(const struct queue_item *item, int64_t came_us);

/* Opens the queue of the Postfix that the settings name. ERR_CONFIG if there is none. */
int postfix_queue_open(const struct conf *conf, struct postfix_queue **queue_r, struct err *err);
void postfix_queue_free(struct postfix_queue *queue);
DEFINE_CLEANUP(postfix_queue, postfix_queue_free)

/* From here on the helper at this socket lists the queue, and reads and changes held messages, see
 * queue_helper.h. */
void postfix_queue_use_helper(struct postfix_queue *queue, int helper);

/* True if the text has the form of a queue id: not empty, letters, digits and _. */
bool queue_id_is_valid(const char *id);

/* Calls on_item for each message, without holding more than one in memory. A message that moves
 * meanwhile may come twice. on_item may take members of the item, and stops the iteration with
 * 1, or with -1 as an error. */
int postfix_queue_each(const struct postfix_queue *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err);

/* Starts `postqueue -j`, whose output is read from lines. Every listing has to be ended: that
 * closes lines, and reports whether postqueue failed. */
struct queue_listing {
	int lines;
	int helper; /* the helper that runs postqueue; -1: this process does */
	int errors;
	pid_t pid;
};
int postfix_queue_list_start(
	const struct postfix_queue *queue, struct queue_listing *listing_r, struct err *err);
int postfix_queue_list_end(struct queue_listing *listing, struct err *err);

/* Reads the header, or the whole message, into a file in memory that the caller closes.
 * ERR_NOT_FOUND if the message is gone. */
int postfix_queue_read(const struct postfix_queue *queue, const struct queue_item *item, bool whole,
	int *file_r, struct err *err);

enum queue_change {
	QUEUE_RELEASE,     /* from hold, for immediate delivery */
	QUEUE_REMOVE,      /* from any queue but maildrop */
	QUEUE_REMOVE_HELD, /* from hold only */
};
/* Changes all messages that still exist; done_r gets their ids. Each change is atomic: a rename
 * or an unlink. */
int postfix_queue_change(const struct postfix_queue *queue, enum queue_change change,
	const struct strv *ids, struct strv *done_r, struct err *err);

/* Submits the file as a message by sendmail(1) and waits. Returns 0 when it is durably in
 * Postfix's queue. */
int postfix_queue_submit(const struct postfix_queue *queue, const char *sender,
	const char *recipient, int file, struct err *err);

/* Postfix's retry schedule for deferred messages, in seconds. */
struct queue_times {
	int64_t shortest_s;        /* minimal_backoff_time */
	int64_t longest_s;         /* maximal_backoff_time */
	int64_t lifetime_s;        /* maximal_queue_lifetime */
	int64_t bounce_lifetime_s; /* bounce_queue_lifetime: for the null sender */
};
int postfix_queue_times(const struct conf *conf, struct queue_times *times_r, struct err *err);
/* Returns the earliest time of the next attempt after one at last_s, as the queue manager
 * computes it: the delay is the age of the message at that attempt, within the backoff limits. */
int64_t queue_next_attempt(const struct queue_times *times, int64_t arrival_s, int64_t last_s);

/* Returns 0 if this process may read and change the queue, which means that it is root;
 * otherwise -1. */
int postfix_queue_check_rights(struct err *err);

#endif
