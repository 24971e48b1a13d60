/*
 * json_long: JSON with long strings, read and written fast.
 *
 * jansson looks at every byte of a string several times, one at a time; an
 * attachment of some megabytes would hold up a worker for a tenth of a second,
 * and to write a small email took a fifth of the time of its request.
 */
#ifndef POSTERN_HTTPD_JSON_LONG_H
#define POSTERN_HTTPD_JSON_LONG_H

#include <jansson.h>

/* A string of at least so many bytes is long. */
enum { JSON_LONG_MIN = 512 };

/* The same as json_loadb(), whatever the text; strings of min bytes and more,
 * where they are values of objects, cost little. */
json_t *json_long_load(const char *text, size_t len, size_t min, size_t flags,
	json_error_t *error);

/* A member of an object; text NULL is null. */
struct json_long_member {
	const char *name, *text;
};

/* The object, which has other members, as compact text, and behind its own
 * these n. The caller's to free; NULL when it cannot be printed. */
char *json_long_dump(
	const json_t *object, const struct json_long_member *members, size_t n);

#endif
