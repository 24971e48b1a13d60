/*
 * routes: the table of routes of the API, and the document that describes them.
 */
#ifndef POSTERN_HTTPD_ROUTES_H
#define POSTERN_HTTPD_ROUTES_H

#include "httpd/admission/route.h"

extern const struct route routes[];

/* httpd/openapi.json: what the routes take and answer. It is maintained by
 * hand; tests compare it with the table and the answers. */
extern const char routes_openapi[];

#endif
