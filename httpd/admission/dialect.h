/*
 * dialect: how the JSON and the form dialect answer with a problem.
 */
#ifndef POSTERN_HTTPD_ADMISSION_DIALECT_H
#define POSTERN_HTTPD_ADMISSION_DIALECT_H

#include "httpd/admission/route.h"
#include "httpd/http/problem.h"

struct dialect_answer {
	int status;
	const char *content_type;
	char *body;               /* allocated; the caller frees it */
	const char *authenticate; /* the value of WWW-Authenticate, or NULL */
};

/* Maps a status of the problem table to the one that the route's dialect uses. */
int dialect_status(const struct route *route, int status);

/* route is NULL for a request without one, which is answered in JSON. */
void dialect_problem(
	const struct route *route, const struct problem *problem, struct dialect_answer *answer_r);

#endif
