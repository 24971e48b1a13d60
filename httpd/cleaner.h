/*
 * cleaner: removes what is too old from the store: see store_clean(), and
 * store_purge for what the settings keep for a limited time.
 *
 * A recurring job: a round a minute, each of which removes few rows.
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
	CLEANER_ROWS = 100,        /* the most rows of each kind that one round removes */
	CLEANER_BOUND_ROWS = 5000, /* rows that are counted, in a round */
	CLEANER_BUDGET_US = 2000,  /* for each kind that the settings limit */
};

struct cleaner;

/* clock is the time by which rows are old. The caller keeps ownership of the
 * arguments. Free the committer before the cleaner. */
struct cleaner *cleaner_new(
	struct committer *committer, const struct clock *clock, struct log *log);
void cleaner_free(struct cleaner *cleaner);

/* Sets the retention periods ([retention]). Before the first call everything is
 * kept. The next round is due at once. */
void cleaner_set(struct cleaner *cleaner, const struct conf *conf);

/* See recurring_round(). */
bool cleaner_round(struct cleaner *cleaner, int64_t now_us);

#endif
