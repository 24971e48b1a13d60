/*
 * op_stats: statistics of emails in a time span: bounce reasons, providers, delivery delays, and
 * the backlog.
 *
 * A step is an hour or a day in UTC. The time span is widened to whole steps; each answer contains
 * it (`since`, `until`), and `missing_percent` while events of the time before an upgrade are still
 * being counted.
 */
#ifndef POSTERN_OPS_OP_STATS_H
#define POSTERN_OPS_OP_STATS_H

#include "core/ops/op.h"
#include "core/store/event/delivery_status.h"

struct op_stats {
	const char *company_id;
	const char *domain; /* NULL: all; not of the backlog */
	int64_t since;      /* 0: 30 days before until */
	int64_t until;      /* 0: now */
	const char *step;   /* hour or day; NULL: the whole time; for delays and the backlog days */
};
enum { OP_STATS_STEPS_MAX = 1000 };

/* Gives the number of recipients that bounced or expired, by reason. */
extern const struct operation op_stats_reasons;
/* Gives the numbers of delivered, deferred, bounced and expired recipients by provider, over the
 * whole time. */
extern const struct operation op_stats_providers;
/* Gives for each step the number of deliveries, and the 50th and 95th percentile of their
 * delays. */
extern const struct operation op_stats_delays;
/* Gives for each step the maximum number of emails in the outbox and, over all companies, in
 * Postfix's queue. */
extern const struct operation op_stats_backlog;

/* What became of emails: counts of events by kind, and of emails that the milter refused
 * (`refused`). */
struct op_stats_events {
	const char *company_id; /* may be removed */
	const char *domain;
	int64_t since;     /* 0: 30 days before now */
	int64_t until;     /* 0: now */
	const char *step;  /* hour or day; NULL: day */
	const char *by;    /* time or domain; NULL: time */
	int64_t limit;     /* by domain: how many domains are looked at; 0: 1000 */
	const char *after; /* by domain: the `next` of the previous page */
};
/* An item of the result. */
struct op_stats_step {
	int64_t time_us; /* when the step begins; 0 if by domain */
	char *domain;    /* NULL: of a step */
	int64_t counts[COUNTED_REFUSED + 1];
};
/* Gives the counts of each step with events, or of each domain over the whole time; then in pages,
 * which are smaller for a longer time. */
extern const struct operation op_stats_events;

#endif
