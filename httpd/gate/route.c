/*
 * route: the search in a table of routes.
 */
#include "httpd/gate/route.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/http/uri.h"

static bool path_matches(const char *pattern, struct span path,
	char param[static ROUTE_PARAM_MAX])
{
	const char *hole = strstr(pattern, "{}");
	size_t before, after;
	struct span segment;

	if (hole == NULL)
		return span_is(path, pattern);
	before = (size_t)(hole - pattern);
	after = strlen(hole + 2);
	if (path.len <= before + after ||
		memcmp(path.data, pattern, before) != 0 ||
		memcmp(path.data + path.len - after, hole + 2, after) != 0)
		return false;
	segment.data = path.data + before;
	segment.len = path.len - before - after;
	return memchr(segment.data, '/', segment.len) == NULL &&
	       percent_decode(segment, param, ROUTE_PARAM_MAX);
}

static void allow(char methods[static PROBLEM_ALLOW_MAX], const char *method)
{
	size_t len = strlen(methods);

	snprintf(methods + len, PROBLEM_ALLOW_MAX - len, "%s%s",
		len > 0 ? ", " : "", method);
}

void route_find(const struct route *routes, const struct http_head *head,
	struct route_match *match_r)
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
