/*
 * idempotency: a request with an Idempotency-Key is done once, however often it is made.
 *
 *   lock     when the request is known to be allowed: reserves the key for it, then asks the
 *            store whether an earlier request had it
 *   add      in the commit that stages the emails of a first request (httpd/outbox)
 *   settle   in the commit that follows their outcomes: stores these, or removes the key if
 *            nothing was sent (httpd/outbox)
 *   unlock   when the request is answered
 *
 * So whoever may not make a request learns nothing about an earlier one.
 */
#ifndef POSTERN_HTTPD_SEND_IDEMPOTENCY_H
#define POSTERN_HTTPD_SEND_IDEMPOTENCY_H

#include <sys/queue.h>

#include "core/store/email/store_idempotency.h"
#include "httpd/http/problem.h"

struct admission;
struct running;
struct worker;

/* The keys of the requests that all workers have under way. A request enters before it asks the
 * store, and leaves when it is answered, so two that race cannot both find their key unused. */
struct running_entry {
	struct idempotency_key key;
	uint8_t payload[SECRET_HASH_LEN];
	LIST_ENTRY(running_entry) link; /* links the entries of struct running */
};

enum running_result {
	RUNNING_ENTERED,
	RUNNING_SAME,  /* a request with the same key and payload is under way */
	RUNNING_OTHER, /* one with the same key and another payload is */
};

struct running *running_new(void);
/* No request may be running any more. */
void running_free(struct running *running);

/* Any thread. The caller owns the entry; if it entered, it has to leave. */
enum running_result running_enter(struct running *running, struct running_entry *entry);
void running_leave(struct running *running, struct running_entry *entry);

/* The key of a request, reserved for it until it is unlocked. */
struct idempotency_lock {
	struct running *running;
	struct running_entry entry;
	bool found;                 /* the request is a repeat: */
	struct idempotency earlier; /* what the store has about the first request */
};

/* The hash of a payload. action names what the body is for: the same body for another purpose is
 * another payload. Any thread. */
void idempotency_hash(
	const char *action, const char *body, size_t len, uint8_t hash[static SECRET_HASH_LEN]);

/* Locks the key of a request that has one. Returns 0, or -1 with err: the store failed. If the key
 * belongs to a request that is under way, or to one with another payload, sets the problem instead
 * of the lock. Any thread. */
int idempotency_lock(const struct worker *worker, struct db *db, const struct admission *admission,
	const uint8_t payload[static SECRET_HASH_LEN], struct idempotency_lock **lock_r,
	struct problem *problem, struct err *err);
/* NULL is fine. */
void idempotency_unlock(struct idempotency_lock *lock);

#endif
