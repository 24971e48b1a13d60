/*
 * api_openapi: GET /openapi.json.
 *
 * Threads: the worker's.
 */
#include "httpd/describe/openapi.h"
#include "httpd/http/reply.h"

void api_openapi_get(struct request *request)
{
	reply_json(request, 200, openapi_document());
}
