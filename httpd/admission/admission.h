/*
 * admission: may this request go on? Decided from its head alone, before its
 * body is read, so that nobody without a key can make the server hold one.
 *
 * admission_decide() is the worker's, the rest is for any thread that has the
 * request: of the worker it uses what all share.
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

/* Of the settings, as they were when the request came. */
struct admission_limits {
	int64_t memory;     /* bytes of all requests */
	int64_t requests;   /* of all companies at once */
	int64_t message;    /* bytes */
	int64_t recipients; /* 0: the dialect's own */
};

struct admission {
	struct problem problem; /* its kind is PROBLEM_NONE: admitted */
	const struct route *route;
	bool is_admin;               /* on the admin listener */
	bool by_proxy;               /* for somebody elsewhere */
	char param[ROUTE_PARAM_MAX]; /* a domain: normalized */
	struct key key;              /* of the caller, once it is known */
	struct session session;      /* the same on the admin listener */
	struct rate_state rate;      /* of its company */
	bool has_idempotency_key;
	uint8_t idempotency_key[SECRET_HASH_LEN]; /* its hash */
	uint64_t body_limit;                      /* bytes */
	struct admission_limits limits;
	struct budget_share share;
};

/* Never fails: what cannot be decided is a problem too. by_proxy: a trusted
 * proxy has connected. Clear the result with admission_clear(). */
void admission_decide(struct worker *worker, const struct http_head *head, bool by_proxy,
	struct admission *admission_r);

/* The request is about to send so many emails; what many requests do is bounded
 * by that. 0, or -1 with the problem: there are too many under way. */
int admission_take_slots(
	struct worker *worker, struct admission *admission, size_t emails, struct problem *problem);

/* Takes a token out of somebody's bucket; whose is an id. 0, or -1 with the
 * problem. And out of a company's, with the limit of the settings. */
int admission_take_rate_token(struct worker *worker, struct admission *admission, const char *whose,
	const struct rate_limit *limit, struct problem *problem);
int admission_take_company_token(struct worker *worker, struct admission *admission,
	const char *company_id, struct problem *problem);

/* The request needs memory as a body of this size does. 0, or -1 with the
 * problem: more than the server ever holds, or than it can hold now. */
int admission_reserve_body(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* The request is about to allocate so many bytes. The same. */
int admission_count_bytes(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* The answer takes so many bytes until it is written. 0, or -1 with the
 * problem: more than the server can hold now. */
int admission_reserve_answer(struct worker *worker, struct admission *admission, uint64_t bytes,
	struct problem *problem);

/* The body, as it comes or unpacked, is this long by now: over its limit it
 * is a problem too. */
int admission_grow(struct worker *worker, struct admission *admission, uint64_t body_bytes,
	struct problem *problem);

/* The body is longer than its limit: -1 with the problem. */
int admission_too_large(const struct admission *admission, struct problem *problem);

/* How many recipients an email may have; own is what the dialect takes when the
 * settings leave it open. */
int64_t admission_recipients(const struct admission *admission, int64_t own);

void admission_clear(struct admission *admission);

/* The company that the caller of an admin route sees; NULL: all. */
const char *admission_company(const struct admission *admission);
/* With whom the caller shares slots and turns: the company of the key or of
 * the member; an operator shares them with nobody. */
const char *admission_whose(const struct admission *admission);

#endif
