/*
 * send: from emails that a client wants sent to their outcomes. One pipeline for every
 * dialect.
 *
 *   decide   the sending rules, against the store as it is now
 *   lock     the Idempotency-Key, which tells of an earlier request
 *   compose  the message, with its ticket, and the row
 *   outbox   all of them in one commit, then into Postfix (httpd/outbox)
 *   done     renders the answer
 *
 * To compose may take seconds: but for small requests the pool does it. A request that
 * came before is held to the rules like any other; then it is answered as it was, or
 * waits for what becomes of its emails. It submits nothing.
 *
 * Reading the body of a request, by its dialect, is in front of this: send_request.h.
 */
#ifndef POSTERN_HTTPD_SEND_SEND_H
#define POSTERN_HTTPD_SEND_SEND_H

#include "httpd/http/problem.h"
#include "httpd/send/draft.h"

struct admission;
struct worker;

/* The emails of one request. */
struct send_spec {
	struct worker *worker;
	/* Who sends, and in whose account its memory is. It must last until done. */
	struct admission *admission;
	const char *request_id; /* for the log */
	/* n; their content is taken over. With personal it is one. */
	struct draft *draft;
	struct send_personal *personal; /* taken over; NULL: none */
	/* n, or NULL: why an email cannot be sent, which is then not looked
	 * at; of the kind PROBLEM_NONE for the others. */
	const struct problem *problems;
	size_t n;
	bool permissive; /* when one may not be sent the others are; else none */
	/* The hash of the request, whose admission has an Idempotency-Key; NULL:
	 * none. */
	const uint8_t *payload;
	send_done *done;
	void *arg; /* of done */
};

/* done is called exactly once, perhaps before this returns. Leaves the emails
 * empty. */
void send_emails(const struct send_spec *spec);

#endif
