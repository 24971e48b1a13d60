/*
 * routes: the table of all that httpd serves, and the document that describes
 * it.
 */
#ifndef POSTERN_HTTPD_ROUTES_H
#define POSTERN_HTTPD_ROUTES_H

#include "httpd/admission/route.h"

extern const struct route routes[];

/* httpd/openapi.json: what the routes take and answer. It is kept by hand, and
 * tests hold it against the table and the answers. */
extern const char routes_openapi[];

#endif
