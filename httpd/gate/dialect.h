/*
 * dialect: how each of the two interfaces words an answer that is a problem.
 */
#ifndef POSTERN_HTTPD_GATE_DIALECT_H
#define POSTERN_HTTPD_GATE_DIALECT_H

#include <stdint.h>

#include "httpd/gate/admission.h"
#include "httpd/gate/route.h"
#include "httpd/http/problem.h"

struct evkeyvalq;

struct dialect_answer {
	int status;
	const char *content_type;
	char *body;               /* the caller frees it */
	const char *authenticate; /* for WWW-Authenticate; NULL: none */
};

/* The status that the route's dialect has for one of the problem table. */
int dialect_status(const struct route *route, int status);

/* route is NULL for a request that has none: that is answered in JSON. */
void dialect_problem(const struct route *route, const struct problem *problem,
	struct dialect_answer *answer_r);

/* Header fields of answers, whoever writes them. */

void answer_fields_number(
	struct evkeyvalq *fields, const char *name, int64_t number);

/* What every answer has: the request's id, and its company's rate if there is
 * a limit. */
void answer_fields_common(struct evkeyvalq *fields, const char *request_id,
	const struct admission *admission);

/* What an answer that is a problem has besides: what is allowed, how to
 * authenticate, when to come again. */
void answer_fields_problem(struct evkeyvalq *fields,
	const struct problem *problem, const struct dialect_answer *answer);

#endif
