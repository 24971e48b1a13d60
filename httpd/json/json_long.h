/*
 * json_long: JSON with long strings, read fast.
 *
 * jansson looks at every byte of a string several times, one at a time; an
 * attachment of some megabytes would hold up a worker for a tenth of a second.
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

#endif
