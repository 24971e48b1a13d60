/*
 * idempotency: a request with an Idempotency-Key is done once, however often it
 * comes.
 *
 *   lock     once the request is known to be allowed: keeps the key for it,
 *            then asks the store whether an earlier request had it
 *   add      to the store, in the commit that stages the emails of a first
 *            request (httpd/outbox)
 *   settle   in the commit behind their ends: what is known of them now, or
 *            that the key was not used after all (httpd/outbox)
 *   unlock   when the request is answered
 *
 * So who may not make a request learns nothing of one that came before.
 */
#ifndef POSTERN_HTTPD_SEND_IDEMPOTENCY_H
#define POSTERN_HTTPD_SEND_IDEMPOTENCY_H

#include <sys/queue.h>

#include "core/store/store_idempotency.h"
#include "httpd/http/problem.h"

struct admission;
struct running;
struct worker;

/* The keys of requests under way, of all workers. A request is in here before
 * it asks the store, and until it is answered: two that race cannot both find
 * their key unused. */
struct running_entry {
	struct idempotency_key key;
	uint8_t payload[SECRET_HASH_LEN];
	LIST_ENTRY(running_entry) link; /* of struct running */
};

enum running_result {
	RUNNING_ENTERED,
	RUNNING_SAME,  /* one with the key and the payload is under way */
	RUNNING_OTHER, /* one with the key and another payload is */
};

struct running *running_new(void);
/* Nothing is in it any more. */
void running_free(struct running *running);

/* Any thread. The caller owns the entry, which must leave when it entered. */
enum running_result running_enter(struct running *running, struct running_entry *entry);
void running_leave(struct running *running, struct running_entry *entry);

/* The key of a request, which nobody else has until it is unlocked. */
struct idempotency_lock {
	struct running *running;
	struct running_entry entry;
	bool found;                 /* the request came before: */
	struct idempotency earlier; /* what is known of that */
};

/* The hash of a payload. action names what the body is for: the same body for
 * something else is another payload. Any thread. */
void idempotency_hash(
	const char *action, const char *body, size_t len, uint8_t hash[static SECRET_HASH_LEN]);

/* Of a request that has a key. 0, or -1 with the problem: the key is that of a
 * request under way, or of one with another payload. */
int idempotency_lock(const struct worker *worker, const struct admission *admission,
	const char *request_id, const uint8_t payload[static SECRET_HASH_LEN],
	struct idempotency_lock **lock_r, struct problem *problem);
/* NULL is fine. */
void idempotency_unlock(struct idempotency_lock *lock);

#endif
