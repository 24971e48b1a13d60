/*
 * idempotency: a request with an Idempotency-Key is done once, however often
 * it comes.
 *
 *   begin   claims the key for this request, then asks the store about it
 *   (send)  adds the key with the rows of the emails
 *   end     with the request
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
	bool found;                 /* the request came before: */
	struct idempotency record;  /* what is known of it */
	char run[POSTFIX_RUN_SIZE]; /* in which its emails go to Postfix */
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

/* With the request; NULL is fine. */
void idempotency_end(struct idempotency_claim *claim);

#endif
