/*
 * send: from parsed emails to their records. One pipeline for every dialect.
 *
 *   decide   the sending rules, against the store as it is now
 *   claim    the Idempotency-Key, which tells of an earlier request
 *   compose  the message, with its ticket, and the row
 *   stage    the rows of the request, and its Idempotency-Key, in one commit
 *   inject   the messages, into Postfix
 *   record   by the milter; the watch tells
 *   settle   what was not sent is taken back, in one commit
 *
 * A request that came before is held to the rules like any other; then it is
 * answered as it was, or taken up where it ended, but not staged again.
 */
#ifndef POSTERN_HTTPD_SEND_H
#define POSTERN_HTTPD_SEND_H

#include "core/base/id.h"
#include "httpd/send/outgoing.h"
#include "httpd/http/problem.h"

struct request;

/* What became of one email. */
struct send_result {
	char id[ID_SIZE];
	const char *message_id; /* with <>; NULL when it was not composed now */
	struct problem problem; /* its kind is PROBLEM_NONE: no fault of its own */
};

/* What became of all n, in their order; lives for the call of done. */
struct send_outcome {
	const struct problem *problem; /* of the request; NULL: see the results */
	const struct send_result *results;
	size_t n;
	size_t sent;     /* are with Postfix; the others are not, or perhaps */
	bool unfinished; /* a repeat with the same Idempotency-Key sends what
			  * was not sent now */
};

typedef void send_done(
	struct request *request, const struct send_outcome *outcome);

/* The emails of one request. */
struct send_spec {
	struct outgoing *outgoing; /* n; their content is taken over */
	/* n, or NULL: why an email cannot be sent, which is then not looked
	 * at; of the kind PROBLEM_NONE for the others. */
	const struct problem *problems;
	size_t n;
	bool permissive; /* when one may not be sent the others are; else none */
	send_done *done;
};

/* done is called exactly once, perhaps before this returns; the request must
 * last until then. Leaves the emails empty. */
void send_emails(struct request *request, const struct send_spec *spec);

/* The problem of the request, or the first one among the results; NULL when all
 * is well. */
const struct problem *send_first_problem(const struct send_outcome *outcome);

#endif
