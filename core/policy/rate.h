/*
 * rate: limits the requests of each company with a token bucket. rate_take() is arithmetic
 * only: no clock, no table, no lock.
 *
 * A bucket holds `burst` tokens and gains `per_s` tokens a second. A request takes one. Only
 * the time when the bucket will be full again is stored, so the limits can change at any time.
 */
#ifndef POSTERN_POLICY_RATE_H
#define POSTERN_POLICY_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Both are between 1 and a million. */
struct rate_limit {
	int64_t per_s;
	int64_t burst;
};

/* A zeroed bucket is full. */
struct rate_bucket {
	int64_t full_ns; /* monotonic */
};

/* The state after a request. All zero: no limit. */
struct rate_state {
	int64_t limit;     /* size of the bucket */
	int64_t remaining; /* tokens left */
	int64_t reset_s;   /* seconds until it is full, rounded up */
	int64_t retry_s;   /* if refused: seconds until a token is available, at least 1; else
			    * 0 */
};

/* Takes a token. False if there is none. */
bool rate_take(struct rate_bucket *bucket, const struct rate_limit *limit, int64_t now_us,
	struct rate_state *state_r);

/* The buckets of all companies, shared by all threads. The size is fixed. A full bucket need
 * not be kept, so its entry is free. If no entry is free, the bucket that will be full first is
 * replaced. */
struct rate_table;

struct rate_table *rate_table_new(void);
void rate_table_free(struct rate_table *table);

/* Takes a token from the company's bucket, see rate_take(). Thread-safe. */
bool rate_table_take(struct rate_table *table, const char *company_id,
	const struct rate_limit *limit, int64_t now_us, struct rate_state *state_r);

#endif
