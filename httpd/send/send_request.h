/*
 * send_request: the body of a request becomes emails, which are sent.
 *
 * To parse may take seconds: but for small requests the pool does it, which has the
 * request meanwhile. The worker touches nothing of it until that is done.
 */
#ifndef POSTERN_HTTPD_SEND_SEND_REQUEST_H
#define POSTERN_HTTPD_SEND_SEND_REQUEST_H

#include "httpd/http/problem.h"
#include "httpd/send/draft.h"

struct evbuffer;
struct request;

/* The body of a request, for the thread that parses it. */
struct send_body {
	struct request *request; /* its admission alone: the rest is the worker's */
	const char *data;
	size_t len;
	const char *type;     /* Content-Type; "": none */
	const char *encoding; /* Content-Encoding; "": none */
	struct evbuffer *held;
};

/* Frees the body, when nothing needs it any more. */
void send_body_drop(struct send_body *body);

/* What a dialect makes of a body. Starts zeroed. */
struct send_parsed {
	struct draft *emails;
	struct send_personal *personal;
	struct problem *problems; /* see struct send_spec */
	size_t n;
	char *answer_id; /* see struct request */
};

/* How a request that sends is read. */
struct send_dialect {
	const char *action; /* for Idempotency-Keys; NULL: it takes none */
	bool permissive;    /* see struct send_spec */
	/* On any thread. 0, or -1 with the problem; parsed_r is cleared by the
	 * caller, also then. */
	int (*parse)(struct send_body *body, struct send_parsed *parsed_r, struct problem *problem);
	void (*done)(struct request *request, const struct send_outcome *outcome);
};

/* Reads the request, sends its emails, and answers it: done, or a problem. What
 * may take long is done off the worker's loop. */
void send_request(struct request *request, const struct send_dialect *dialect);

/* The same for emails that are there already; what spec says of the request is filled
 * in. */
struct send_spec;
void send_request_emails(struct request *request, const struct send_spec *spec,
	void (*done)(struct request *request, const struct send_outcome *outcome));

#endif
