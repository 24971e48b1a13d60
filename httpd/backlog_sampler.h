/*
 * backlog_sampler: notes once in five minutes how many emails wait here and in Postfix's queue
 * (store_backlog_sample), so that people can see how that went. Once in an hour it removes the
 * counts by the hour that are too old (store_outcome_clean).
 */
#ifndef POSTERN_HTTPD_BACKLOG_SAMPLER_H
#define POSTERN_HTTPD_BACKLOG_SAMPLER_H

#include "core/base/clock.h"
#include "core/db/committer.h"
#include "httpd/outbox/outbox.h"

struct log;
struct backlog_sampler;

/* All that is given stays the caller's; the committer must be gone before the sampler is freed. */
struct backlog_sampler *backlog_sampler_new(struct committer *committer, struct outbox *outbox,
	const struct clock *clock, struct log *log);
void backlog_sampler_free(struct backlog_sampler *sampler);

/* Hands a sample to the committer, if one is due and none is under way. now_us is of a clock that
 * never goes back. */
void backlog_sampler_round(struct backlog_sampler *sampler, int64_t now_us);

#endif
