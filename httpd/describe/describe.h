/*
 * describe: what the tables say about the routes, for those that print it.
 */
#ifndef POSTERN_HTTPD_DESCRIBE_H
#define POSTERN_HTTPD_DESCRIBE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "httpd/describe/about.h"
#include "httpd/http/route.h"

enum { DESCRIBE_SCHEMAS_MAX = 64 };

struct schema_set {
	const struct schema_about *items[DESCRIBE_SCHEMAS_MAX];
	size_t n;
};

/* All schemas that these routes use, each once, in the order of their use. */
void describe_schemas(const struct route *routes, struct schema_set *set_r);

/* The schema's fields by their number, those of its base first; NULL behind the
 * last. */
const struct field_about *describe_field(
	const struct schema_about *schema, size_t i);

/* All problems that the route can answer with, ended by PROBLEM_NONE. */
void describe_problems(const struct route *route,
	enum problem_kind kinds_r[static PROBLEM_KINDS]);

/* The status of such an answer, in the route's dialect. */
int describe_status(const struct route *route, enum problem_kind kind);

/* What such an answer means; NULL when there is none. */
const char *describe_reason(int status);

/* Appends the path with the name of its parameter: `/emails/{id}`. */
void describe_path(const struct route *route, struct buf *out);

/* The JSON Schema of a field's values; a new reference. Schemas are referred to
 * where OpenAPI has them, in #/components/schemas. */
json_t *describe_shape(const struct field_about *field);

/* The same in words, as `string or array of strings`; static. For SHAPE_ONE_OF
 * and what has a schema, the words before their names. */
const char *describe_shape_words(const struct field_about *field);

#endif
