/*
 * admission: decides whether a request may go on, from its head alone. This
 * happens before its body is read, so that a client without a key cannot make
 * the server hold one.
 *
 *   admission_begin   what the head alone decides
 *   admission_read    the rows that the rest needs: who calls, the domain of the path, and what
 *                     the route reads by its column `read`
 *   admission_end     what they decide
 *   admission_has_room   whether there is a slot, and memory for the body, now
 *
 * admission_begin() and admission_end() run on the worker's thread. Any thread that has the
 * request may call the rest: of the worker it uses only what all workers share.
 */
#ifndef POSTERN_HTTPD_ADMISSION_ADMISSION_H
#define POSTERN_HTTPD_ADMISSION_ADMISSION_H

#include "core/base/secret.h"
#include "core/store/company/store_key.h"
#include "core/store/user/store_session.h"
#include "httpd/admission/budget.h"
#include "core/policy/rate.h"
#include "core/policy/send_rules.h"
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
	struct key key;              /* key of the caller, once it was found */
	struct session session; /* session of the caller on the admin listener, once it was found */
	void *row;              /* what the route has read along with the key, or NULL */
	struct rate_state rate; /* token bucket of the caller's company */
	bool has_idempotency_key;
	uint8_t idempotency_key[SECRET_HASH_LEN]; /* its hash */
	uint64_t body_limit;                      /* bytes */
	uint64_t body_bytes;                      /* as the head says; 0: unknown, or none */
	bool takes_slot;
	struct admission_limits limits;
	struct budget_share share;
};

/* The question to the store about a request, and its answer. */
struct admission_rows {
	enum { ROWS_KEY, ROWS_SESSION } kind;
	uint8_t hash[SECRET_HASH_LEN]; /* hash of the key or of the session's token */
	/* For a session: */
	enum session_kind session_kind;
	int64_t now_us, idle_us;
	char domain[ROUTE_PARAM_MAX]; /* the domain in the path, normalized; "": none */
	bool found;
	struct key key;
	struct session session;
	enum domain_status status; /* status of the domain */
	/* For what the route reads: */
	bool reads_row;
	const struct admission *admission;
	struct span query; /* of the head, which lives until admission_end() */
	void *row;
};

/* Decides what needs no rows. Returns true if rows are needed: admission_read() and
 * admission_end() have to follow. Never fails: what cannot be decided is also a problem. by_proxy:
 * the connected peer is a trusted proxy. Clear the admission with admission_clear(). */
bool admission_begin(struct worker *worker, const struct http_head *head, bool by_proxy,
	struct admission *admission_r, struct admission_rows *rows_r);
/* True if all that admission_read() asks for can be announced. */
bool admission_announces(const struct admission_rows *rows);
/* Announces it, see db_read_ahead(). Any thread. */
void admission_announce(struct db *db, const struct admission_rows *rows);
/* Any thread. Returns 0, or -1 with err: the store failed. */
int admission_read(struct db *db, struct admission_rows *rows, struct err *err);
/* result and err are those of admission_read(). Moves the rows to the admission. */
void admission_end(struct worker *worker, const struct http_head *head, struct admission *admission,
	struct admission_rows *rows, int result, const struct err *err);

/* Takes the slot of a request that was admitted, and the memory for its body. Returns false if they
 * are not free now: ask again, until this returns true. A refused request needs none. */
bool admission_has_room(struct worker *worker, struct admission *admission);
/* The same for the last time: without room the request is refused (503). */
void admission_insist_on_room(struct worker *worker, struct admission *admission);

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

/* Returns how many recipients an email may have. own is the dialect's limit, used if the settings
 * have none. */
int64_t admission_recipients(const struct admission *admission, int64_t own);

void admission_clear(struct admission *admission);

/* The company that the caller of an admin route may see; NULL means all. */
const char *admission_company(const struct admission *admission);
/* The id under which the caller's slots, memory and turns are counted: the
 * company of the key or of the member; for an operator the user's own. */
const char *admission_whose(const struct admission *admission);

#endif
