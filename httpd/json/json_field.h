/*
 * json_field: fields of a JSON request, read with their types checked, and what
 * fields of several answers look like.
 *
 * Clients write "not given" as a missing field, null, "", [] or {}. Each
 * function takes these alike, and else gives a problem that names the field,
 * where problem->prefix says it stands.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_FIELD_H
#define POSTERN_HTTPD_JSON_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/strv.h"
#include "httpd/http/problem.h"

struct request;

/* Reads a whole body: an object, no duplicate names (RFC 8259 4), UTF-8. The
 * caller drops the reference. */
int json_field_parse(const char *body, size_t len, json_t **object_r, struct problem *problem);

/* The same for an array. */
int json_field_parse_array(const char *body, size_t len, json_t **array_r, struct problem *problem);

/* Reads the request's body, an object, within the memory that is left for
 * requests. The caller drops the reference. 0, or -1 with the problem. */
int json_field_parse_request(struct request *request, json_t **object_r, struct problem *problem);

/* The field's value, NULL when it is not given; borrowed from object. */
json_t *json_field_get(const json_t *object, const char *name);

/* A text without NUL; *value_r is NULL when it is not given; borrowed. path
 * names it in problems, as `attachments[0].filename`. */
int json_field_text(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem);

/* The same for what stands in a header field: no control characters. */
int json_field_line(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem);

/* Checks a text that stands in a header field. */
int json_field_check_line(const json_t *value, const char *path, struct problem *problem);

/* A time as an answer has it (RFC 3339); null for 0, which stands for never. A
 * new reference. */
json_t *json_field_time(int64_t time_us);

/* A string or an array of strings, appended to list. */
int json_field_strings(
	const json_t *object, const char *name, struct strv *list, struct problem *problem);

#endif
