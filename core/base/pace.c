/*
 * pace: now and then.
 *
 * Threads: any.
 */
#include "core/base/pace.h"

bool pace_is_time(struct pace *pace, int64_t every_us, int64_t now_us)
{
	int64_t next_us = atomic_load(&pace->next_us);

	return now_us >= next_us && atomic_compare_exchange_strong(&pace->next_us,
					    &next_us, now_us + every_us);
}
