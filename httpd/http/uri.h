/*
 * uri: percent-encoding (RFC 3986 2.1) and queries, read strictly.
 */
#ifndef POSTERN_HTTPD_HTTP_URI_H
#define POSTERN_HTTPD_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/span.h"
#include "httpd/http/problem.h"

/* Decodes the text into out, which has size bytes, and ends it with NUL. False
 * when it is too long, holds a NUL or a malformed escape; out may hold anything
 * then. A + stays a +. */
bool percent_decode(struct span text, char *out, size_t size);

enum { QUERY_VALUE_MAX = 256 }; /* bytes of a name or value, with the NUL */

/* The value of a parameter, decoded: 1, 0 when it is not there, or -1 with a
 * problem that names it: it stands twice, or its value is too long, or is not
 * properly encoded. Other parameters are not looked at, but a name that is not
 * properly encoded is a problem: it might have meant this one. The query is
 * without its ?. */
int query_get(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem);

/* The same of words, whose blanks forms encode as a +. */
int query_get_words(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem);

/* Refuses a query with a parameter that is none of the names, which NULL ends:
 * 0, or -1 with a problem that names it. */
int query_known(const char *query, const char *const *names, struct problem *problem);

#endif
