/*
 * counts: the counters of a worker since its start.
 *
 * Each worker has its own. Only its thread adds; any thread may read at any
 * time. So adding is a load and a store, without a lock and without cache lines
 * that bounce between cores.
 */
#ifndef POSTERN_HTTPD_ADMISSION_COUNTS_H
#define POSTERN_HTTPD_ADMISSION_COUNTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct route;

enum {
	COUNTS_STATUSES = 32, /* counted separately; the last is for all others */
	COUNTS_BOUNDS = 14,   /* buckets of a histogram, without infinity */
	COUNTS_SUBMISSIONS = 4,
	COUNTS_EMAILS = 8,
};

/* The statuses, the last being 0 for all others, and the upper bounds of the
 * histograms. */
extern const int counts_statuses[COUNTS_STATUSES];
extern const int64_t counts_bounds_us[COUNTS_BOUNDS];

/* Requests of a route. */
struct route_counts {
	atomic_uint_least64_t statuses[COUNTS_STATUSES];
	/* Histogram of the time to handle a request. Requests refused by their
	 * head alone are not in it. */
	atomic_uint_least64_t took[COUNTS_BOUNDS + 1];
	atomic_uint_least64_t took_us;
};

struct worker_counts {
	const struct route *routes; /* the worker's table */
	size_t routes_n;
	/* Indexed by enum inject_result and enum send_end, which are not known
	 * here. */
	atomic_uint_least64_t submissions[COUNTS_SUBMISSIONS];
	atomic_uint_least64_t emails[COUNTS_EMAILS];
	atomic_uint_least64_t tests; /* emails in test mode, delivered to nobody */
	struct route_counts of[];    /* one for each route; the last is for requests without one */
};

struct worker_counts *counts_new(const struct route *routes);

static inline void count_add(atomic_uint_least64_t *count, uint64_t n)
{
	atomic_store_explicit(
		count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline uint64_t count_get(const atomic_uint_least64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

/* Counts an answer. route is NULL for a request without one. took_us is -1 for
 * a request refused by its head. */
void counts_reply(
	struct worker_counts *counts, const struct route *route, int status, int64_t took_us);

#endif
