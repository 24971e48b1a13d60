/*
 * answer: what all answers have in common.
 *
 * Threads: the worker's.
 */
#include "httpd/admission/answer.h"

#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/admission/counts.h"
#include "httpd/worker/worker.h"

void answer_fields_number(struct evkeyvalq *fields, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	evhttp_add_header(fields, name, text);
}

/* Security fields of answers on the admin listener. A field that the answer has
 * already is kept. */
static const struct {
	const char *name;
	const char *value;
} guards[] = {
	{"Cache-Control", "no-store"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"},
};

void answer_fields_common(
	struct evkeyvalq *fields, const char *request_id, const struct admission *admission)
{
	const struct rate_state *rate = &admission->rate;

	evhttp_add_header(fields, "X-Request-Id", request_id);
	if (admission->is_admin)
		for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
			if (evhttp_find_header(fields, guards[i].name) == NULL)
				evhttp_add_header(fields, guards[i].name, guards[i].value);
	if (rate->limit == 0)
		return;
	answer_fields_number(fields, "RateLimit-Limit", rate->limit);
	answer_fields_number(fields, "RateLimit-Remaining", rate->remaining);
	answer_fields_number(fields, "RateLimit-Reset", rate->reset_s);
}

void answer_fields_problem(struct evkeyvalq *fields, const struct problem *problem,
	const struct dialect_answer *answer)
{
	if (problem->allow[0])
		evhttp_add_header(fields, "Allow", problem->allow);
	if (answer->authenticate)
		evhttp_add_header(fields, "WWW-Authenticate", answer->authenticate);
	if (problem->retry_after_s > 0)
		answer_fields_number(fields, "Retry-After", problem->retry_after_s);
}

static const char *or_null(const char *text)
{
	return str_empty(text) ? NULL : text;
}

void answer_note(
	struct worker *worker, const struct admission *admission, const struct answer_note *note)
{
	const struct route *route = admission->route;
	const struct key *key = &admission->key;
	const struct problem *problem = note->problem;
	bool whole = note->took_us >= 0;

	counts_reply(worker->counts, route, note->status, note->took_us);
	log_info(worker->log, whole ? "request" : "request_refused", "request", note->request_id,
		"status", LOG_INT(note->status), "method", route ? route->method : NULL, "route",
		route ? route->pattern : NULL, "target", or_null(note->target), "key",
		key->name ? key->id : NULL, "user", admission->session.login, "email",
		or_null(note->email_id), "client", or_null(note->client), "error",
		problem ? problem_name(problem) : NULL, "reason", problem ? problem->text : NULL,
		"took_us", whole ? LOG_INT(note->took_us) : NULL);
}
