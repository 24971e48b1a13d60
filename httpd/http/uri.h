/*
 * uri: percent-encoding (RFC 3986 2.1) and query strings, decoded strictly.
 */
#ifndef POSTERN_HTTPD_HTTP_URI_H
#define POSTERN_HTTPD_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/span.h"
#include "httpd/http/problem.h"

/* Decodes text into out, of size bytes, and adds a NUL. False if it is too long
 * or contains a NUL or a malformed escape; out is then unchanged. A + stays a
 * +. */
bool percent_decode(struct span text, char *out, size_t size);

enum { QUERY_VALUE_MAX = 256 }; /* bytes of a name or value, with the NUL */

/* Decodes the value of a parameter. Returns 1 if it is there, 0 if it is not,
 * or -1 with a problem: the parameter is repeated, or its value is too long or
 * badly encoded. Other parameters are ignored, except for a badly encoded name,
 * which might mean this one. The query is without its ?. */
int query_get(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem);

/* Reads a value in which + stands for a blank, as in forms. */
int query_get_words(const char *query, const char *name, char value[static QUERY_VALUE_MAX],
	struct problem *problem);

/* Refuses a query with a parameter that is not among the names (ended by NULL).
 * Returns 0, or -1 with a problem that names it. */
int query_known(const char *query, const char *const *names, struct problem *problem);

#endif
