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
#ifndef POSTERN_HTTPD_IDEMPOTENCY_H
#define POSTERN_HTTPD_IDEMPOTENCY_H

#include "httpd/base/postfix_run.h"
#include "httpd/http/problem.h"
#include "httpd/http/running.h"

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
