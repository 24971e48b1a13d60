/*
 * admission: decides whether a request may go on, from its head alone. This
 * happens before its body is read, so that a client without a key cannot make
 * the server hold one.
 *
 * admission_decide() runs on the worker's thread. Any thread that has the
 * request may call the rest: of the worker it uses only what all workers share.
 */
#ifndef POSTERN_HTTPD_ADMISSION_ADMISSION_H
#define POSTERN_HTTPD_ADMISSION_ADMISSION_H

#include "core/base/secret.h"
#include "core/store/store_key.h"
#include "core/store/store_session.h"
#include "httpd/admission/budget.h"
#include "core/policy/rate.h"
#include "httpd/admission/route.h"
#include "httpd/http/http1.h"
#include "httpd/http/problem.h"

struct worker;

/* Taken from the settings when the request arrived. */
struct admission_limits {
	int64_t memory;     /* bytes of all requests */
	int64_t requests;   /* slots of all companies together */
	int64_t message;    /* bytes */
	int64_t recipients; /* 0: the dialect's own */
};

struct admission {
	struct problem problem; /* its kind is PROBLEM_NONE: admitted */
	const struct route *route;
	bool is_admin;               /* on the admin listener */
	bool by_proxy;               /* the connected peer is a trusted proxy */
	char param[ROUTE_PARAM_MAX]; /* a domain: normalized */
	struct key key;              /* of the caller, once found */
	struct session session;      /* of the caller on the admin listener, once found */
	struct rate_state rate;      /* token bucket of the caller's company */
	bool has_idempotency_key;
	uint8_t idempotency_key[SECRET_HASH_LEN]; /* its hash */
	uint64_t body_limit;                      /* bytes */
	struct admission_limits limits;
	struct budget_share share;
};

/* Never fails: what cannot be decided is also a problem. by_proxy: the
 * connected peer is a trusted proxy. Clear the result with admission_clear(). */
void admission_decide(struct worker *worker, const struct http_head *head, bool by_proxy,
	struct admission *admission_r);

/* The request is about to send this many emails, and takes a slot for each.
 * Returns 0, or -1 with the problem: too many are under way. */
int admission_take_slots(
	struct worker *worker, struct admission *admission, size_t emails, struct problem *problem);

/* Takes a token from the token bucket of an id (whose). Returns 0, or -1 with
 * the problem. The second one takes it from a company's bucket, with the limit
 * of the settings. */
int admission_take_rate_token(struct worker *worker, struct admission *admission, const char *whose,
	const struct rate_limit *limit, struct problem *problem);
int admission_take_company_token(struct worker *worker, struct admission *admission,
	const char *company_id, struct problem *problem);

/* Reserves the memory that a body of this size needs. Returns 0, or -1 with the
 * problem: more than the server ever holds (413), or than it can hold now
 * (503). */
int admission_reserve_body(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* Charges bytes that the request is about to allocate. Returns as above. */
int admission_count_bytes(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* Charges the bytes of an answer until it is written. Returns 0, or -1 with the
 * problem: more than the server can hold now. */
int admission_reserve_answer(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* The body, as received or decoded, is this long so far. Returns 0, or -1 with
 * the problem when it is over its limit or cannot be reserved. */
int admission_grow(struct worker *worker, struct admission *admission, uint64_t body_bytes,
	struct problem *problem);

/* Sets the problem of a body that is longer than its limit. Returns -1. */
int admission_too_large(const struct admission *admission, struct problem *problem);

/* How many recipients an email may have. own is the dialect's limit, for
 * settings that have none. */
int64_t admission_recipients(const struct admission *admission, int64_t own);

void admission_clear(struct admission *admission);

/* The company that the caller of an admin route may see; NULL means all. */
const char *admission_company(const struct admission *admission);
/* The id under which the caller's slots, memory and turns are counted: the
 * company of the key or of the member; for an operator the user's own. */
const char *admission_whose(const struct admission *admission);

#endif
