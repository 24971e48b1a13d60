/*
 * counts: what a worker has counted since the start.
 *
 * Each worker has its own, and its thread alone adds; any thread reads at any
 * time. So adding is a load and a store, without a lock and without a cache
 * line that goes to and fro.
 */
#ifndef POSTERN_HTTPD_ADMISSION_COUNTS_H
#define POSTERN_HTTPD_ADMISSION_COUNTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct route;

enum {
	COUNTS_STATUSES = 32, /* that are told apart, with a place for others */
	COUNTS_BOUNDS = 14,   /* of the histograms, besides infinity */
	COUNTS_SUBMISSIONS = 4,
	COUNTS_EMAILS = 8,
};

/* The statuses, of which the last is 0 for any other; the upper bounds. */
extern const int counts_statuses[COUNTS_STATUSES];
extern const int64_t counts_bounds_us[COUNTS_BOUNDS];

/* Requests of a route. */
struct route_counts {
	atomic_uint_least64_t statuses[COUNTS_STATUSES];
	/* Those that were handled, by the time that it took; one that was
	 * refused by its head alone is not among them. */
	atomic_uint_least64_t took[COUNTS_BOUNDS + 1];
	atomic_uint_least64_t took_us;
};

struct worker_counts {
	const struct route *routes; /* as of the worker */
	size_t routes_n;
	/* Of enum inject_result and enum send_end, of which this knows
	 * nothing. */
	atomic_uint_least64_t submissions[COUNTS_SUBMISSIONS];
	atomic_uint_least64_t emails[COUNTS_EMAILS];
	atomic_uint_least64_t tests; /* emails that were to go to nobody */
	struct route_counts of[];    /* the last is of requests without a route */
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

/* A request was answered. route: NULL when it has none; took_us: -1 when it was
 * refused by its head. */
void counts_reply(
	struct worker_counts *counts, const struct route *route, int status, int64_t took_us);

#endif
