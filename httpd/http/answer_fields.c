/*
 * answer_fields: the header fields of answers.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/answer_fields.h"

#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>

void answer_fields_number(
	struct evkeyvalq *fields, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	evhttp_add_header(fields, name, text);
}

void answer_fields_common(struct evkeyvalq *fields, const char *request_id,
	const struct admission *admission)
{
	const struct rate_state *rate = &admission->rate;

	evhttp_add_header(fields, "X-Request-Id", request_id);
	if (rate->limit == 0)
		return;
	answer_fields_number(fields, "RateLimit-Limit", rate->limit);
	answer_fields_number(fields, "RateLimit-Remaining", rate->remaining);
	answer_fields_number(fields, "RateLimit-Reset", rate->reset_s);
}

void answer_fields_problem(struct evkeyvalq *fields,
	const struct problem *problem, const struct dialect_answer *answer)
{
	if (problem->allow[0])
		evhttp_add_header(fields, "Allow", problem->allow);
	if (answer->authenticate)
		evhttp_add_header(
			fields, "WWW-Authenticate", answer->authenticate);
	if (problem->retry_after_s > 0)
		answer_fields_number(
			fields, "Retry-After", problem->retry_after_s);
}
