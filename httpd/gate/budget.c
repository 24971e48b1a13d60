/*
 * budget: how many requests may be under way, and how much memory they may hold.
 *
 * Invariant: the counters are the sums of the shares, and for moments more.
 *
 * Threads: a budget any; a share one at a time.
 */
#include "httpd/gate/budget.h"

#include <stddef.h>

/* FNV-1a; ids are random and not the caller's choice. */
static _Atomic int64_t *company_of(struct budget *budget, const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return &budget->by_company[hash % BUDGET_COMPANIES];
}

enum budget_entry budget_enter(struct budget *budget, int64_t limit,
	const char *company_id, int64_t n, struct budget_share *share)
{
	_Atomic int64_t *company = company_of(budget, company_id);
	int64_t more = n - share->requests, others, of_company;

	if (more <= 0)
		return BUDGET_ENTERED;
	others = atomic_fetch_add(&budget->requests, more) - share->requests;
	of_company = atomic_fetch_add(company, more) - share->requests;
	if (of_company < limit - others) {
		share->budget = budget;
		share->requests = n;
		share->company = company;
		return BUDGET_ENTERED;
	}
	atomic_fetch_sub(company, more);
	atomic_fetch_sub(&budget->requests, more);
	return others < limit ? BUDGET_COMPANY_FULL : BUDGET_FULL;
}

static bool take(struct budget *budget, int64_t limit, int64_t wanted,
	struct budget_share *share)
{
	int64_t more = wanted - share->bytes;

	if (more <= 0)
		return true;
	if (wanted <= BUDGET_SMALL_BYTES)
		limit += limit / BUDGET_RESERVE;
	if (atomic_fetch_add(&budget->used, more) + more > limit) {
		atomic_fetch_sub(&budget->used, more);
		return false;
	}
	share->budget = budget;
	share->bytes = wanted;
	return true;
}

bool budget_take(struct budget *budget, int64_t limit, uint64_t body_bytes,
	struct budget_share *share)
{
	if (body_bytes > (uint64_t)limit / BUDGET_FACTOR)
		return false;
	return take(budget, limit, (int64_t)body_bytes * BUDGET_FACTOR, share);
}

bool budget_add(struct budget *budget, int64_t limit, uint64_t bytes,
	struct budget_share *share)
{
	if (bytes > (uint64_t)(limit - share->held) || share->held > limit ||
		!take(budget, limit, share->held + (int64_t)bytes, share))
		return false;
	share->held += (int64_t)bytes;
	return true;
}

void budget_subtract(struct budget_share *share, uint64_t bytes)
{
	share->held -= (int64_t)bytes;
}

void budget_trim(struct budget_share *share, uint64_t body_bytes)
{
	int64_t needed = (int64_t)body_bytes * BUDGET_FACTOR;

	if (needed < share->held)
		needed = share->held;
	if (share->budget == NULL || share->bytes <= needed)
		return;
	atomic_fetch_sub(&share->budget->used, share->bytes - needed);
	share->bytes = needed;
}

bool budget_hold(struct budget *budget, int64_t limit, uint64_t bytes,
	struct budget_share *share)
{
	return take(budget, limit,
		bytes < (uint64_t)limit ? (int64_t)bytes : limit, share);
}

void budget_give_back(struct budget_share *share)
{
	if (share->budget) {
		atomic_fetch_sub(&share->budget->used, share->bytes);
		atomic_fetch_sub(&share->budget->requests, share->requests);
	}
	if (share->company)
		atomic_fetch_sub(share->company, share->requests);
	*share = (struct budget_share){0};
}
