/*
 * budget: how many requests may be under way at once, and how much memory they may
 * hold, over all workers.
 *
 * Memory: what a request holds is added to its share before it is allocated, and
 * subtracted when it is freed. A body takes its memory several times on its way
 * (as it came, parsed, as a message), so BUDGET_FACTOR times its size is taken in
 * advance, while it comes: a request that was let in for its size gets through.
 *
 * Small requests have 1/BUDGET_RESERVE of the limit besides it, which no large
 * one gets. As much of the limit itself is reserved for companies that have little
 * under way: a company gets a part of the reserve only while its large requests
 * hold no more than it leaves, or while no other large request is under way. Small
 * requests leave that reserve alone, and half of their own, by the same rule.
 */
#ifndef POSTERN_HTTPD_ADMISSION_BUDGET_H
#define POSTERN_HTTPD_ADMISSION_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_FACTOR = 3,
	BUDGET_RESERVE = 4,
	/* A share is small up to that. */
	BUDGET_SMALL_BYTES = 4 * 1024 * 1024,
	/* Companies whose ids fall together count as one. */
	BUDGET_COMPANIES = 16 * 1024,
};

/* Slots that companies take; starts zeroed. */
struct slots {
	_Atomic int64_t taken;
	_Atomic int64_t by_company[BUDGET_COMPANIES];
};

/* The slots of one request; starts zeroed, ends with slots_release(). */
struct slots_share {
	struct slots *slots;
	_Atomic int64_t *company; /* its part of by_company */
	int64_t n;
};

enum slots_result {
	SLOTS_TAKEN,
	SLOTS_FULL,
	SLOTS_COMPANY_FULL, /* the company has as many as are free */
};

/* Has the company's request take n slots, if it does not already. Else nothing
 * changes.
 *
 * The slots that others have taken must be fewer than the limit, and those of
 * the company fewer than are left: alone it gets half of them, two that want
 * all at most a half and a quarter, and one that has none gets any that is
 * free. A request that is let in takes no more than that either, so that one
 * with more emails than there are slots goes, and leaves slots to others. Any
 * thread. */
enum slots_result slots_take(struct slots *slots, int64_t limit, const char *company_id, int64_t n,
	struct slots_share *share);
void slots_release(struct slots_share *share);

/* A share is of the one kind or the other by its size. */
enum budget_kind { BUDGET_SMALL, BUDGET_LARGE, BUDGET_KINDS };

/* Shared by all workers; starts zeroed. */
struct budget {
	_Atomic int64_t used[BUDGET_KINDS]; /* bytes */
	_Atomic int64_t of_company[BUDGET_COMPANIES][BUDGET_KINDS];
	struct slots requests; /* one with several emails counts as many */
};

/* What one request has taken; starts zeroed, ends with budget_give_back(). */
struct budget_share {
	struct budget *budget;
	_Atomic int64_t *company; /* its part of of_company */
	int64_t bytes;            /* taken from the budget */
	int64_t held;             /* allocated: no more than bytes, but for an answer */
	struct slots_share requests;
};

enum budget_result {
	BUDGET_TAKEN,
	BUDGET_FULL,
	BUDGET_COMPANY_FULL, /* it would fit, but for what the company has under way */
};

/* Makes the share fit for a body of this size, if it is not already. Nothing is
 * changed when that would exceed the limit or leave too little to other companies.
 * Any thread. */
enum budget_result budget_reserve_body(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t body_bytes, struct budget_share *share);

/* The request is about to allocate so many bytes; as above. Any thread. */
enum budget_result budget_count_bytes(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t bytes, struct budget_share *share);
/* It has freed so many of them. */
void budget_uncount_bytes(struct budget_share *share, uint64_t bytes);
/* The body is of this size, or is not needed any more (0): gives back what was
 * reserved for more than that and is not held. */
void budget_trim(struct budget_share *share, uint64_t body_bytes);

/* Makes the share fit for an answer that waits with this many bytes. More than
 * the limit counts as that: it fits while nothing else is held. Any thread. */
enum budget_result budget_reserve_answer(struct budget *budget, int64_t limit,
	const char *company_id, uint64_t bytes, struct budget_share *share);

/* Of all requests, in bytes. */
int64_t budget_used(const struct budget *budget);

/* Has to_r, which is empty, hold the memory of from; the slots stay. */
void budget_move_bytes(struct budget_share *from, struct budget_share *to_r);

void budget_give_back(struct budget_share *share);

#endif
