/*
 * send: from parsed emails to their records. One pipeline for every dialect.
 *
 *   decide   the sending rules, against the store as it is now
 *   compose  the message, with its ticket, and the row
 *   stage    the row, in one group commit
 *   inject   the message, into Postfix
 *   record   by the milter; the watch tells
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
	char *message_id;       /* with <> */
	struct problem problem; /* its kind is PROBLEM_NONE: sent */
};

/* The end of all n emails, in their order; the results live for the call. */
typedef void send_done(
	struct request *request, const struct send_result *results, size_t n);

/* Takes the content of the n emails over and leaves them empty. When one of
 * them may not be sent or cannot be composed, none is. done is called exactly
 * once, perhaps before send_emails() returns; the request must last until
 * then. */
void send_emails(struct request *request, struct outgoing *outgoing, size_t n,
	send_done *done);

/* The first problem among the results, NULL when all is well. */
const struct problem *send_first_problem(
	const struct send_result *results, size_t n);

#endif
