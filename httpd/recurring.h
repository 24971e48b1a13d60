/*
 * recurring: a job of the committer that is submitted again at intervals.
 *
 * The job is lazy, so no write of a request waits long for it if a round is
 * short. There is one at a time: while it is under way, the committer owns it.
 *
 * Threads: one thread submits the rounds; run() and ended() are called on the
 * committer's.
 */
#ifndef POSTERN_HTTPD_RECURRING_H
#define POSTERN_HTTPD_RECURRING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/db/committer.h"

struct log;

enum { RECURRING_STEP_MS = 50 }; /* between rounds while there is more to do */

struct recurring {
	/* Set by the owner. */
	struct committer *committer;
	struct log *log;
	int64_t every_us;
	bool patient;       /* see struct commit_job */
	const char *failed; /* the event that is logged when the job begins to fail */
	/* Returns 1 if there is more to do, so that the next round is due at once,
	 * 0 if not, -1 on error. */
	int (*run)(struct db *db, void *arg, struct err *err);
	/* Called with the result after the commit; NULL: not. */
	void (*ended)(void *arg, int result);
	void *arg;

	/* Used by recurring.c. */
	struct commit_job job;
	int64_t next_us; /* monotonic: no round before, unless there is more */
	atomic_bool busy;
	bool more;
	bool failing;
};

/* Submits a round, if one is due and none is under way. now_us is of a monotonic
 * clock. Returns true if a round is under way now: then call it again after
 * RECURRING_STEP_MS. Free the committer before the job. */
bool recurring_round(struct recurring *recurring, int64_t now_us);
/* Makes a round due. */
void recurring_hurry(struct recurring *recurring);

#endif
