/*
 * dialect: how each of the two interfaces words an answer that is a problem.
 */
#ifndef POSTERN_HTTPD_ADMISSION_DIALECT_H
#define POSTERN_HTTPD_ADMISSION_DIALECT_H

#include "httpd/admission/route.h"
#include "httpd/http/problem.h"

struct dialect_answer {
	int status;
	const char *content_type;
	char *body;               /* the caller frees it */
	const char *authenticate; /* for WWW-Authenticate; NULL: none */
};

/* The status that the route's dialect has for one of the problem table. */
int dialect_status(const struct route *route, int status);

/* route is NULL for a request that has none: that is answered in JSON. */
void dialect_problem(
	const struct route *route, const struct problem *problem, struct dialect_answer *answer_r);

#endif
