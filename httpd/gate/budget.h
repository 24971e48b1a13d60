/*
 * budget: how many requests may be under way at once, and how much memory they
 * may hold, over all workers.
 *
 * Memory is one account. What a request holds is added to its share before it
 * is allocated, and subtracted when it is freed. A body takes its memory
 * several times on its way (as it came, parsed, as a message), so BUDGET_FACTOR
 * times its size is taken in advance, while it comes: a request that was let in
 * for its size gets through. Of the limit, large requests may have all; a part
 * as large as 1/BUDGET_RESERVE of it is kept besides for small ones, so that
 * they go on.
 */
#ifndef POSTERN_HTTPD_GATE_BUDGET_H
#define POSTERN_HTTPD_GATE_BUDGET_H

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

/* Shared by all workers; starts zeroed. */
struct budget {
	_Atomic int64_t used;     /* bytes */
	_Atomic int64_t requests; /* one with several emails counts as many */
	_Atomic int64_t by_company[BUDGET_COMPANIES]; /* of these */
};

/* What one request has taken; starts zeroed, ends with budget_give_back(). */
struct budget_share {
	struct budget *budget;
	int64_t bytes;    /* taken from the budget */
	int64_t held;     /* allocated: no more than bytes, but for an answer */
	int64_t requests; /* that it counts for */
	_Atomic int64_t *company; /* its part of by_company, once it counts */
};

enum budget_entry {
	BUDGET_ENTERED,
	BUDGET_FULL,         /* of all companies' requests */
	BUDGET_COMPANY_FULL, /* of this company's: it has as many as are free */
};

/* Counts the company's request that the share is for as n, if it does not
 * already. Else nothing changes.
 *
 * The others under way must be fewer than the limit, and those of the company
 * fewer than the places left: alone it gets half of them, two that want all at
 * most a half and a quarter, and one that has none gets any that is free. What
 * a request counts for is not looked at, so that one that counts for more than
 * the limit is not shut out for ever; the sum is at most the limit and the
 * largest n. Any thread. */
enum budget_entry budget_enter(struct budget *budget, int64_t limit,
	const char *company_id, int64_t n, struct budget_share *share);

/* Makes the share fit for a body of this size, if it is not already. False, and
 * nothing changed, when that would exceed the limit. Any thread. */
bool budget_take(struct budget *budget, int64_t limit, uint64_t body_bytes,
	struct budget_share *share);

/* The request is about to allocate so many bytes. False, and nothing changed,
 * when that would exceed the limit. Any thread. */
bool budget_add(struct budget *budget, int64_t limit, uint64_t bytes,
	struct budget_share *share);
/* It has freed so many of them. */
void budget_subtract(struct budget_share *share, uint64_t bytes);
/* The body is of that size and no more is taken for it in advance; 0: it is
 * done with. Gives back what is not held. */
void budget_trim(struct budget_share *share, uint64_t body_bytes);

/* Makes the share fit for an answer that waits with this many bytes. More than
 * the limit counts as that: it fits while nothing else is held. Any thread. */
bool budget_hold(struct budget *budget, int64_t limit, uint64_t bytes,
	struct budget_share *share);

void budget_give_back(struct budget_share *share);

#endif
