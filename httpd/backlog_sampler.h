/*
 * backlog_sampler: every five minutes stores how many emails wait here and in
 * Postfix's queue (store_backlog_sample), for the history that people see. Once
 * an hour it removes hourly counts that are too old (store_outcome_clean).
 */
#ifndef POSTERN_HTTPD_BACKLOG_SAMPLER_H
#define POSTERN_HTTPD_BACKLOG_SAMPLER_H

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

/* Submits a sample to the committer, if one is due and none is under way.
 * now_us is of a monotonic clock. */
void backlog_sampler_round(struct backlog_sampler *sampler, int64_t now_us);

#endif
