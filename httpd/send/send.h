/*
 * send: from the body of a request to its emails, their records, the answer.
 * One pipeline for every dialect.
 *
 *   parse    the dialect's: the body becomes emails
 *   decide   the sending rules, against the store as it is now
 *   lock     the Idempotency-Key, which tells of an earlier request
 *   compose  the message, with its ticket, and the row
 *   stage    the rows of the request, and its Idempotency-Key, in one commit
 *   submit   the messages, into Postfix; the milter records them
 *   settle   what was not sent is taken back, in one commit
 *   done     the dialect's: renders the answer
 *
 * To parse and to compose may take seconds: but for small requests the pool
 * does it, which has the request meanwhile. The worker touches nothing of it
 * until that is done.
 *
 * A request that came before is held to the rules like any other; then it is
 * answered as it was, or taken up where it ended, but not staged again.
 */
#ifndef POSTERN_HTTPD_SEND_SEND_H
#define POSTERN_HTTPD_SEND_SEND_H

#include "httpd/send/outgoing.h"
#include "httpd/http/problem.h"

struct evbuffer;
struct request;

/* The emails of one request. */
struct send_spec {
	/* n; their content is taken over. With personal it is one. */
	struct outgoing *outgoing;
	struct send_personal *personal; /* taken over; NULL: none */
	/* n, or NULL: why an email cannot be sent, which is then not looked
	 * at; of the kind PROBLEM_NONE for the others. */
	const struct problem *problems;
	size_t n;
	bool permissive; /* when one may not be sent the others are; else none */
	/* The hash of the request, which has an Idempotency-Key; NULL: none. */
	const uint8_t *payload;
	send_done *done;
};

/* done is called exactly once, perhaps before this returns; the request must
 * last until then. Leaves the emails empty. */
void send_emails(struct request *request, const struct send_spec *spec);

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
	struct outgoing *emails;
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
	send_done *done;
};

/* Reads the request, sends its emails, and answers it: done, or a problem. What
 * may take long is done off the worker's loop. */
void send_request(struct request *request, const struct send_dialect *dialect);

#endif
