/*
 * rate_table: the buckets of all companies, for all workers.
 *
 * Its size is fixed. A bucket that is full again is as good as none, so its
 * place is free; where there is no free place, the bucket that is the next to
 * be full gives way to the new one.
 */
#ifndef POSTERN_HTTPD_RATE_TABLE_H
#define POSTERN_HTTPD_RATE_TABLE_H

#include "core/policy/rate.h"

struct rate_table;

struct rate_table *rate_table_new(void);
void rate_table_free(struct rate_table *table);

/* Takes a token from the company's bucket; see rate_take(). Any thread. */
bool rate_table_take(struct rate_table *table, const char *company_id,
	const struct rate_limit *limit, int64_t now_us,
	struct rate_state *state_r);

#endif
