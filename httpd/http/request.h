/*
 * request: one HTTP request while it is handled.
 *
 * Owned by the worker from arrival_on_request() until its one reply, which frees
 * it. A handler may return before it replies; the client may be gone by then.
 */
#ifndef POSTERN_HTTPD_REQUEST_H
#define POSTERN_HTTPD_REQUEST_H

#include "core/base/id.h"
#include "httpd/http/admission.h"

struct evbuffer;
struct evhttp_request;
struct idempotency_claim;
struct worker;

struct request {
	struct worker *worker;
	struct evhttp_request *http;
	char id[ID_SIZE]; /* in the answer and in every log line about it */
	struct admission admission;
	int64_t began_us;                /* monotonic */
	struct idempotency_claim *claim; /* of its Idempotency-Key; or NULL */
	char email_id[ID_SIZE]; /* of the one that it sent, for the log; or "" */
	char *answer_id; /* of the form dialect: the id that the client chose */
};

/* What stands behind the ? of the target, without it; owned by the request. */
const char *request_query(const struct request *request);

/* The whole body, in one piece; owned by the request. */
const char *request_body(struct request *request, size_t *len_r);

/* Hands the body over to the caller, who frees it; takes no time however long
 * it is. The request has none any more. */
struct evbuffer *request_take_body(struct request *request);

/* For the reply only. */
void request_free(struct request *request);

#endif
