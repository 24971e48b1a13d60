/*
 * record_watch: waits until the milter has decided about an email.
 *
 * The two daemons share nothing but the store. While something is pending the
 * watch looks every few milliseconds whether another connection has committed
 * (PRAGMA data_version: no query, no lock), and only then at the rows.
 */
#ifndef POSTERN_HTTPD_OUTBOX_RECORD_WATCH_H
#define POSTERN_HTTPD_OUTBOX_RECORD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store/store_email.h"

struct conf;
struct event_base;
struct log;
struct postfix_run;
struct record_watch;

/* Owned by who waits, untouched until done. */
struct watched {
	const char *email_id;
	int64_t wait_ms;
	/* state is EMAIL_STAGED when the time is up; refusal tells why with
	 * EMAIL_REFUSED and lives for the call. */
	void (*done)(struct watched *watched, enum email_state state, const char *refusal);
	int64_t deadline_us; /* the watch's, as next */
	struct watched *next;
};

/* Uses db for reading, on the thread of base. */
struct record_watch *record_watch_new(struct event_base *base, struct db *db, struct log *log);
/* Whatever is pending, or added from now on, has waited long enough. */
void record_watch_stop(struct record_watch *watch);
/* Nothing is pending any more. */
void record_watch_free(struct record_watch *watch);

/* done is never called from inside. */
void record_watch_add(struct record_watch *watch, struct watched *watched);

/* Why nothing is recorded, as far as can be told from here. Blocks only for the
 * moment in which a socket is looked at. */
const char *record_watch_cause(struct postfix_run *run, const struct conf *conf);

#endif
