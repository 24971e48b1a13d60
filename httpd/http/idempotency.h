/*
 * idempotency: a request with an Idempotency-Key is done once, however often
 * it comes.
 *
 *   begin   claims the key for this request, then asks the store about it
 *   (send)  adds the key with the rows of the emails
 *   prove   when Postfix has said that it has them
 *   end     with the request
 */
#ifndef POSTERN_HTTPD_IDEMPOTENCY_H
#define POSTERN_HTTPD_IDEMPOTENCY_H

#include "httpd/http/problem.h"
#include "httpd/http/running.h"

struct committer;
struct request;
struct worker;

/* Of a request that has a key. */
struct idempotency_claim {
	struct running *running;
	struct running_entry entry; /* the key and the payload */
	bool found;                 /* the request came before: */
	struct idempotency record;  /* what is known of it */
	bool stale; /* what is sent of it may have been lost since */
};

/* Sets request->claim when the request has a key, which must be before its body
 * is dropped. action names what the body is for: the same body for something
 * else is another payload. 0, or -1 with the problem: the key is that of a
 * request under way, or of one with another payload. */
int idempotency_begin(
	struct request *request, const char *action, struct problem *problem);
/* The same for a payload that is hashed already. */
int idempotency_claim(struct request *request,
	const uint8_t payload[static SECRET_HASH_LEN], struct problem *problem);

/* The run of the system in which the emails of a request go to Postfix. */
void idempotency_run(
	const struct worker *worker, char run_r[static IDEMPOTENCY_RUN_SIZE]);

/* What is sent of the request is in Postfix's queue. Is written down when there
 * is time: should that be lost, a repeat may deliver twice. */
void idempotency_prove(
	struct committer *committer, const struct idempotency_key *key);

/* With the request; NULL is fine. */
void idempotency_end(struct idempotency_claim *claim);

#endif
