/*
 * json_long: JSON with long strings, read and written fast.
 *
 * jansson looks at every byte of a string several times, one at a time. What
 * that costs (doc/BENCHMARKS.md): a body with an attachment of 5 MB took 152 ms
 * to parse, and takes 3 ms; of the CPU time of a GET of an email of 2 KB
 * jansson's writing was 21 %, and is 6 %.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_LONG_H
#define POSTERN_HTTPD_JSON_JSON_LONG_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"

/* A string of at least so many bytes is long. */
enum { JSON_LONG_MIN = 512 };

/* The same as json_loadb(), whatever the text; strings of min bytes and more,
 * where they are values of objects, cost little. */
json_t *json_long_load(const char *text, size_t len, size_t min, size_t flags, json_error_t *error);

/* A member of an object; text NULL is null. */
struct json_long_member {
	const char *name, *text;
};

/* The object, which has other members, as compact text, and behind its own
 * these n. The caller's to free; NULL when it cannot be printed. */
char *json_long_dump(const json_t *object, const struct json_long_member *members, size_t n);

/* The inside of a string (RFC 8259 7): appends what stands between the quotes,
 * with escapes resolved: 0. -1 when it is not well-formed, not UTF-8, or has a
 * NUL; out may have grown then. */
int json_string_decode(const char *text, size_t len, struct buf *out);

#endif
