/*
 * budget: how many requests may be under way, and how much memory they may
 * hold, over all workers.
 *
 * Memory: what a request holds is added to its share before it is allocated,
 * and subtracted when it is freed. A body needs its memory several times on its
 * way (as received, parsed, as a message), so BUDGET_FACTOR times its size is
 * reserved while it arrives. A request that was admitted for its size therefore
 * gets through.
 *
 * Small requests have 1/BUDGET_RESERVE of the limit in addition to it, which
 * large ones never get. As much of the limit itself is reserved for companies
 * that have little under way: a company gets a part of this reserve only while
 * its large requests hold no more than is left, or while no other large request
 * is under way. By the same rule small requests leave that reserve alone, and
 * half of their own.
 */
#ifndef POSTERN_HTTPD_ADMISSION_BUDGET_H
#define POSTERN_HTTPD_ADMISSION_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_FACTOR = 3,
	BUDGET_RESERVE = 4,
	/* The maximum size of a small share. */
	BUDGET_SMALL_BYTES = 4 * 1024 * 1024,
	/* Companies whose ids hash to the same index count as one. */
	BUDGET_COMPANIES = 16 * 1024,
};

/* The slots that companies have taken. Starts zeroed. */
struct slots {
	_Atomic int64_t taken;
	_Atomic int64_t by_company[BUDGET_COMPANIES];
};

/* The slots of one request. Starts zeroed; budget_give_back() frees them. */
struct slots_share {
	struct slots *slots;
	_Atomic int64_t *company; /* its part of by_company */
	int64_t n;
};

enum slots_result {
	SLOTS_TAKEN,
	SLOTS_FULL,
	SLOTS_COMPANY_FULL, /* the company has at least as many as are free */
};

/* Raises the slots of a company's request to n, if it has fewer. On failure
 * nothing changes.
 *
 * The slots taken must be fewer than the limit, and those of the company fewer
 * than are left. So a company alone gets half of them; of two that want all,
 * one gets a half and the other a quarter; and a company that has none gets any
 * free one. A request that is admitted takes no more than that either: one with
 * more emails than there are slots succeeds, and leaves slots to others. Any
 * thread. */
enum slots_result slots_take(struct slots *slots, int64_t limit, const char *company_id, int64_t n,
	struct slots_share *share);

/* The kind of a share follows from its size. */
enum budget_kind { BUDGET_SMALL, BUDGET_LARGE, BUDGET_KINDS };

/* Shared by all workers; starts zeroed. */
struct budget {
	_Atomic int64_t used[BUDGET_KINDS]; /* bytes */
	_Atomic int64_t of_company[BUDGET_COMPANIES][BUDGET_KINDS];
	struct slots requests; /* one for each email of a request */
};

/* The memory that one request has taken. Starts zeroed; budget_give_back() returns it. */
struct budget_share {
	struct budget *budget;
	_Atomic int64_t *company; /* its part of of_company */
	int64_t bytes;            /* taken from the budget */
	int64_t held;             /* allocated by the request; never more than bytes */
	struct slots_share requests;
};

enum budget_result {
	BUDGET_TAKEN,
	BUDGET_FULL,
	BUDGET_COMPANY_FULL, /* it would fit if the company had no other requests under way */
};

/* Raises the share to what a body of this size needs, if it is smaller. Nothing
 * changes when that would exceed the limit or leave too little to other
 * companies. Any thread. */
enum budget_result budget_reserve_body(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t body_bytes, struct budget_share *share);

/* Charges bytes that the request is about to allocate, with the same results.
 * Any thread. */
enum budget_result budget_count_bytes(struct budget *budget, int64_t limit, const char *company_id,
	uint64_t bytes, struct budget_share *share);
/* Subtracts bytes that the request has freed. They stay reserved until
 * budget_trim(). */
void budget_uncount_bytes(struct budget_share *share, uint64_t bytes);
/* The body has this size, or is no longer needed (0). Gives back what was
 * reserved beyond that and is not held. */
void budget_trim(struct budget_share *share, uint64_t body_bytes);

/* Raises the share to the size of an answer that waits to be written. A larger
 * one than the limit is charged as the limit: it fits while nothing else is
 * held. Any thread. */
enum budget_result budget_reserve_answer(struct budget *budget, int64_t limit,
	const char *company_id, uint64_t bytes, struct budget_share *share);

/* The bytes of all requests. */
int64_t budget_used(const struct budget *budget);

/* Moves the memory of from to to_r, which is empty. from keeps its slots. */
void budget_move_bytes(struct budget_share *from, struct budget_share *to_r);

void budget_give_back(struct budget_share *share);

#endif
