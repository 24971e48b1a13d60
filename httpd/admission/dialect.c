/*
 * dialect: how the JSON and the form dialect answer with a problem.
 *
 * The form dialect answers 400 to all invalid input, with just the message in
 * its JSON, and to a missing or wrong key with one word of plain text.
 */
#include "httpd/admission/dialect.h"

#include <jansson.h>

#include "core/base/mem.h"
#include "httpd/http/http1.h"

static char *dump(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	return text;
}

static void word_json(const struct problem *problem, struct dialect_answer *answer)
{
	answer->body = dump(json_pack("{s:i, s:s, s:s}", "statusCode", answer->status, "message",
		problem->text, "name", problem_name(problem)));
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

static const struct dialect {
	int invalid; /* used in place of 422 of the problem table */
	void (*word)(const struct problem *problem, struct dialect_answer *answer);
} dialects[] = {
	[DIALECT_JSON] = {422, word_json},
	[DIALECT_FORM] = {400, word_form},
};

static const struct dialect *dialect_of(const struct route *route)
{
	return &dialects[route ? route->dialect : DIALECT_JSON];
}

int dialect_status(const struct route *route, int status)
{
	return status == 422 ? dialect_of(route)->invalid : status;
}

void dialect_problem(
	const struct route *route, const struct problem *problem, struct dialect_answer *answer_r)
{
	*answer_r = (struct dialect_answer){
		.status = dialect_status(route, problem_status(problem)),
		.content_type = "application/json; charset=utf-8",
	};
	if (!problem->as_page) {
		dialect_of(route)->word(problem, answer_r);
		return;
	}
	answer_r->content_type = "text/html; charset=utf-8";
	answer_r->body = mem_printf(
		"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<title>%s</title>\n<h1>%s</h1>\n<p>%s</p>\n</html>\n",
		http_reason(answer_r->status), http_reason(answer_r->status), problem->text);
}
