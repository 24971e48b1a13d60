/*
 * dialect: how each of the two interfaces words an answer that is a problem.
 *
 * The form dialect has 400 for all that is wrong with the input, the message
 * alone in its JSON, and one word of text for all that is wrong with a key.
 */
#include "httpd/gate/dialect.h"

#include <jansson.h>

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
