/*
 * openapi: the HTTP API as an OpenAPI 3.1 document.
 */
#ifndef POSTERN_HTTPD_OPENAPI_H
#define POSTERN_HTTPD_OPENAPI_H

#include <jansson.h>

struct request;
struct route;

/* The whole document of these routes; a new reference. */
json_t *openapi_document(const struct route *routes);

/* GET /openapi.json. */
void api_openapi_get(struct request *request);

#endif
