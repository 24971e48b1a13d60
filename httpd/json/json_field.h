/*
 * json_field: reads typed fields of a JSON request, and renders fields that
 * several answers share.
 *
 * Clients express "not given" as a missing field, null, "", [] or {}, and every
 * function treats these alike. Problems name the field, with problem->prefix
 * before it. Functions that return int return 0, or -1 with the problem.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_FIELD_H
#define POSTERN_HTTPD_JSON_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/strv.h"
#include "httpd/http/problem.h"

struct request;

/* Parses a whole body: an object without duplicate names (RFC 8259 4), in
 * UTF-8. The caller releases the reference. */
int json_field_parse(const char *body, size_t len, json_t **object_r, struct problem *problem);

/* Parses a body that must be an array. */
int json_field_parse_array(const char *body, size_t len, json_t **array_r, struct problem *problem);

/* Parses the request's body, an object, and charges the memory for it. The
 * caller releases the reference. */
int json_field_parse_request(struct request *request, json_t **object_r, struct problem *problem);

/* The field's value, or NULL if it is not given; borrowed from object. */
json_t *json_field_get(const json_t *object, const char *name);

/* A string without NUL; *value_r is NULL if it is not given; borrowed. path
 * names it in problems, such as `attachments[0].filename`. */
int json_field_text(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem);

/* Reads the value of a header field: a text without control characters. */
int json_field_line(const json_t *object, const char *name, const char *path, const char **value_r,
	struct problem *problem);

/* Checks a string that becomes the value of a header field. */
int json_field_check_line(const json_t *value, const char *path, struct problem *problem);

/* Reads a string that becomes the value of a header field and may be folded; unfolds it. The
 * caller frees it. Returns NULL with problem if it is not valid. */
char *json_field_unfolded(const json_t *value, const char *path, struct problem *problem);

/* Appends a string, or the strings of an array, to list. */
int json_field_strings(
	const json_t *object, const char *name, struct strv *list, struct problem *problem);

#endif
