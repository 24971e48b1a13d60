/*
 * rate: how many requests one caller may make. A token bucket, as arithmetic:
 * no clock, no table, no lock.
 *
 * A bucket holds `burst` tokens and gets `per_s` back in each second; a request
 * takes one. What is kept of it is the one moment at which it will be full
 * again, so that other limits can be laid on it at any time.
 */
#ifndef POSTERN_POLICY_RATE_H
#define POSTERN_POLICY_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Both between 1 and a million. */
struct rate_limit {
	int64_t per_s;
	int64_t burst;
};

/* Begins zeroed: full. */
struct rate_bucket {
	int64_t full_ns; /* monotonic */
};

/* Where a caller stands after a request. All zero: there is no limit. */
struct rate_state {
	int64_t limit;     /* tokens of a full bucket */
	int64_t remaining; /* tokens that are left */
	int64_t reset_s;   /* until it is full, rounded up */
	int64_t retry_s;   /* when refused: until there is a token, at least 1 */
};

/* Takes a token. False, and none taken, when there is none. */
bool rate_take(struct rate_bucket *bucket, const struct rate_limit *limit, int64_t now_us,
	struct rate_state *state_r);

/* The buckets of all companies, for all workers. Its size is fixed: a bucket
 * that is full again is as good as none, so its place is free; where there is
 * no free entry, the bucket that is the next to be full gives way to the new
 * one. */
struct rate_table;

struct rate_table *rate_table_new(void);
void rate_table_free(struct rate_table *table);

/* Takes a token from the company's bucket; see rate_take(). Any thread. */
bool rate_table_take(struct rate_table *table, const char *company_id,
	const struct rate_limit *limit, int64_t now_us, struct rate_state *state_r);

#endif
