/*
 * record_watch: waits until the milter has decided about an email, and closes
 * the gate to a company's new ones while no decisions come.
 *
 * The two daemons share nothing but the store. While something is pending the
 * watch looks every few milliseconds whether another connection has committed
 * (PRAGMA data_version: no query, no lock), and only then at the rows.
 */
#ifndef POSTERN_HTTPD_SEND_RECORD_WATCH_H
#define POSTERN_HTTPD_SEND_RECORD_WATCH_H

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

/* Uses db for reading, on the worker's thread. */
struct record_watch *record_watch_new(struct event_base *base, struct db *db, struct log *log);
/* Whatever is pending, or added from now on, has waited long enough. */
void record_watch_stop(struct record_watch *watch);
/* Nothing is pending any more. */
void record_watch_free(struct record_watch *watch);

/* done is never called from inside. */
void record_watch_add(struct record_watch *watch, struct watched *watched);

/*
 * The gate: an email that waits in Postfix without its record is safe, and its
 * client has an id, but nobody knows when it will go out. A few of them may
 * happen; when those of a company come in a row, its clients are better told to
 * come back later. Now and then one is let through, which finds out whether its
 * emails are recorded again. Emails of one company say nothing of another's.
 *
 * When the milter has decided about nobody's email meanwhile, it is perhaps not
 * asked at all: then it is blamed, until the next decision.
 */
enum {
	RECORD_GATE_LATE = 5, /* answers without a record that shut it */
	RECORD_GATE_TRY_MS = 2 * 1000,
};

struct record_gate;

struct record_gate *record_gate_new(void);
void record_gate_free(struct record_gate *gate);

/* All that follows is for any thread. Whether a request of the company may
 * pass. now_us: monotonic. */
bool record_gate_enter(struct record_gate *gate, const char *company_id, int64_t now_us);

enum record_gate_news {
	RECORD_GATE_NO_NEWS,
	RECORD_GATE_SHUT,   /* for this company; the milter decides about others */
	RECORD_GATE_BLAMED, /* for this one first; the milter decides about nobody */
};

/* A request of the company is answered without a record. */
enum record_gate_news record_gate_late(
	struct record_gate *gate, const char *company_id, int64_t now_us);

/* The milter has decided about an email of the company: whether it had been
 * blamed. */
bool record_gate_decided(struct record_gate *gate, const char *company_id);

/* Whether the milter is blamed. */
bool record_gate_is_blamed(struct record_gate *gate);

/* Why nothing is recorded, as far as can be told from here. Blocks only for the
 * moment in which a socket is looked at. */
const char *record_gate_cause(struct postfix_run *run, const struct conf *conf);

#endif
