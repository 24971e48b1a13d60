/*
 * cleaner: has what is too old removed from the store, see store_clean().
 *
 * A round removes few rows, in a lazy job, so that no write of a request waits
 * long behind it. There is one a minute; while there is more to remove, one
 * whenever it is asked.
 */
#ifndef POSTERN_HTTPD_CLEANER_H
#define POSTERN_HTTPD_CLEANER_H

#include "core/base/clock.h"
#include "core/db/committer.h"

struct log;

enum {
	CLEANER_EVERY_MS = 60 * 1000,
	CLEANER_ROWS = 100, /* of each kind, in a round */
};

struct cleaner;

/* clock says what is old. All that is given stays the caller's; the committer
 * must be gone before the cleaner is freed. */
struct cleaner *cleaner_new(struct committer *committer,
	const struct clock *clock, struct log *log);
void cleaner_free(struct cleaner *cleaner);

/* Hands a round to the committer, if one is due and none is under way. now_us
 * is of a clock that never goes back. */
void cleaner_round(struct cleaner *cleaner, int64_t now_us);

#endif
