/*
 * json_field: fields of a JSON request, read with their types checked.
 *
 * Clients write "not given" as a missing field, null, "", [] or {}. Each
 * function takes these alike, and else gives a problem that names the field,
 * where problem->place says it stands.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_READ_H
#define POSTERN_HTTPD_JSON_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/strv.h"
#include "httpd/http/problem.h"

/* Reads a whole body: an object, no duplicate names (RFC 8259 4), UTF-8. The
 * caller drops the reference. */
int json_field_parse(const char *body, size_t len, json_t **object_r,
	struct problem *problem);

/* The same for an array. */
int json_field_parse_array(const char *body, size_t len, json_t **array_r,
	struct problem *problem);

/* The field's value, NULL when it is not given; borrowed from object. */
json_t *json_field_get(const json_t *object, const char *name);

/* A text without NUL; *value_r is NULL when it is not given; borrowed. path
 * names it in problems, as `attachments[0].filename`. */
int json_field_text(const json_t *object, const char *name, const char *path,
	const char **value_r, struct problem *problem);

/* The same for what stands in a header field: no control characters. */
int json_field_line(const json_t *object, const char *name, const char *path,
	const char **value_r, struct problem *problem);

/* Checks a text that stands in a header field. */
int json_field_check_line(
	const json_t *value, const char *path, struct problem *problem);

/* A string or an array of strings, appended to list. */
int json_field_strings(const json_t *object, const char *name,
	struct strv *list, struct problem *problem);

/*
 * json_body: the body of a request that is a JSON object.
 */

struct request;

/* Reads the request's body, within the memory that is left for requests. The
 * caller drops the reference. 0, or -1 with the problem. */
int json_body_parse(
	struct request *request, json_t **object_r, struct problem *problem);

/*
 * json_string: the inside of a string of JSON (RFC 8259 7).
 */

/* Appends what stands between the quotes, with escapes resolved: 0. -1 when it
 * is not well-formed, not UTF-8, or has a NUL; out may have grown then. */
int json_string_decode(const char *text, size_t len, struct buf *out);

/*
 * json_long: JSON with long strings, read and written fast.
 *
 * jansson looks at every byte of a string several times, one at a time; an
 * attachment of some megabytes would hold up a worker for a tenth of a second,
 * and to write a small email took a fifth of the time of its request.
 */

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
