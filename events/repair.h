/*
 * repair: finds in Postfix's queue what the log did not say.
 *
 * A recipient whose message is in the queue becomes deferred, with the reason from the queue. A
 * recipient that is neither in the queue nor mentioned in the log, for at least two checks and
 * ten minutes, becomes `unknown`; it is never assumed delivered. The same goes for an email
 * that the milter never saw and whose message is not in the queue. Held messages that are no
 * longer on hold are forgotten (store_held).
 *
 * Threads: one.
 */
#ifndef POSTERN_EVENTS_REPAIR_H
#define POSTERN_EVENTS_REPAIR_H

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/db/db.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/event/delivery_status.h"

enum {
	/* Emails are looked for this long after they were sent. */
	REPAIR_AFTER_S = 60,
	/* How long a recipient must be missing. */
	REPAIR_MISSED_S = 600,
};

struct repair;

/* The interface to the queue; see postfix_queue_each(). */
typedef int repair_each(void *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err);

struct repair *repair_new(struct db *db, struct log *log, repair_each *each, void *queue);
void repair_free(struct repair *repair);
DEFINE_CLEANUP(repair, repair_free)

/* The number of events stored since the start, by kind: EVENT_KINDS numbers. */
const uint64_t *repair_events(const struct repair *repair);

/* Compares the store with the queue. Call it when the log is read to its end. Returns 0, or -1
 * if the queue cannot be read or the result cannot be stored. */
int repair_round(struct repair *repair, int64_t now_us, struct err *err);

#endif
