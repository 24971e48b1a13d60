/*
 * answer_fields: the header fields of answers, whoever writes them.
 */
#ifndef POSTERN_HTTPD_ANSWER_FIELDS_H
#define POSTERN_HTTPD_ANSWER_FIELDS_H

#include <stdint.h>

#include "httpd/http/admission.h"
#include "httpd/http/dialect.h"

struct evkeyvalq;

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
