/*
 * tracker: follows the messages that carry our emails through Postfix's queue,
 * by what the log says of them, and stores what becomes of each recipient.
 *
 * A message belongs to an email because the milter recorded its queue id, or
 * because it came from such a message: by an alias (forwarded as), a content
 * filter (queued as, or the same Message-ID) or a requeue (orig_id). Lines of
 * other messages are kept for a while, for the line that connects them may come
 * later.
 *
 * Reading lines again changes nothing: go on wherever no line is missed, and at
 * the latest at tracker_oldest().
 *
 * Threads: one.
 */
#ifndef POSTERN_EVENTS_TRACKER_H
#define POSTERN_EVENTS_TRACKER_H

#include "core/db/db.h"
#include "core/store/delivery_status.h"
#include "core/store/delivery_writer.h"
#include "events/next_hops.h"
#include "events/log_parse.h"
#include "events/untracked.h"

struct tracker;

struct tracker *tracker_new(struct db *db, const struct next_hops *next_hops);
/* Which bounces are put into the lists of suppressed addresses; without it none are. */
void tracker_set_suppression(struct tracker *tracker, const struct suppression_terms *terms);
void tracker_free(struct tracker *tracker);
DEFINE_CLEANUP(tracker, tracker_free)
/* Forgets what it keeps, and what it has counted since tracker_kept(): when a
 * transaction was undone. */
void tracker_reset(struct tracker *tracker);
/* The transaction was committed. */
void tracker_kept(struct tracker *tracker);

/* Stores what the line says, in the caller's transaction, which has to be
 * undone when this fails; tracker_settle() ends it. */
int tracker_line(struct tracker *tracker, const struct log_line *line,
	const struct line_position *position, int64_t now_us, struct err *err);
/* Brings recipients and emails up to date of which something was said. */
int tracker_settle(struct tracker *tracker, struct err *err);
/* How many recipients wait for that. */
size_t tracker_held(const struct tracker *tracker);

/* The number of the first line that is kept, or UINT64_MAX. */
uint64_t tracker_oldest(const struct tracker *tracker);

struct tracker_counts {
	uint64_t lines;               /* that say something of a message */
	uint64_t bad;                 /* that could not be read */
	uint64_t added;               /* events that were new */
	uint64_t events[EVENT_KINDS]; /* the same by kind */
	uint64_t open;                /* messages that left with nothing said of a recipient */
	uint64_t left;                /* messages that left without the rules */
	uint64_t unlisted; /* addresses that found their company's list of suppressed ones full */
};
/* Of what was committed. */
const struct tracker_counts *tracker_counts(const struct tracker *tracker);

#endif
