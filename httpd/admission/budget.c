/*
 * budget: how many requests may be under way, and how much memory
 * they may hold.
 *
 * Invariant: the counters are the sums of the shares, and for moments more.
 *
 * Threads: a budget any; a share one at a time.
 */
#include "httpd/admission/budget.h"

#include <stddef.h>

#include "core/base/id.h"

/* How many slots more the company gets, one by one. */
static int64_t slots_for(int64_t left, int64_t of_company)
{
	return (left - of_company + 1) / 2;
}

enum slots_result slots_take(struct slots *slots, int64_t limit, const char *company_id, int64_t n,
	struct slots_share *share)
{
	_Atomic int64_t *company = &slots->by_company[id_hash(company_id) % BUDGET_COMPANIES];
	int64_t left = limit - (atomic_load(&slots->taken) - share->n);
	int64_t of_company = atomic_load(company) - share->n;
	int64_t most = slots_for(left, of_company), more;

	if (n > most && most > 0)
		n = most;
	more = n - share->n;
	if (more <= 0)
		return SLOTS_TAKEN;
	/* Others may have come in between. */
	left = limit - (atomic_fetch_add(&slots->taken, more) - share->n);
	of_company = atomic_fetch_add(company, more) - share->n;
	if (of_company < left) {
		*share = (struct slots_share){slots, company, n};
		return SLOTS_TAKEN;
	}
	atomic_fetch_sub(company, more);
	atomic_fetch_sub(&slots->taken, more);
	return left > 0 ? SLOTS_COMPANY_FULL : SLOTS_FULL;
}

void slots_release(struct slots_share *share)
{
	if (share->slots) {
		atomic_fetch_sub(share->company, share->n);
		atomic_fetch_sub(&share->slots->taken, share->n);
	}
	*share = (struct slots_share){0};
}

static bool charge(struct budget *budget, int64_t limit, int64_t wanted, struct budget_share *share)
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

bool budget_reserve_body(
	struct budget *budget, int64_t limit, uint64_t body_bytes, struct budget_share *share)
{
	if (body_bytes > (uint64_t)limit / BUDGET_FACTOR)
		return false;
	return charge(budget, limit, (int64_t)body_bytes * BUDGET_FACTOR, share);
}

bool budget_count_bytes(
	struct budget *budget, int64_t limit, uint64_t bytes, struct budget_share *share)
{
	if (bytes > (uint64_t)(limit - share->held) || share->held > limit ||
		!charge(budget, limit, share->held + (int64_t)bytes, share))
		return false;
	share->held += (int64_t)bytes;
	return true;
}

void budget_uncount_bytes(struct budget_share *share, uint64_t bytes)
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

bool budget_reserve_answer(
	struct budget *budget, int64_t limit, uint64_t bytes, struct budget_share *share)
{
	return charge(budget, limit, bytes < (uint64_t)limit ? (int64_t)bytes : limit, share);
}

void budget_give_back(struct budget_share *share)
{
	if (share->budget)
		atomic_fetch_sub(&share->budget->used, share->bytes);
	slots_release(&share->requests);
	*share = (struct budget_share){0};
}
