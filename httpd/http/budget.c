/*
 * budget: how many requests may be under way, and what large ones may hold.
 *
 * Threads: a budget any; a share one at a time.
 */
#include "httpd/http/budget.h"

#include <stddef.h>

bool budget_enter(struct budget *budget, int64_t limit, struct budget_share *share)
{
	if (share->counted)
		return true;
	if (atomic_fetch_add(&budget->requests, 1) >= limit) {
		atomic_fetch_sub(&budget->requests, 1);
		return false;
	}
	share->budget = budget;
	share->counted = true;
	return true;
}

bool budget_take(struct budget *budget, int64_t limit, uint64_t body_bytes,
	struct budget_share *share)
{
	int64_t wanted, more;

	if (body_bytes <= BUDGET_FREE_BYTES)
		return true;
	if (body_bytes > (uint64_t)limit / BUDGET_FACTOR)
		return false;
	wanted = (int64_t)body_bytes * BUDGET_FACTOR;
	more = wanted - share->bytes;
	if (more <= 0)
		return true;
	if (atomic_fetch_add(&budget->used, more) + more > limit) {
		atomic_fetch_sub(&budget->used, more);
		return false;
	}
	share->budget = budget;
	share->bytes = wanted;
	return true;
}

void budget_give_back(struct budget_share *share)
{
	if (share->budget)
		atomic_fetch_sub(&share->budget->used, share->bytes);
	if (share->counted)
		atomic_fetch_sub(&share->budget->requests, 1);
	*share = (struct budget_share){0};
}
