/*
 * answer: what every answer has, whoever writes it: header fields, and its
 * place in the log and the counts.
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

/* What every answer has: the request's id, and its company's rate if there is
 * a limit. */
void answer_fields_common(
	struct evkeyvalq *fields, const char *request_id, const struct admission *admission);

/* What an answer that is a problem has besides: what is allowed, how to
 * authenticate, when to come again. */
void answer_fields_problem(struct evkeyvalq *fields, const struct problem *problem,
	const struct dialect_answer *answer);

/* What is told of an answer besides the admission of its request. */
struct answer_note {
	const char *request_id;
	int status;
	const struct problem *problem; /* NULL: all is well */
	const char *client;            /* its address; "": not known */
	int64_t took_us;               /* -1: the request was refused before it was whole */
	/* NULL or "": none. */
	const char *target; /* of a request without a route */
	const char *email_id;
};

/* Counts the answer and logs it. */
void answer_note(
	struct worker *worker, const struct admission *admission, const struct answer_note *note);

#endif
