/*
 * openapi_private: what the files of openapi share.
 */
#ifndef POSTERN_HTTPD_OPENAPI_PRIVATE_H
#define POSTERN_HTTPD_OPENAPI_PRIVATE_H

#include <jansson.h>

#include "httpd/http/route.h"

/* Each returns a new reference. */

/* Refers to #/components/GROUP/NAME. */
json_t *openapi_ref(const char *group, const char *name);

/* A body of the media type; takes its schema. */
json_t *openapi_content(const char *type, json_t *schema);

json_t *openapi_components(const struct route *routes);

/* All answers of the route. */
json_t *openapi_responses(const struct route *route);

#endif
