/*
 * about_openapi: GET /openapi.json.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct schema_about document = {
	.name = "Document",
	.help = "An OpenAPI 3.1 document.",
	.open = true,
};

const struct route_about about_openapi = {
	.name = "getOpenapi",
	.summary = "Read this description as OpenAPI",
	.text = "The document tells all that stands here, for programs. No key "
		"is needed.",
	.status = 200,
	.answer = &document,
};
