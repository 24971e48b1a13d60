/*
 * answer: what all answers have in common, whether reply or conn writes them:
 * header fields, a log line, and their counts.
 */
#ifndef POSTERN_HTTPD_ADMISSION_ANSWER_H
#define POSTERN_HTTPD_ADMISSION_ANSWER_H

#include <stdint.h>

#include "httpd/admission/admission.h"
#include "httpd/admission/dialect.h"
#include "httpd/http/problem.h"

struct evkeyvalq;
struct worker;

void answer_fields_number(struct evkeyvalq *fields, const char *name, int64_t number);

/* Adds the fields of every answer: X-Request-Id, on the admin listener the
 * security fields that are not set already, and RateLimit-* if the company has
 * a limit. */
void answer_fields_common(
	struct evkeyvalq *fields, const char *request_id, const struct admission *admission);

/* Adds the fields of a problem, where it has them: Allow, WWW-Authenticate,
 * Retry-After. */
void answer_fields_problem(struct evkeyvalq *fields, const struct problem *problem,
	const struct dialect_answer *answer);

/* What is logged of an answer, besides the admission of its request. */
struct answer_note {
	const char *request_id;
	int status;
	const struct problem *problem; /* NULL: all is well */
	const char *client;            /* its address; "" if not known */
	int64_t took_us; /* -1 if the request was refused before all of it had arrived */
	/* NULL or "" if there is none. */
	const char *target; /* the path of a request without a route */
	const char *email_id;
};

/* Counts the answer and logs it. */
void answer_note(
	struct worker *worker, const struct admission *admission, const struct answer_note *note);

#endif
