/*
 * record_watch: waits until the milter has decided about an email.
 *
 * httpd and the milter share only the store. While emails are watched, a timer checks every few
 * milliseconds whether another connection has committed (db_version(): no query, no lock), and
 * reads the rows only then.
 */
#ifndef POSTERN_HTTPD_OUTBOX_RECORD_WATCH_H
#define POSTERN_HTTPD_OUTBOX_RECORD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store/email/store_email.h"

struct conf;
struct db_watch;
struct event_base;
struct log;
struct postfix_run;
struct record_watch;

/* Owned by the caller, who must not change it until done is called. */
struct watched {
	const char *email_id;
	int64_t wait_ms;
	/* state is EMAIL_STAGED when the time is up. refusal is the reason with EMAIL_REFUSED, and
	 * lives for the call. */
	void (*done)(struct watched *watched, enum email_state state, const char *refusal);
	int64_t deadline_us; /* the watch's, as next */
	struct watched *next;
};

/* Reads from db, on the thread of base; not while the server, which may be NULL, is known not to
 * answer. */
struct record_watch *record_watch_new(
	struct event_base *base, struct db *db, struct db_watch *server, struct log *log);
/* The time of everything that is watched, or added from now on, is up. */
void record_watch_stop(struct record_watch *watch);
/* Nothing may be watched any more. NULL is fine. */
void record_watch_free(struct record_watch *watch);

/* done is never called from inside this call. */
void record_watch_add(struct record_watch *watch, struct watched *watched);

/* Why nothing is recorded, as far as httpd knows. Blocks only while it checks a socket. */
const char *record_watch_cause(struct postfix_run *run, const struct conf *conf);

#endif
