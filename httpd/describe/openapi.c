/*
 * openapi: prints the tables as an OpenAPI 3.1 document.
 *
 * Threads: any; holds no state.
 */
#include "httpd/describe/openapi.h"

#include "core/base/mem.h"
#include "core/base/version.h"
#include "httpd/describe/describe.h"
#include "httpd/describe/openapi_private.h"

static json_t *parameter(const char *place, const struct field_about *field)
{
	json_t *schema = describe_shape(field);

	json_object_del(schema, "description");
	return json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", field->name, "in",
		place, "description", field->help, "required", field->required,
		"schema", schema);
}

static json_t *parameters(const struct route_about *about)
{
	const struct field_about *lists[] = {about->query, about->headers};
	static const char *const places[] = {"query", "header"};
	json_t *all = json_array();

	if (about->param)
		json_array_append_new(all, parameter("path", about->param));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct field_about *f = lists[i]; f && f->name; f++)
			json_array_append_new(all, parameter(places[i], f));
	return all;
}

static json_t *json_body(const struct route_about *about)
{
	json_t *media = openapi_content("application/json",
		openapi_ref("schemas", about->request->name));

	json_object_set_new(json_object_get(media, "application/json"),
		"example", json_loads(about->example, 0, NULL));
	return media;
}

static json_t *form_body(const struct route_about *about)
{
	static const char *const types[] = {
		"multipart/form-data", "application/x-www-form-urlencoded"};
	size_t n = about->multipart_only ? 1 : ARRAY_SIZE(types);
	json_t *media = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(media, types[i],
			json_pack("{s:o}", "schema",
				openapi_ref("schemas", about->request->name)));
	return media;
}

static json_t *security(const struct route *route)
{
	static const char *const schemes[] = {
		[AUTH_BEARER] = "bearer", [AUTH_BASIC] = "basic"};

	if (route->auth == AUTH_NONE)
		return json_array();
	return json_pack("[{s:[]}]", schemes[route->auth]);
}

static json_t *operation(const struct route *route)
{
	const struct route_about *about = route->about;
	json_t *all = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "operationId",
		about->name, "summary", about->summary, "description",
		about->text, "security", security(route), "parameters",
		parameters(about), "responses", openapi_responses(route));

	if (about->request)
		json_object_set_new(all, "requestBody",
			json_pack("{s:b, s:o}", "required", 1, "content",
				route->body == BODY_JSON ? json_body(about)
							 : form_body(about)));
	return all;
}

static void add_route(json_t *paths, const struct route *route)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	char method[16] = "";
	json_t *item;

	describe_path(route, &path);
	item = json_object_get(paths, buf_str(&path));
	if (item == NULL) {
		item = json_object();
		json_object_set_new(paths, buf_str(&path), item);
	}
	for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
		method[i] = (char)(route->method[i] | 0x20);
	json_object_set_new(item, method, operation(route));
}

json_t *openapi_document(const struct route *routes)
{
	json_t *paths = json_object();

	for (const struct route *route = routes; route->method; route++)
		add_route(paths, route);
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s}], s:o, s:o}",
		"openapi", "3.1.0", "info", "title", "Postern", "version",
		POSTERN_VERSION, "description",
		"Sends email through the Postfix of this host.", "servers", "url",
		"/", "paths", paths, "components", openapi_components(routes));
}
