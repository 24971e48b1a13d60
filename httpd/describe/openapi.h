/*
 * openapi: the HTTP API as an OpenAPI 3.1 document.
 */
#ifndef POSTERN_HTTPD_OPENAPI_H
#define POSTERN_HTTPD_OPENAPI_H

#include <jansson.h>

struct request;

/* The whole document; a new reference. */
json_t *openapi_document(void);

/* GET /openapi.json. */
void api_openapi_get(struct request *request);

#endif
