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
 * A company's emails may be the cause themselves. So failures with an answer of Postfix count for
 * each company by itself: enough of them put off that company alone, with pauses and probes of its
 * own. If an email of another company goes through, the fault is known to be the company's own. If
 * BREAKER_SEVERAL companies fail, and no email of anybody goes through meanwhile, all wait. Then
 * each other company may probe once without a pause, until BREAKER_COMPANIES have failed. So
 * companies that fail by their own fault hold up nobody else for longer than one probe takes. The
 * companies that have failed probe in turns, with emails from the store: one that sends request
 * after request would take each probe otherwise. When
 * the breaker closes, further failures of those that had failed concern them alone, until an email
 * of their own goes through.
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
	BREAKER_SEVERAL = 5,
	BREAKER_COMPANIES = 128, /* the most that are remembered to have failed */
};

enum breaker_cause {
	BREAKER_CLOSED,
	BREAKER_AWAY,       /* Postfix or the milter does not take messages */
	BREAKER_NO_RECORDS, /* Postfix does, but the milter records none */
};

const char *breaker_cause_name(enum breaker_cause cause);

/* The part of the state that other threads may read: if Postfix or the milter seems to be away. */
struct breaker_state {
	enum breaker_cause cause; /* BREAKER_CLOSED as well if companies are known to be at fault */
	int64_t since_us;         /* monotonic */
	char reason[ERR_TEXT_MAX]; /* "" while it is closed */
	uint64_t trips;            /* how often it has opened */
};

/* Closed if the cause is BREAKER_CLOSED. */
struct breaker_circuit {
	enum breaker_cause cause;
	int64_t since_us, until_us; /* until_us: the end of the pause */
	bool probing;
	char reason[ERR_TEXT_MAX];
};

/* A company with failures since the last email of anybody went through, or that is put off. */
struct breaker_company {
	char id[ID_SIZE];
	unsigned unrecorded, put_offs; /* in a row */
	struct breaker_circuit circuit;
	bool own_fault; /* emails of others have gone through since it failed: it fails alone */
	bool is_told;   /* it is put off by its own fault, which has been news */
	bool is_news;   /* the last breaker_close() found that out */
};

struct breaker {
	pthread_mutex_t mutex; /* protects the state */
	struct breaker_state state;
	struct breaker_circuit all;
	bool by_companies; /* `all` is open because those in `companies` failed */
	struct breaker_company companies[BREAKER_COMPANIES];
	size_t n;
};

void breaker_init(struct breaker *breaker);
void breaker_destroy(struct breaker *breaker);

/* True if an email of the company may go now. is_new: it comes from a request, and has not waited
 * in the store. If *probes_r is set, breaker_trip(), breaker_close() or breaker_forget() has to
 * follow. */
bool breaker_enter(struct breaker *breaker, const char *company_id, bool is_new, int64_t now_us,
	bool *probes_r);
/* The company's probe had no result: the next email may probe. */
void breaker_forget(struct breaker *breaker, const char *company_id);
/* Why the company's emails wait; NULL if they do not. */
const struct breaker_circuit *breaker_circuit_of(struct breaker *breaker, const char *company_id);
/* True if no company's email may go now. */
bool breaker_is_shut(const struct breaker *breaker, int64_t now_us);
/* True if the company, one of `companies`, may send nothing now. */
bool breaker_pauses(
	const struct breaker *breaker, const struct breaker_company *company, int64_t now_us);

/* Opens the breaker: an email failed in a way that concerns all (company_id is NULL), or one of
 * the company's failed and breaker_count_...() returned true. Returns true if Postfix or the
 * milter seems to be away as of now. */
bool breaker_trip(struct breaker *breaker, enum breaker_cause cause, const char *reason,
	const char *company_id, int64_t now_us);
/* Counts a message that Postfix accepted and the milter did not record in time. Returns true if the
 * breaker must trip: there were enough in a row, or this one was a probe. */
bool breaker_count_unrecorded(struct breaker *breaker, const char *company_id, bool probes);
/* Counts a temporary refusal (4xx) by Postfix. */
bool breaker_count_put_off(struct breaker *breaker, const char *company_id, bool probes);

enum breaker_change {
	BREAKER_NO_NEWS,
	BREAKER_WAS_OPEN,    /* Postfix or the milter seemed to be away, and is not */
	BREAKER_OWN_FAULT,   /* the companies with is_news are put off by their own fault */
	BREAKER_ONE_IS_BACK, /* this company was put off by its own fault, and is not any more */
};
/* An email of the company went through: Postfix accepted it, or (recorded) the milter recorded it
 * as well. *open_us_r is how long the breaker was open. */
enum breaker_change breaker_close(struct breaker *breaker, const char *company_id, bool recorded,
	bool probes, int64_t now_us, int64_t *open_us_r);

/* Any thread. */
void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r);

#endif
