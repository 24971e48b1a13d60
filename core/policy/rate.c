/*
 * rate: a token bucket.
 *
 * Pure: no state, no I/O. Threads: any; a bucket one at a time.
 */
#include "core/policy/rate.h"

enum { NS_PER_US = 1000 };

static const int64_t ns_per_s = 1000000000;

static int64_t seconds_up(int64_t ns)
{
	return (ns + ns_per_s - 1) / ns_per_s;
}

bool rate_take(struct rate_bucket *bucket, const struct rate_limit *limit,
	int64_t now_us, struct rate_state *state_r)
{
	int64_t now = now_us * NS_PER_US;
	int64_t token = ns_per_s / limit->per_s; /* time for one to come */
	int64_t room = token * limit->burst;
	int64_t debt = bucket->full_ns > now ? bucket->full_ns - now : 0;
	bool taken;

	if (debt > room) /* the limit was another one before */
		debt = room;
	taken = debt + token <= room;
	if (taken)
		debt += token;
	bucket->full_ns = now + debt;
	*state_r = (struct rate_state){
		.limit = limit->burst,
		.remaining = (room - debt) / token,
		.reset_s = seconds_up(debt),
		.retry_s = taken ? 0 : seconds_up(debt + token - room),
	};
	return taken;
}
