/*
 * routes: the table of all that httpd serves.
 */
#ifndef POSTERN_HTTPD_ROUTES_H
#define POSTERN_HTTPD_ROUTES_H

#include "httpd/http/route.h"

extern const struct route routes[];

#endif
