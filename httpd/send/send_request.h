/*
 * send_request: reads emails out of the body of an HTTP request, and sends them.
 *
 * This is the only part of sending that knows requests. Parsing may take seconds, so the pool does
 * it, except for small bodies. The pool has body and admission then; the worker leaves the request
 * alone until that is done.
 */
#ifndef POSTERN_HTTPD_SEND_SEND_REQUEST_H
#define POSTERN_HTTPD_SEND_SEND_REQUEST_H

#include "httpd/http/problem.h"
#include "httpd/send/send.h"

struct evbuffer;
struct request;

/* The body of a request, for the thread that parses it. */
struct send_body {
	struct worker *worker; /* what all workers share of it */
	struct admission *admission;
	const char *data;
	size_t len;
	const char *type;     /* Content-Type; "": none */
	const char *encoding; /* Content-Encoding; "": none */
	struct evbuffer *held;
};

/* Frees the body when nothing needs it any more. */
void send_body_drop(struct send_body *body);

/* What a dialect makes of a body. Starts zeroed. */
struct send_parsed {
	struct draft *emails;
	struct send_personal *personal;
	struct problem *problems; /* see struct send_spec */
	size_t n;
	char *answer_id; /* see struct request */
};

/* How a dialect reads and answers a request that sends. */
struct send_dialect {
	const char *action; /* for Idempotency-Keys; NULL: it takes none */
	bool permissive;    /* see struct send_spec */
	/* On any thread. 0, or -1 with the problem; the caller clears parsed_r in both cases. */
	int (*parse)(struct send_body *body, struct send_parsed *parsed_r, struct problem *problem);
	void (*done)(struct request *request, const struct send_outcome *outcome);
};

/* Parses the body, sends the emails, and answers: by done, or with a problem. */
void send_request(struct request *request, const struct send_dialect *dialect);

/* Sends emails that were parsed before. Fills in the members of spec that describe the request. */
void send_request_emails(struct request *request, const struct send_spec *spec,
	void (*done)(struct request *request, const struct send_outcome *outcome));

#endif
