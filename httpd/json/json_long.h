/*
 * json_long: fast parsing and printing of JSON with long strings.
 *
 * jansson processes every byte of a string several times, one at a time. What
 * that costs (doc/BENCHMARKS.md): parsing a body with an attachment of 5 MB
 * took 152 ms, and takes 3 ms; printing with jansson was 21 % of the CPU time
 * of a GET of an email of 2 KB, and is 6 %.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_LONG_H
#define POSTERN_HTTPD_JSON_JSON_LONG_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"

/* The minimum size of a long string, in bytes. */
enum { JSON_LONG_MIN = 512 };

/* Same result as json_loadb() for any text. Strings of at least min bytes that
 * are values of object members cost little. */
json_t *json_long_load(const char *text, size_t len, size_t min, size_t flags, json_error_t *error);

/* A member of an object. A NULL text is printed as null. */
struct json_long_member {
	const char *name, *text;
};

/* Prints the object compactly, with n more members after its own, of which it
 * has at least one. The caller frees the text; NULL if it cannot be printed. */
char *json_long_dump(const json_t *object, const struct json_long_member *members, size_t n);

/* Decodes the inside of a string (RFC 8259 7), without the quotes, and appends
 * it. Returns 0, or -1 if it is malformed, not UTF-8, or contains a NUL; out
 * may have grown then. */
int json_string_decode(const char *text, size_t len, struct buf *out);

#endif
