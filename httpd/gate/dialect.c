/*
 * dialect: how each of the two interfaces words an answer that is a problem.
 *
 * The form dialect has 400 for all that is wrong with the input, the message
 * alone in its JSON, and one word of text for all that is wrong with a key.
 */
#include "httpd/gate/dialect.h"

#include <event2/http.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "core/base/mem.h"

static char *dump(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	return text;
}

static void word_json(const struct problem *problem, struct dialect_answer *answer)
{
	answer->body = dump(json_pack("{s:i, s:s, s:s}", "statusCode",
		answer->status, "message", problem->text, "name",
		problem_name(problem)));
}

static void word_form(const struct problem *problem, struct dialect_answer *answer)
{
	if (answer->status == 401) {
		answer->content_type = "text/plain; charset=utf-8";
		answer->authenticate = "Basic realm=\"Postern\"";
		answer->body = mem_strdup("Forbidden");
		return;
	}
	answer->body = dump(json_pack("{s:s}", "message", problem->text));
}

int dialect_status(const struct route *route, int status)
{
	if (route && route->dialect == DIALECT_FORM && status == 422)
		return 400;
	return status;
}

void dialect_problem(const struct route *route, const struct problem *problem,
	struct dialect_answer *answer_r)
{
	*answer_r = (struct dialect_answer){
		.status = dialect_status(route, problem_status(problem)),
		.content_type = "application/json; charset=utf-8",
	};
	if (route && route->dialect == DIALECT_FORM)
		word_form(problem, answer_r);
	else
		word_json(problem, answer_r);
}

void answer_fields_number(
	struct evkeyvalq *fields, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	evhttp_add_header(fields, name, text);
}

/* What a browser must not do with an answer to an admin, unless the answer says
 * otherwise. */
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
	{"Content-Security-Policy",
		"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"},
};

void answer_fields_common(struct evkeyvalq *fields, const char *request_id,
	const struct admission *admission)
{
	const struct rate_state *rate = &admission->rate;

	evhttp_add_header(fields, "X-Request-Id", request_id);
	if (admission->is_admin)
		for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
			if (evhttp_find_header(fields, guards[i].name) == NULL)
				evhttp_add_header(fields, guards[i].name,
					guards[i].value);
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
