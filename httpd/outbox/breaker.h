/*
 * breaker: the circuit breaker of the way into Postfix.
 *
 *   closed ── trip ──> open ── the pause is over ──> probing ── an email goes ──> closed
 *                        ^                             │
 *                        └───────── trip, a longer pause
 *
 * While it is closed, emails flow. What shows that Postfix or the milter is away
 * trips it: a connection that is refused or lost; BREAKER_PUT_OFF messages in a row
 * that were answered with 4xx, for one alone may be at fault itself; or
 * BREAKER_UNRECORDED in a row that Postfix took and the milter did not record in time.
 * Then one email at a time probes, in pauses of a quarter of the time that it has been
 * open, from BREAKER_FIRST_MS to BREAKER_MOST_MS.
 *
 * No I/O, and no clock: times are given, monotonic. Threads: one at a time, but for
 * breaker_state_get(), which is for any.
 */
#ifndef POSTERN_HTTPD_OUTBOX_BREAKER_H
#define POSTERN_HTTPD_OUTBOX_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

enum {
	BREAKER_FIRST_MS = 100,
	BREAKER_MOST_MS = 30 * 1000,
	BREAKER_PUT_OFF = 3,
	BREAKER_UNRECORDED = 5,
};

enum breaker_cause {
	BREAKER_CLOSED,
	BREAKER_AWAY,       /* Postfix or the milter does not take messages */
	BREAKER_NO_RECORDS, /* Postfix does, but the milter records none */
};

const char *breaker_cause_name(enum breaker_cause cause);

/* What others may know of it. */
struct breaker_state {
	enum breaker_cause cause;
	int64_t since_us;         /* monotonic */
	char words[ERR_TEXT_MAX]; /* why; "" while it is closed */
	uint64_t trips;           /* how often it has opened */
};

struct breaker {
	pthread_mutex_t mutex; /* of the state */
	struct breaker_state state;
	int64_t until_us; /* of the pause */
	bool probing;
	unsigned unrecorded; /* in a row */
	unsigned put_offs;   /* likewise */
};

void breaker_init(struct breaker *breaker);
void breaker_destroy(struct breaker *breaker);

/* Whether an email may go now. True for one that is to probe: then it has to come
 * to breaker_trip(), breaker_close() or breaker_forget(). */
bool breaker_enter(struct breaker *breaker, int64_t now_us);
/* The email that probes tells nothing: the next one may. */
void breaker_forget(struct breaker *breaker);
/* When the pause ends; 0: there is none. */
int64_t breaker_until_us(const struct breaker *breaker);
bool breaker_is_open(const struct breaker *breaker);

/* It failed in a way that concerns all: whether it opened just now. */
bool breaker_trip(
	struct breaker *breaker, enum breaker_cause cause, const char *words, int64_t now_us);
/* Postfix took a message that was not recorded in time: whether there were enough of
 * them in a row to trip it. */
bool breaker_count_unrecorded(struct breaker *breaker);
/* Postfix answered 4xx: whether there were enough in a row to trip it. */
bool breaker_count_put_off(struct breaker *breaker);
/* An email went through: whether it was open until now, and for how long. */
bool breaker_close(struct breaker *breaker, int64_t now_us, int64_t *open_us_r);

/* For any thread. */
void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r);

#endif
