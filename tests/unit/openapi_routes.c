/*
 * openapi_routes: an OpenAPI document beside the table of routes that it describes.
 */
#include "tests/unit/openapi_routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"

bool openapi_is_operation(const struct route *route, const char *path, const char *method)
{
	const char *pattern = route->pattern;

	for (; *path && *path == *pattern; path++, pattern++)
		if (*path == '{')
			path = strchr(path, '}') - 1;
	return *path == *pattern && str_eq_nocase(route->method, method);
}

void openapi_for_routes(json_t *document, const struct route *routes,
	void (*check)(json_t *document, const struct route *route, json_t *operation))
{
	json_t *item, *operation;
	const char *path, *method;
	size_t operations = 0, n = 0;

	json_object_foreach(json_object_get(document, "paths"), path, item)
		json_object_foreach(item, method, operation) {
			const struct route *route = routes;

			while (route->method && !openapi_is_operation(route, path, method))
				route++;
			if (route->method == NULL)
				fail_msg("no route %s %s", method, path);
			check(document, route, operation);
			operations += !str_eq(route->method, "HEAD");
		}
	for (const struct route *route = routes; route->method; route++)
		if (str_eq(route->method, "HEAD"))
			assert_string_equal(route->pattern, route[-1].pattern);
		else
			n++;
	assert_int_equal(operations, n); /* so each has one */
}
