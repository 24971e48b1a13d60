/*
 * route: finds the row of a request in a table of routes.
 */
#include "httpd/admission/route.h"

#include <stdio.h>
#include <string.h>

#include "httpd/http/uri.h"

static bool path_matches(const char *pattern, struct span path, char param[static ROUTE_PARAM_MAX])
{
	struct span found = {NULL, 0};
	const char *hole;

	while ((hole = strstr(pattern, "{}")) != NULL) {
		size_t before = (size_t)(hole - pattern), len;
		const char *end;

		if (path.len < before || memcmp(path.data, pattern, before) != 0)
			return false;
		path.data += before;
		path.len -= before;
		end = memchr(path.data, '/', path.len);
		len = end ? (size_t)(end - path.data) : path.len;
		if (len == 0)
			return false;
		if (found.data == NULL)
			found = (struct span){path.data, len};
		path.data += len;
		path.len -= len;
		pattern = hole + 2;
	}
	return span_is(path, pattern) &&
	       (found.data == NULL || percent_decode(found, param, ROUTE_PARAM_MAX));
}

static void allow(char methods[static PROBLEM_ALLOW_MAX], const char *method)
{
	size_t len = strlen(methods);

	snprintf(methods + len, PROBLEM_ALLOW_MAX - len, "%s%s", len > 0 ? ", " : "", method);
}

void route_find(
	const struct route *routes, const struct http_head *head, struct route_match *match_r)
{
	match_r->route = NULL;
	match_r->allow[0] = '\0';
	match_r->param[0] = '\0';
	for (const struct route *route = routes; route->method; route++) {
		if (!path_matches(route->pattern, head->path, match_r->param))
			continue;
		if (span_is(head->method, route->method)) {
			match_r->route = route;
			return;
		}
		allow(match_r->allow, route->method);
	}
}
