/*
 * routes: the table of all that httpd serves, and the search in it.
 *
 * Threads: any; the table is constant.
 */
#include "httpd/http/routes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_key.h"
#include "httpd/describe/about.h"
#include "httpd/describe/openapi.h"
#include "httpd/form/api_form.h"
#include "httpd/http/percent.h"
#include "httpd/json/api_batch.h"
#include "httpd/json/api_domain.h"
#include "httpd/json/api_email.h"
#include "httpd/json/api_key.h"

static const struct route routes[] = {
	{
		.method = "POST",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_SENDING,
		.idempotent = true,
		.body = BODY_JSON,
		.handle = api_email_send,
		.about = &about_email_send,
	},
	{
		.method = "GET",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_READING,
		.body = BODY_IGNORED,
		.handle = api_email_list,
		.about = &about_email_list,
	},
	{
		.method = "POST",
		.pattern = "/emails/batch",
		.auth = AUTH_BEARER,
		.scopes = KEY_SENDING,
		.idempotent = true,
		.body = BODY_JSON,
		.handle = api_batch_send,
		.about = &about_batch_send,
	},
	{
		.method = "GET",
		.pattern = "/emails/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_ALL,
		.body = BODY_IGNORED,
		.handle = api_email_get,
		.about = &about_email_get,
	},
	{
		.method = "POST",
		.pattern = "/domains",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON,
		.handle = api_domain_create,
		.about = &about_domain_create,
	},
	{
		.method = "GET",
		.pattern = "/domains",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_list,
		.about = &about_domain_list,
	},
	{
		.method = "GET",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_get,
		.about = &about_domain_get,
	},
	{
		.method = "PATCH",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON,
		.handle = api_domain_update,
		.about = &about_domain_update,
	},
	{
		.method = "DELETE",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_remove,
		.about = &about_domain_remove,
	},
	{
		.method = "POST",
		.pattern = "/domains/{}/verify",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_verify,
		.about = &about_domain_verify,
	},
	{
		.method = "POST",
		.pattern = "/api-keys",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON,
		.handle = api_key_create,
		.about = &about_api_key_create,
	},
	{
		.method = "GET",
		.pattern = "/api-keys",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_key_list,
		.about = &about_api_key_list,
	},
	{
		.method = "PATCH",
		.pattern = "/api-keys/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON,
		.handle = api_key_update,
		.about = &about_api_key_update,
	},
	{
		.method = "DELETE",
		.pattern = "/api-keys/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_key_remove,
		.about = &about_api_key_remove,
	},
	{
		.method = "POST",
		.pattern = "/v3/{}/messages",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_SENDING,
		.names_domain = true,
		.body = BODY_FORM,
		.handle = api_form_send,
		.about = &about_form_send,
	},
	{
		.method = "POST",
		.pattern = "/v3/{}/messages.mime",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_SENDING,
		.names_domain = true,
		.body = BODY_FORM,
		.handle = api_form_send_mime,
		.about = &about_form_send_mime,
	},
	{
		.method = "GET",
		.pattern = "/openapi.json",
		.auth = AUTH_NONE,
		.body = BODY_IGNORED,
		.handle = api_openapi_get,
		.about = &about_openapi,
	},
};

static bool path_matches(const char *pattern, struct http_text path,
	char param[static ROUTE_PARAM_MAX])
{
	const char *hole = strstr(pattern, "{}");
	size_t before, after;
	struct http_text segment;

	if (hole == NULL)
		return http_text_is(path, pattern);
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

static void allow(char methods[static ROUTE_ALLOW_MAX], const char *method)
{
	size_t len = strlen(methods);

	snprintf(methods + len, ROUTE_ALLOW_MAX - len, "%s%s",
		len > 0 ? ", " : "", method);
}

const struct route *routes_at(size_t i)
{
	return i < ARRAY_SIZE(routes) ? &routes[i] : NULL;
}

void routes_match(const struct http_head *head, struct route_match *match_r)
{
	match_r->route = NULL;
	match_r->allow[0] = '\0';
	match_r->param[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		const struct route *route = &routes[i];

		if (!path_matches(route->pattern, head->path, match_r->param))
			continue;
		if (http_text_is(head->method, route->method)) {
			match_r->route = route;
			return;
		}
		allow(match_r->allow, route->method);
	}
}
