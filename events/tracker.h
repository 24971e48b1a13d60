/*
 * tracker: follows the messages that carry our emails through Postfix's queue by their log
 * lines, and stores the events of each recipient.
 *
 * A message belongs to an email if the milter recorded its queue id, or if it comes from such a
 * message: by an alias (forwarded as), a content filter (queued as, or the same Message-ID) or
 * a requeue (orig_id). Lines of other messages are kept for a while, because the line that
 * connects them may come later.
 *
 * Reading a line again changes nothing. So a reader may continue at any line up to the first
 * unread one, but at the latest at tracker_oldest().
 *
 * Threads: one.
 */
#ifndef POSTERN_EVENTS_TRACKER_H
#define POSTERN_EVENTS_TRACKER_H

#include "core/db/db.h"
#include "core/store/event/delivery_status.h"
#include "core/store/delivery/delivery_writer.h"
#include "events/next_hops.h"
#include "events/log_parse.h"
#include "events/untracked.h"

struct tracker;

struct tracker *tracker_new(struct db *db, const struct next_hops *next_hops);
/* Sets which bounces add a suppression. Without this call none do. */
void tracker_set_suppression(struct tracker *tracker, const struct suppression_terms *terms);
void tracker_free(struct tracker *tracker);
DEFINE_CLEANUP(tracker, tracker_free)
/* Call after a rollback: forgets the kept lines, and the counts since tracker_kept(). */
void tracker_reset(struct tracker *tracker);
/* Call after a commit. */
void tracker_kept(struct tracker *tracker);

/* Before the lines are stored: tells about each of them, and then has the store look up all of
 * their messages and emails at once, which costs two round trips to a server instead of several for
 * each email. time_us and ahead_us are those of the lines' positions. With more than `most`
 * recipients in hand (tracker_held()) no further email is read. tracker_look_ahead() returns 0, or
 * -1 as tracker_line(). */
void tracker_expect(struct tracker *tracker, const struct log_line *line, int64_t time_us);
int tracker_look_ahead(struct tracker *tracker, int64_t ahead_us, size_t most, struct err *err);

/* Stores what the line says, in the caller's transaction. On error the caller must roll back.
 * Call tracker_settle() before the commit. */
int tracker_line(struct tracker *tracker, const struct log_line *line,
	const struct line_position *position, int64_t now_us, struct err *err);
/* True if a user of this host other than root and our own has submitted the message with
 * sendmail(1). Such a message is never one of postern-httpd. */
bool tracker_is_by_other(const struct tracker *tracker, struct span queue_id);
/* Updates the recipients and emails that have new events. */
int tracker_settle(struct tracker *tracker, struct err *err);
/* The number of recipients that tracker_settle() will update. */
size_t tracker_held(const struct tracker *tracker);

/* The number of the oldest kept line, or UINT64_MAX. */
uint64_t tracker_oldest(const struct tracker *tracker);

struct tracker_counts {
	uint64_t lines;               /* lines about a message */
	uint64_t bad;                 /* lines that could not be parsed */
	uint64_t added;               /* new events */
	uint64_t events[EVENT_KINDS]; /* new events by kind */
	uint64_t open;                /* messages that left the queue without a line about
				       * some recipient */
	uint64_t left;                /* messages that left the queue without passing the
				       * milter */
	uint64_t unlisted; /* bounced addresses that were not added, because the company's
			    * suppression list is full */
};
/* Counts of committed transactions. */
const struct tracker_counts *tracker_counts(const struct tracker *tracker);

#endif
