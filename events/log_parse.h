/*
 * log_parse: reads what a line of Postfix's log says about a message.
 *
 * Pure: no I/O, no clock, no allocation. Results are spans of the line; a span whose data is
 * NULL is absent. The grammar is that of Postfix 3.4 to 3.11. Lines are read from the left,
 * because addresses and replies further right may imitate other lines.
 *
 *	line    = stamp SP host SP tag "[" pid "]: " payload
 *	tag     = instance *("/" name) "/" program
 *	payload = ID ": " what the program says about the message
 */
#ifndef POSTERN_EVENTS_LOG_PARSE_H
#define POSTERN_EVENTS_LOG_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/span.h"

enum {
	/* Postfix cuts lines at 2,000 bytes. A line longer than this may be cut. */
	LOG_WHOLE_MAX = 1900,
};

enum log_kind {
	LOG_NOTHING,    /* nothing about the status of a message */
	LOG_BAD,        /* a line of a known kind that cannot be parsed */
	LOG_MESSAGE_ID, /* cleanup has the message; text is its Message-ID */
	LOG_CLIENT,     /* its client, `name[address]` in text; no text for sendmail(1), run by
			 * the user uid */
	LOG_ACTIVE,     /* qmgr has put it into the active queue */
	LOG_PICKUP,     /* requeued, or its queue file renamed; other is the previous queue id */
	LOG_DELIVERY,   /* a delivery attempt for one recipient */
	LOG_EXPIRED,    /* Postfix gave up on all recipients that were left */
	LOG_REMOVED,    /* removed from the queue */
	LOG_DISCARDED,  /* discarded by a rule of Postfix or by a milter */
	LOG_REFUSED,    /* refused or put on hold by a rule or a milter; text begins with
			 * cleanup's word for it */
	LOG_REQUEUED,   /* goes back to pickup and gets another queue id */
	LOG_DROPPED,    /* the log says that it lost lines */
	LOG_RELOADED,   /* Postfix has started or reloaded its settings; no message */
};

enum log_status {
	LOG_SENT,
	LOG_DEFERRED, /* also SOFTBOUNCE: Postfix tries again */
	LOG_BOUNCED,
	LOG_PROBED, /* deliverable or undeliverable: an address probe, no mail was delivered */
};

/* The delivery agent, where it matters. */
enum log_agent {
	LOG_AGENT_OTHER,
	LOG_AGENT_MAILBOX, /* local(8), virtual(8) */
	LOG_AGENT_PIPE,
	LOG_AGENT_DISCARD,
};

/* The time stamp of a line. */
struct log_stamp {
	bool exact;      /* true: time_us is set; false: the fields below, in local time */
	int64_t time_us; /* since 1970 (UTC) */
	int month, day;  /* month from 0, day from 1 */
	int hour, minute, second;
};

struct log_line {
	enum log_kind kind;
	struct log_stamp stamp;
	struct span id;    /* queue id */
	int recipients;    /* LOG_ACTIVE: recipients left to deliver */
	struct span text;  /* the Message-ID, or the reply to a delivery */
	struct span other; /* the previous queue id; for LOG_DISCARDED the address that gets
			    * it instead, if any */
	bool by_admin;     /* LOG_REMOVED by postsuper(1) */
	int64_t uid;       /* LOG_CLIENT: -1 where the line names none */

	/* With LOG_DELIVERY: */
	enum log_status status;
	enum log_agent agent;
	struct span to;      /* without angle brackets */
	struct span orig_to; /* the address before aliases, or as it was given without a domain */
	struct span relay;
	struct span delays;
	struct span dsn;
	bool cut; /* the end of the line is missing */
};

/* Parses a line without its newline. instances: the syslog names of Postfix, separated by
 * blanks. Lines of other programs are LOG_NOTHING. */
void log_parse(const char *line, size_t len, const char *instances, struct log_line *line_r);

/* Parses a payload whose tag is known, as in the journal. */
void log_parse_payload(const char *tag, const char *payload, size_t len, const char *instances,
	struct log_line *line_r);

/* When the disk is full, a line can be cut and the next one appended to it. Returns where the
 * appended line begins in a line that is LOG_BAD or cut, 0 if nowhere. Lines that Postfix
 * itself may have cut are not searched: they may quote text that looks like a line. */
size_t log_parse_glued(const char *line, size_t len, const char *instances);

/* Finds the queue id in a reply of another Postfix (`250 2.0.0 Ok: queued as 4F2A`) or of
 * local(8) (`forwarded as 4F2A`). *forwarded_r tells which. data is NULL if there is none. */
struct span log_queued_as(struct span text, bool *forwarded_r);

/* Converts a stamp of a line that was written at or before anchor_us; the line's clock may have
 * been up to a day ahead. A stamp without a year gets the latest year that fits. */
int64_t log_stamp_time(const struct log_stamp *stamp, int64_t anchor_us);

#endif
