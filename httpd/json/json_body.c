/*
 * json_body: the body of a request that is a JSON object.
 *
 * Threads: the worker's.
 */
#include "httpd/json/json_body.h"

#include "httpd/http/json_text.h"
#include "httpd/http/request.h"
#include "httpd/json/json_field.h"

int json_body_parse(
	struct request *request, json_t **object_r, struct problem *problem)
{
	size_t len;
	const char *body = request_body(request, &len);

	if (admission_reserve(request->worker, &request->admission,
		    json_text_cost(body, len), problem) < 0)
		return -1;
	return json_field_parse(body, len, object_r, problem);
}
