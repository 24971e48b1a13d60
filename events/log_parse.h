/*
 * log_parse: what a line of Postfix's log says about a message.
 *
 * Pure: no I/O, no clock, no memory. What is found points into the line; a span
 * whose data is NULL is not there. The
 * grammar is that of Postfix 3.4 to 3.11; a line is taken for what its program
 * writes, from its left end on, since addresses and replies may imitate others.
 *
 *	line    = stamp SP host SP tag "[" pid "]: " payload
 *	tag     = instance *("/" name) "/" program
 *	payload = ID ": " what the program has to say about the message
 */
#ifndef POSTERN_EVENTS_LOG_PARSE_H
#define POSTERN_EVENTS_LOG_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/span.h"

enum {
	/* A line that is longer may have been cut by Postfix, at 2,000 bytes. */
	LOG_WHOLE_MAX = 1900,
};

enum log_kind {
	LOG_NOTHING,    /* nothing about the status of a message */
	LOG_BAD,        /* it should say something, and cannot be read */
	LOG_MESSAGE_ID, /* cleanup has the message; its Message-ID is text */
	LOG_CLIENT,     /* it comes from a client, `name[address]` in text; without
			 * text from sendmail(1) */
	LOG_ACTIVE,     /* the queue manager delivers it now */
	LOG_PICKUP,     /* it was requeued, or its queue file renamed: other is
			 * its id of before */
	LOG_DELIVERY,   /* an attempt for one recipient */
	LOG_EXPIRED,    /* given up for all open recipients */
	LOG_REMOVED,    /* gone from the queue */
	LOG_DISCARDED,  /* dropped by a rule of Postfix or by a milter */
	LOG_REFUSED,    /* refused, or held, by one of them; text begins with
			 * cleanup's word for it */
	LOG_REQUEUED,   /* goes back to pickup, to come under another id */
	LOG_DROPPED,    /* the log itself says that it lost lines */
	LOG_RELOADED,   /* Postfix was started, or reads its settings anew; of
			 * no message */
};

enum log_status {
	LOG_SENT,
	LOG_DEFERRED, /* SOFTBOUNCE too: Postfix tries again */
	LOG_BOUNCED,
	LOG_PROBED, /* deliverable, undeliverable: no mail was delivered */
};

/* Who made an attempt, as far as that tells something. */
enum log_agent {
	LOG_AGENT_OTHER,
	LOG_AGENT_MAILBOX, /* local(8), virtual(8) */
	LOG_AGENT_PIPE,
	LOG_AGENT_DISCARD,
};

/* The time as it is written. */
struct log_stamp {
	bool exact;      /* time_us is the time; else the rest, in local time */
	int64_t time_us; /* since 1970 */
	int month, day;  /* from 0, from 1 */
	int hour, minute, second;
};

struct log_line {
	enum log_kind kind;
	struct log_stamp stamp;
	struct span id;    /* of the queue */
	int recipients;    /* LOG_ACTIVE: how many the message still has */
	struct span text;  /* Message-ID; or what a delivery was answered */
	struct span other; /* the queue id of before; of LOG_DISCARDED, who gets
			    * it in place of its recipients, if anybody */
	bool by_admin;     /* LOG_REMOVED by postsuper(1) */

	/* Of LOG_DELIVERY. */
	enum log_status status;
	enum log_agent agent;
	struct span to;      /* without angle brackets */
	struct span orig_to; /* before aliases */
	struct span relay;
	struct span delays;
	struct span dsn;
	bool cut; /* the line has no end of its own */
};

/* Reads a line without its newline. instances: the names of the instances of
 * Postfix whose lines count, separated by blanks; other lines are LOG_NOTHING. */
void log_parse(const char *line, size_t len, const char *instances, struct log_line *line_r);

/* The same of a payload whose tag was told apart, as the journal has it. */
void log_parse_payload(const char *tag, const char *payload, size_t len, const char *instances,
	struct log_line *line_r);

/* A full disk cuts a line, and the next one is glued to it: where that begins
 * in a line of log_parse() that is LOG_BAD or cut, 0: nowhere. What Postfix
 * itself may have cut has none: what it quotes is not to be taken for a line. */
size_t log_parse_glued(const char *line, size_t len, const char *instances);

/* The queue id in the words of another Postfix that took the message, as in
 * `250 2.0.0 Ok: queued as 4F2A`, or of local(8), as in `forwarded as 4F2A`;
 * *forwarded_r tells which. data is NULL without. */
struct span log_queued_as(struct span text, bool *forwarded_r);

/* The time of a stamp, for a line that was written at or before anchor_us, by
 * a clock that may have been a day ahead: one without a year is of the last year that
 * fits. */
int64_t log_stamp_time(const struct log_stamp *stamp, int64_t anchor_us);

#endif
