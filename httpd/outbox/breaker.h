/*
 * breaker: the circuit breaker of the way into Postfix.
 *
 *   closed ── trip ──> open ── the pause is over ──> probing ── an email goes ──> closed
 *                        ^                             │
 *                        └───────── trip, a longer pause
 *
 * While it is closed, emails flow. Signs that Postfix or the milter is away open it:
 * - no connection to Postfix;
 * - BREAKER_PUT_OFF messages in a row that got a 4xx (a single message may be the cause itself);
 * - BREAKER_UNRECORDED messages in a row that Postfix took and the milter did not record in time.
 * Then one email at a time probes. The pause between probes is a quarter of the time since the
 * breaker opened, within BREAKER_FIRST_MS and BREAKER_MOST_MS.
 *
 * If all failures in a row are of one company, its emails may be the cause. Then the emails of
 * other companies still go. If one of those goes through, the breaker is open for that company
 * alone, until one of its own emails goes through. If they fail as well, all wait.
 *
 * No I/O and no clock: the caller passes monotonic times. Threads: one at a time, except for
 * breaker_state_get(), which any may call.
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

/* The part of the state that other threads may read. */
struct breaker_state {
	enum breaker_cause cause;
	int64_t since_us;          /* monotonic */
	char reason[ERR_TEXT_MAX]; /* "" while it is closed */
	uint64_t trips;            /* how often it has opened */
	/* The company whose emails alone have failed; "" if several have. */
	char company_id[ID_SIZE];
	bool one_company; /* emails of others go through: it is open for that company only */
};

struct breaker {
	pthread_mutex_t mutex; /* of the state */
	struct breaker_state state;
	int64_t until_us; /* of the pause */
	bool probing;
	/* Failures in a row, and the company they are all of; "" if there are several, or none. */
	unsigned unrecorded, put_offs;
	char failing_company[ID_SIZE];
};

void breaker_init(struct breaker *breaker);
void breaker_destroy(struct breaker *breaker);

/* True if an email of the company may go now. If *probes_r is set, breaker_trip(), breaker_close()
 * or breaker_forget() has to follow. */
bool breaker_enter(struct breaker *breaker, const char *company_id, int64_t now_us, bool *probes_r);
/* The probe had no result: the next email may probe. */
void breaker_forget(struct breaker *breaker);
/* When the pause ends; 0 if the breaker is closed. */
int64_t breaker_until_us(const struct breaker *breaker);
/* True if it is open; and the only company it is open for (NULL: for all, or closed). */
bool breaker_is_open(const struct breaker *breaker);
const char *breaker_one_company(const struct breaker *breaker);

/* Opens the breaker: an email failed in a way that concerns all (company_id is NULL), or enough
 * failed in a row, the last of which was the company's. Returns true if the breaker opened just
 * now. */
bool breaker_trip(struct breaker *breaker, enum breaker_cause cause, const char *reason,
	const char *company_id, int64_t now_us);
/* Counts a message that Postfix accepted and the milter did not record in time. Returns true if the
 * breaker must trip: there were enough in a row, or this one was a probe. */
bool breaker_count_unrecorded(struct breaker *breaker, const char *company_id, bool probes);
/* The same for a 4xx of Postfix. */
bool breaker_count_put_off(struct breaker *breaker, const char *company_id, bool probes);

enum breaker_change {
	BREAKER_NO_NEWS,
	BREAKER_WAS_OPEN,    /* was open for all, is closed now */
	BREAKER_FOR_ONE,     /* is now open for one company only */
	BREAKER_ONE_IS_BACK, /* was open for one company, is closed now */
};
/* An email went through: Postfix accepted it, or (recorded) the milter recorded it as well.
 * *open_us_r is how long the breaker was open. */
enum breaker_change breaker_close(struct breaker *breaker, const char *company_id, bool recorded,
	bool probes, int64_t now_us, int64_t *open_us_r);

/* The cause is BREAKER_CLOSED if it is open for one company alone. Any thread. */
void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r);

#endif
