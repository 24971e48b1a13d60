/*
 * repair: finds in Postfix's queue what the log did not tell.
 *
 * A recipient for whom the queue holds the message is deferred, with the reason
 * that stands there. One that is neither in the queue nor told of, in two looks
 * and for ten minutes, is `unknown`: that it was delivered is never concluded.
 * So is one of an email that the milter never saw, whose message is nowhere in
 * the queue. What is on hold no more is forgotten (store_held).
 *
 * Threads: one.
 */
#ifndef POSTERN_EVENTS_REPAIR_H
#define POSTERN_EVENTS_REPAIR_H

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/db/db.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/delivery_status.h"

enum {
	/* How long after an email was sent it is looked for. */
	REPAIR_AFTER_S = 60,
	/* How long one has to be missed. */
	REPAIR_MISSED_S = 600,
};

struct repair;

/* The seam to the queue: as postfix_queue_each(). */
typedef int repair_each(void *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err);

struct repair *repair_new(struct db *db, struct log *log, repair_each *each, void *queue);
void repair_free(struct repair *repair);
DEFINE_CLEANUP(repair, repair_free)

/* What it has stored since the start, by kind: EVENT_KINDS numbers. */
const uint64_t *repair_events(const struct repair *repair);

/* Compares, when the log was read to its end. 0, or -1: the queue cannot be
 * read, or nothing can be stored. */
int repair_round(struct repair *repair, int64_t now_us, struct err *err);

#endif
