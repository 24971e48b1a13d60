/*
 * send: from the emails that a client wants to send to their outcomes. One pipeline for all
 * dialects.
 *
 *   decide   the sending rules, by the store as it is now
 *   lock     the Idempotency-Key, which may know an earlier request
 *   compose  the messages, each with its ticket, and the rows
 *   outbox   all of them in one commit, then to Postfix (httpd/outbox)
 *   done     answers
 *
 * A repeat of an earlier request is held to the rules like any other. Then it gets the answer that
 * the first one got, or waits for the outcome of its emails. It submits nothing itself.
 *
 * This knows no HTTP request. What reads emails out of one is send_request.h.
 */
#ifndef POSTERN_HTTPD_SEND_SEND_H
#define POSTERN_HTTPD_SEND_SEND_H

#include "core/base/id.h"
#include "httpd/http/problem.h"
#include "httpd/send/draft.h"

struct admission;
struct worker;

/* The outcome of one email. */
struct send_result {
	char id[ID_SIZE];
	const char *message_id; /* with <>; NULL if this request did not compose it */
	const char *to;         /* its first recipient; NULL likewise */
	struct problem problem; /* kind PROBLEM_NONE if the email was accepted */
};

/* The outcomes of all n emails, in their order; valid during the call of done. */
struct send_outcome {
	const struct problem *problem; /* problem of the whole request; NULL: see the results */
	const struct send_result *results;
	size_t n;
	size_t sent; /* the number of emails that Postfix or the outbox has */
};

typedef void send_done(void *arg, const struct send_outcome *outcome);

/* The problem of the request, or the first one of its emails; NULL if there is none. */
const struct problem *send_first_problem(const struct send_outcome *outcome);

/* The emails of one request. */
struct send_spec {
	struct worker *worker;
	/* The sender, whose account of memory is charged. Must stay valid until done. */
	struct admission *admission;
	const char *request_id; /* for the log */
	/* n drafts, or one with personal. Their content is moved away. */
	struct draft *draft;
	struct send_personal *personal; /* send_emails() takes ownership; NULL for none */
	/* n problems, or NULL. An email that has one is not looked at any further. */
	const struct problem *problems;
	size_t n;
	bool permissive; /* emails without a problem are sent, even if others have one */
	/* The hash of the request, whose admission has an Idempotency-Key; NULL: it has none. */
	const uint8_t *payload;
	send_done *done;
	void *arg; /* argument of done */
};

/* Calls done exactly once, perhaps before this returns. Leaves the drafts empty. */
void send_emails(const struct send_spec *spec);

#endif
