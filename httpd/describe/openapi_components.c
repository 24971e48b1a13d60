/*
 * openapi_components: what the paths refer to.
 *
 * Threads: any; holds no state.
 */
#include "core/base/mem.h"
#include "httpd/describe/describe.h"
#include "httpd/describe/openapi_private.h"

json_t *openapi_ref(const char *group, const char *name)
{
	_cleanup_free_ char *path = mem_printf("#/components/%s/%s", group, name);

	return json_pack("{s:s}", "$ref", path);
}

json_t *openapi_content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

/* Fields as an object of JSON Schema. */
static json_t *object_of(const struct schema_about *schema)
{
	json_t *properties = json_object(), *required = json_array();
	const struct field_about *f;

	for (size_t i = 0; (f = describe_field(schema, i)) != NULL; i++) {
		json_object_set_new(properties, f->name, describe_shape(f));
		if (f->required)
			json_array_append_new(required, json_string(f->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
		properties, "required", required, "additionalProperties",
		schema->open);
}

static json_t *schema_of(const struct schema_about *schema)
{
	json_t *object = object_of(schema);

	if (schema->is_array)
		object = json_pack(
			"{s:s, s:o}", "type", "array", "items", object);
	json_object_set_new(object, "description", json_string(schema->help));
	return object;
}

static json_t *schemas(const struct route *routes)
{
	json_t *all = json_object();
	struct schema_set set;

	describe_schemas(routes, &set);
	for (size_t i = 0; i < set.n; i++)
		json_object_set_new(
			all, set.items[i]->name, schema_of(set.items[i]));
	return all;
}

static json_t *header(const char *help, json_t *schema)
{
	return json_pack("{s:s, s:o}", "description", help, "schema", schema);
}

static json_t *integer(void)
{
	return json_pack("{s:s}", "type", "integer");
}

json_t *openapi_components(const struct route *routes)
{
	json_t *bearer = json_pack("{s:s, s:s, s:s}", "type", "http", "scheme",
		"bearer", "description", "An API key.");
	json_t *basic = json_pack("{s:s, s:s, s:s}", "type", "http", "scheme",
		"basic", "description", "User `api`, password an API key.");
	json_t *headers = json_pack("{s:o, s:o, s:o, s:o, s:o}", "X-Request-Id",
		header("Names the request; the log has it too.",
			json_pack("{s:s, s:s}", "type", "string", "format",
				"uuid")),
		"RateLimit-Limit",
		header("Requests that the company may make at once.", integer()),
		"RateLimit-Remaining",
		header("Requests that it may still make now.", integer()),
		"RateLimit-Reset",
		header("Seconds until it may make all of them again.", integer()),
		"Retry-After",
		header("Seconds after which to try again.", integer()));

	return json_pack("{s:o, s:{s:o, s:o}, s:o}", "schemas", schemas(routes),
		"securitySchemes", "bearer", bearer, "basic", basic, "headers",
		headers);
}
