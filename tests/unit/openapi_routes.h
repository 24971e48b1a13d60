/*
 * openapi_routes: an OpenAPI document beside the table of routes that it describes.
 */
#ifndef POSTERN_TESTS_OPENAPI_ROUTES_H
#define POSTERN_TESTS_OPENAPI_ROUTES_H

#include <jansson.h>
#include <stdbool.h>

#include "httpd/admission/route.h"

/* Whether the operation of the document is that of the route: names in the path do not count,
 * `/emails/{id}` is `/emails/{}`. */
bool openapi_is_operation(const struct route *route, const char *path, const char *method);

/* Calls check once for each route, with its operation. The test fails where there is an operation
 * without a route, or a route without an operation. HEAD is the GET before it without content,
 * which needs no operation. */
void openapi_for_routes(json_t *document, const struct route *routes,
	void (*check)(json_t *document, const struct route *route, json_t *operation));

#endif
