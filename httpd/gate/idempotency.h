/*
 * running: the requests with an Idempotency-Key that are under way, of all
 * workers.
 *
 * A request is in here before it asks the store whether its key was used, and
 * until it is answered: two that race cannot both find it unused.
 */
#ifndef POSTERN_HTTPD_GATE_IDEMPOTENCY_H
#define POSTERN_HTTPD_GATE_IDEMPOTENCY_H

#include <sys/queue.h>

#include "core/postfix/postfix_run.h"
#include "core/store/store_idempotency.h"
#include "httpd/http/problem.h"

struct running;

/* Owned by the request, untouched while it is in. */
struct running_entry {
	struct idempotency_key key;
	uint8_t payload[SECRET_HASH_LEN];
	LIST_ENTRY(running_entry) link; /* ours */
};

enum running_result {
	RUNNING_ENTERED,
	RUNNING_SAME,  /* one with the key and the payload is under way */
	RUNNING_OTHER, /* one with the key and another payload is */
};

struct running *running_new(void);
/* Nothing is in it any more. */
void running_free(struct running *running);

/* Any thread. What was entered must leave. */
enum running_result running_enter(
	struct running *running, struct running_entry *entry);
void running_leave(struct running *running, struct running_entry *entry);

/*
 * idempotency: a request with an Idempotency-Key is done once, however often
 * it comes.
 *
 *   begin   notes the key and what it is for
 *   claim   once the request is known to be allowed: takes the key for it, then
 *           asks the store about it
 *   (send)  adds the key with the rows of the emails
 *   end     with the request
 *
 * So who may not make a request learns nothing of one that came before.
 */

struct request;

/* Of a request that has a key. */
struct idempotency_claim {
	struct running *running;
	struct running_entry entry; /* the key and the payload */
	bool entered;               /* in running */
	bool found;                 /* the request came before: */
	struct idempotency record;  /* what is known of it */
	char run[POSTFIX_RUN_SIZE]; /* in which its emails go to Postfix */
};

/* The hash of a payload. action names what the body is for: the same body for
 * something else is another payload. Any thread. */
void idempotency_hash(const char *action, const char *body, size_t len,
	uint8_t hash[static SECRET_HASH_LEN]);

/* Sets request->claim, of a request that has a key. */
void idempotency_begin(
	struct request *request, const uint8_t payload[static SECRET_HASH_LEN]);

/* 0, also when the request has no key; or -1 with the problem: the key is that
 * of a request under way, or of one with another payload. */
int idempotency_claim(struct request *request, struct problem *problem);

/* With the request; NULL is fine. */
void idempotency_end(struct idempotency_claim *claim);

#endif
