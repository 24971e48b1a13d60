/*
 * op_stats: what became of emails in a time: why they bounced, at which providers, how long
 * deliveries took, and how much waited.
 *
 * A step is an hour or a day of UTC. The time is widened to whole steps; each answer says which it
 * is (`since`, `until`).
 */
#ifndef POSTERN_OPS_OP_STATS_H
#define POSTERN_OPS_OP_STATS_H

#include "core/ops/op.h"

struct op_stats {
	const char *company_id;
	int64_t since;    /* 0: 30 days before until */
	int64_t until;    /* 0: now */
	const char *step; /* hour or day; NULL: the whole time, of delays and the backlog days */
};
enum { OP_STATS_STEPS_MAX = 1000 };

/* Gives how many recipients bounced or expired for each reason. */
extern const struct operation op_stats_reasons;
/* Gives how many were delivered, deferred, bounced and expired at each provider; of the whole time.
 */
extern const struct operation op_stats_providers;
/* Gives for each step how many were delivered, and within which time half of them, and 95 of a
 * hundred. */
extern const struct operation op_stats_delays;
/* Gives for each step how many emails were in the outbox and in Postfix's queue at most. For
 * operators. */
extern const struct operation op_stats_backlog;

#endif
