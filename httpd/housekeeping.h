/*
 * housekeeping: the recurring jobs of postern-httpd.
 *
 * - The cleaner removes what is too old (cleaner.h).
 * - The filler adds what is computed from rows afterwards: the text index of
 *   emails (store_text_index_fill) and, after an upgrade, statistics of earlier
 *   events (store_outcome_fill).
 * - The sampler stores every five minutes how many emails wait in the outbox and
 *   in Postfix's queue, of all and of each company (store_backlog_sample). Once
 *   an hour it removes hourly counts that are too old (store_outcome_clean).
 *
 * Threads: one.
 */
#ifndef POSTERN_HTTPD_HOUSEKEEPING_H
#define POSTERN_HTTPD_HOUSEKEEPING_H

#include <stdbool.h>

#include "core/base/clock.h"
#include "core/db/committer.h"

struct conf;
struct housekeeping;
struct log;

/* The caller keeps ownership of the arguments. Free the committer before the
 * housekeeping. */
struct housekeeping *housekeeping_new(
	struct committer *committer, const struct clock *clock, struct log *log);
void housekeeping_free(struct housekeeping *housekeeping);

/* Sets the retention periods ([retention]), see cleaner_set(). */
void housekeeping_set(struct housekeeping *housekeeping, const struct conf *conf);

/* Submits the jobs that are due. now_us is of a monotonic clock. Returns true if
 * one is under way now: then call it again after RECURRING_STEP_MS. */
bool housekeeping_round(struct housekeeping *housekeeping, int64_t now_us);

#endif
