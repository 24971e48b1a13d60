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
 * Messages in a row that are all of one company may be at fault themselves: emails of others
 * go on, and when one of them goes through, that company alone is put off until one of its own
 * does. Where theirs fail as well, or no connection was had, all wait.
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
#include "core/base/id.h"

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
	/* Whose emails alone have failed; "" for those of several. When those of others
	 * went through meanwhile, the cause for others to know is BREAKER_CLOSED. */
	char company_id[ID_SIZE];
	bool one_company;
};

struct breaker {
	pthread_mutex_t mutex; /* of the state */
	struct breaker_state state;
	int64_t until_us; /* of the pause */
	bool probing;
	unsigned unrecorded;  /* in a row */
	unsigned put_offs;    /* likewise */
	char row_of[ID_SIZE]; /* whose they are; "" for several, or none */
};

void breaker_init(struct breaker *breaker);
void breaker_destroy(struct breaker *breaker);

/* Whether an email of the company may go now. With *probes_r it has to come to
 * breaker_trip(), breaker_close() or breaker_forget(). */
bool breaker_enter(struct breaker *breaker, const char *company_id, int64_t now_us, bool *probes_r);
/* The email that probes tells nothing: the next one may. */
void breaker_forget(struct breaker *breaker);
/* When the pause ends; 0: there is none. */
int64_t breaker_until_us(const struct breaker *breaker);
/* Whether it is open for all, or for the company alone that others have shown to be
 * at fault (NULL: for none). */
bool breaker_is_open(const struct breaker *breaker);
const char *breaker_one_company(const struct breaker *breaker);

/* It failed in a way that concerns all (company_id NULL), or enough emails did in a row, of
 * which the last is the company's: whether it opened just now. */
bool breaker_trip(struct breaker *breaker, enum breaker_cause cause, const char *words,
	const char *company_id, int64_t now_us);
/* Postfix took a message that was not recorded in time: whether there were enough of
 * them in a row to trip it, or it was one that probes. */
bool breaker_count_unrecorded(struct breaker *breaker, const char *company_id, bool probes);
/* Postfix answered 4xx: the same. */
bool breaker_count_put_off(struct breaker *breaker, const char *company_id, bool probes);

enum breaker_change {
	BREAKER_NO_NEWS,
	BREAKER_WAS_OPEN,    /* for all until now */
	BREAKER_FOR_ONE,     /* others go through: it is open for one company alone */
	BREAKER_ONE_IS_BACK, /* for that one until now */
};
/* An email went through, as far as Postfix, or to its record. *open_us_r: since when it
 * was open. */
enum breaker_change breaker_close(struct breaker *breaker, const char *company_id, bool recorded,
	bool probes, int64_t now_us, int64_t *open_us_r);

/* For any thread. */
void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r);

#endif
