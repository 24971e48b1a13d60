/*
 * budget: how many requests may be under way, and what large ones may hold.
 *
 * Threads: a budget any; a share one at a time.
 */
#include "httpd/http/budget.h"

#include <stddef.h>

bool budget_enter(struct budget *budget, int64_t limit, int64_t n,
	struct budget_share *share)
{
	int64_t more = n - share->requests;

	if (more <= 0)
		return true;
	if (atomic_fetch_add(&budget->requests, more) - share->requests >= limit) {
		atomic_fetch_sub(&budget->requests, more);
		return false;
	}
	share->budget = budget;
	share->requests = n;
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
	if (share->budget) {
		atomic_fetch_sub(&share->budget->used, share->bytes);
		atomic_fetch_sub(&share->budget->requests, share->requests);
	}
	*share = (struct budget_share){0};
}
