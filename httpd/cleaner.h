/*
 * cleaner: has what is too old removed from the store, see store_clean(), and
 * store_purge for what the settings keep for a time only.
 *
 * A round removes few rows, in a lazy job, so that no write of a request waits
 * long behind it. There is one a minute; while there is more to remove, one
 * whenever it is asked, which should be every CLEANER_STEP_MS.
 */
#ifndef POSTERN_HTTPD_CLEANER_H
#define POSTERN_HTTPD_CLEANER_H

#include <stdbool.h>

#include "core/base/clock.h"
#include "core/db/committer.h"

struct conf;
struct log;

enum {
	CLEANER_EVERY_MS = 60 * 1000,
	CLEANER_STEP_MS = 50,
	CLEANER_ROWS = 100,        /* of each kind, in a round */
	CLEANER_BOUND_ROWS = 5000, /* that are counted, in a round */
	CLEANER_BUDGET_US = 2000,  /* for each kind that the settings name */
};

struct cleaner;

/* clock says what is old. All that is given stays the caller's; the committer
 * must be gone before the cleaner is freed. */
struct cleaner *cleaner_new(
	struct committer *committer, const struct clock *clock, struct log *log);
void cleaner_free(struct cleaner *cleaner);

/* Takes over how long what is kept ([retention]); before, all is. The next
 * round is due at once. */
void cleaner_set(struct cleaner *cleaner, const struct conf *conf);

/* Hands a round to the committer, if one is due and none is under way. now_us
 * is of a clock that never goes back. Whether one is under way now. */
bool cleaner_round(struct cleaner *cleaner, int64_t now_us);

#endif
