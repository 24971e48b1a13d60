/*
 * backlog_sampler: every five minutes stores how many emails wait in the outbox
 * and in Postfix's queue, of all and of each company (store_backlog_sample). Once
 * an hour it removes hourly counts that are too old (store_outcome_clean).
 */
#ifndef POSTERN_HTTPD_BACKLOG_SAMPLER_H
#define POSTERN_HTTPD_BACKLOG_SAMPLER_H

#include <stdbool.h>

#include "core/base/clock.h"
#include "core/db/committer.h"
#include "httpd/outbox/outbox.h"

struct log;
struct backlog_sampler;

/* The caller keeps ownership of the arguments. Free the committer before the
 * sampler. */
struct backlog_sampler *backlog_sampler_new(struct committer *committer, struct outbox *outbox,
	const struct clock *clock, struct log *log);
void backlog_sampler_free(struct backlog_sampler *sampler);

/* Submits a round to the committer, if one is due and none is under way. now_us
 * is of a monotonic clock. Returns true if a round is under way now. */
enum { BACKLOG_BUDGET_US = 3000 };
bool backlog_sampler_round(struct backlog_sampler *sampler, int64_t now_us);

#endif
