/*
 * api_openapi: GET /openapi.json.
 *
 * Threads: the worker's.
 */
#include "httpd/describe/openapi.h"

#include "httpd/base/worker.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"

void api_openapi_get(struct request *request)
{
	reply_json(request, 200,
		openapi_document(request->worker->shared->routes));
}
