/*
 * store_event_count: how many events there were, by hour, by day and by domain.
 */
#ifndef POSTERN_STORE_STORE_EVENT_COUNT_H
#define POSTERN_STORE_STORE_EVENT_COUNT_H

#include "core/db/db.h"
#include "core/store/event/delivery_status.h"

/* Numbers of events by kind, and of emails that the milter refused. They are counted by the hour,
 * and include events that were removed since. */
struct event_count {
	int64_t time_us;      /* begin of the step, in UTC; 0 if by domain */
	char *domain;         /* set if by domain; else NULL */
	enum event_kind kind; /* or COUNTED_REFUSED */
	int64_t count;        /* over 0 */
};
struct event_counts {
	struct event_count *items; /* ordered by time_us, or by domain */
	size_t n;
	char *next; /* if by domain: `after` of the next page; NULL: this is the last */
};
struct event_count_filter {
	const char *company_id; /* NULL: any */
	const char *domain;     /* NULL: of any */
	/* Bounds of occurred_us: the hours that begin at or after begin_us and before end_us. */
	int64_t begin_us;
	int64_t end_us;
	int64_t step_us; /* an hour, or a day */
	bool by_domain;  /* one total per domain instead of steps */
	/* For by_domain without a domain: a page of up to `limit` domains that have any counts,
	 * ordered by name, after this one; NULL: the first page. A domain without counts in the
	 * time has no item. */
	const char *after;
	int limit;
};
/* Counts of zero have no item. The cost depends on the hours and days and on the domains of the
 * page, not on the number of companies. Returns 0 or -1. */
int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err);
void store_event_counts_free(struct event_counts *counts);

/* Counts by domain since since_us, for domains with more than two bounced or expired deliveries in
 * a day; up to limit domains, of the newest days those with the most. Returns 0 or -1. */
int store_event_bounces(struct db *db, const char *company_id, int64_t since_us, int limit,
	struct event_counts *counts_r, struct err *err);

#endif
