/*
 * budget: how many requests may be under way, and how much memory they may
 * hold.
 *
 * Invariant: each counter is at least the sum of its shares; it is more only
 * while a share is being changed.
 *
 * Threads: a budget any; a share one at a time.
 */
#include "httpd/admission/budget.h"

#include <stddef.h>

#include "core/base/id.h"

enum slots_result slots_take(struct slots *slots, int64_t limit, const char *company_id, int64_t n,
	struct slots_share *share)
{
	_Atomic int64_t *company = &slots->by_company[id_hash(company_id) % BUDGET_COMPANIES];
	int64_t left = limit - (atomic_load(&slots->taken) - share->n);
	int64_t of_company = atomic_load(company) - share->n;
	/* The slots that the company could take one after another, each while it has fewer than are
	 * left. */
	int64_t most = (left - of_company + 1) / 2, more;

	if (n > most && most > 0)
		n = most;
	more = n - share->n;
	if (more <= 0)
		return SLOTS_TAKEN;
	/* Other threads may have taken slots meanwhile: count first, check
	 * again. */
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

static enum budget_kind kind_of(int64_t bytes)
{
	return bytes > BUDGET_SMALL_BYTES ? BUDGET_LARGE : BUDGET_SMALL;
}

static void add_bytes(
	struct budget *budget, _Atomic int64_t *company, enum budget_kind kind, int64_t bytes)
{
	atomic_fetch_add(&budget->used[kind], bytes);
	atomic_fetch_add(&company[kind], bytes);
}

/* Bytes held in all, of each kind; and by the company, of the kind that it asks
 * for. */
struct held {
	int64_t of[BUDGET_KINDS];
	int64_t own;
};

/* True if the request may have these bytes. held includes them. */
static bool fits(int64_t limit, enum budget_kind kind, const struct held *held, int64_t bytes)
{
	int64_t large = held->of[BUDGET_LARGE], small = held->of[BUDGET_SMALL];
	int64_t besides = limit / BUDGET_RESERVE, reserve = limit / BUDGET_RESERVE, left;
	bool alone = bytes == held->of[kind];

	if (kind == BUDGET_LARGE) {
		left = limit - large - (small > besides ? small - besides : 0);
		return left >= 0 && (left >= reserve || held->own <= left || alone);
	}
	left = limit + besides - large - small;
	/* A small request leaves the reserve for large ones alone, and half of
	 * the one for small ones. It may take the last of the rest. */
	reserve += besides / 2;
	return left >= 0 && (left >= reserve || held->own - bytes < left + bytes || alone);
}

/* Decides whether the request may have bytes in place of had. Both are counted
 * already. */
static enum budget_result may_have(const struct budget *budget, int64_t limit,
	const _Atomic int64_t *company, int64_t had, int64_t bytes)
{
	enum budget_kind kind = kind_of(bytes), before = kind_of(had);
	struct held held = {.own = atomic_load(&company[kind])};

	for (size_t i = 0; i < BUDGET_KINDS; i++)
		held.of[i] = atomic_load(&budget->used[i]);
	/* Leave out what the request had before. */
	held.of[before] -= had;
	if (before == kind)
		held.own -= had;
	if (fits(limit, kind, &held, bytes))
		return BUDGET_TAKEN;
	held.of[kind] -= held.own - bytes;
	held.own = bytes;
	return fits(limit, kind, &held, bytes) ? BUDGET_COMPANY_FULL : BUDGET_FULL;
}

static enum budget_result charge(struct budget *budget, int64_t limit, const char *company_id,
	int64_t wanted, struct budget_share *share)
{
	_Atomic int64_t *company = share->company;
	int64_t had = share->bytes;
	enum budget_result result;

	if (wanted <= had)
		return BUDGET_TAKEN;
	if (company == NULL)
		company = budget->of_company[id_hash(company_id) % BUDGET_COMPANIES];
	/* Count first, then check: other threads charge at the same time. */
	add_bytes(budget, company, kind_of(wanted), wanted);
	result = may_have(budget, limit, company, had, wanted);
	if (result != BUDGET_TAKEN) {
		add_bytes(budget, company, kind_of(wanted), -wanted);
		return result;
	}
	add_bytes(budget, company, kind_of(had), -had);
	share->budget = budget;
	share->company = company;
	share->bytes = wanted;
	return BUDGET_TAKEN;
}

enum budget_result budget_reserve_body(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t body_bytes, struct budget_share *share)
{
	if (body_bytes > (uint64_t)limit / BUDGET_FACTOR)
		return BUDGET_FULL;
	return charge(budget, limit, company_id, (int64_t)body_bytes * BUDGET_FACTOR, share);
}

enum budget_result budget_count_bytes(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t bytes, struct budget_share *share)
{
	enum budget_result result = BUDGET_FULL;

	if (share->held <= limit && bytes <= (uint64_t)(limit - share->held))
		result = charge(budget, limit, company_id, share->held + (int64_t)bytes, share);
	if (result == BUDGET_TAKEN)
		share->held += (int64_t)bytes;
	return result;
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
	add_bytes(share->budget, share->company, kind_of(needed), needed);
	add_bytes(share->budget, share->company, kind_of(share->bytes), -share->bytes);
	share->bytes = needed;
}

enum budget_result budget_reserve_answer(struct budget *budget, int64_t limit,
	const char *company_id, uint64_t bytes, struct budget_share *share)
{
	return charge(
		budget, limit, company_id, bytes < (uint64_t)limit ? (int64_t)bytes : limit, share);
}

int64_t budget_used(const struct budget *budget)
{
	return atomic_load(&budget->used[BUDGET_SMALL]) + atomic_load(&budget->used[BUDGET_LARGE]);
}

void budget_move_bytes(struct budget_share *from, struct budget_share *to_r)
{
	*to_r = *from;
	to_r->requests = (struct slots_share){0};
	*from = (struct budget_share){.requests = from->requests};
}

void budget_give_back(struct budget_share *share)
{
	const struct slots_share *requests = &share->requests;

	if (share->budget)
		add_bytes(share->budget, share->company, kind_of(share->bytes), -share->bytes);
	if (requests->slots) {
		atomic_fetch_sub(requests->company, requests->n);
		atomic_fetch_sub(&requests->slots->taken, requests->n);
	}
	*share = (struct budget_share){0};
}
