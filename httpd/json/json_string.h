/*
 * json_string: the inside of a string of JSON (RFC 8259 7).
 */
#ifndef POSTERN_HTTPD_JSON_STRING_H
#define POSTERN_HTTPD_JSON_STRING_H

#include "core/base/buf.h"

/* Appends what stands between the quotes, with escapes resolved: 0. -1 when it
 * is not well-formed, not UTF-8, or has a NUL; out may have grown then. */
int json_string_decode(const char *text, size_t len, struct buf *out);

/* Appends the text as it stands between the quotes: 0. -1 when it is not UTF-8,
 * and then nothing is appended. */
int json_string_encode(const char *text, size_t len, struct buf *out);

#endif
