/*
 * percent: percent-encoding (RFC 3986 2.1), read strictly.
 */
#ifndef POSTERN_HTTPD_PERCENT_H
#define POSTERN_HTTPD_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "httpd/http/http_head.h"

/* Decodes the text into out, which has size bytes, and ends it with NUL. False
 * when it is too long, holds a NUL or a malformed escape; out may hold anything
 * then. A + stays a +. */
bool percent_decode(struct http_text text, char *out, size_t size);

#endif
