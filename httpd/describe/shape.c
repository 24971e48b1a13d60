/*
 * shape: the values of fields, for programs and for people.
 *
 * Threads: any; the table is constant.
 */
#include <assert.h>

#include "core/base/mem.h"
#include "httpd/describe/describe.h"

#define STRING_  "{\"type\":\"string\"}"
#define STRINGS_ "{\"type\":\"array\",\"items\":" STRING_ "}"
#define BYTES_                                                                 \
	"{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0,"   \
	"\"maximum\":255}}"
#define FILE_ "{\"type\":\"string\",\"format\":\"binary\"}"

static const struct {
	const char *schema; /* JSON; NULL: made of the field */
	const char *words;
} shapes[SHAPES] = {
	[SHAPE_STRING] = {STRING_, "string"},
	[SHAPE_UUID] = {"{\"type\":\"string\",\"format\":\"uuid\"}", "UUID"},
	[SHAPE_TIME] = {"{\"type\":\"string\",\"format\":\"date-time\"}",
		"time"},
	[SHAPE_ADDRESS] = {STRING_, "address"},
	[SHAPE_INTEGER] = {"{\"type\":\"integer\"}", "integer"},
	[SHAPE_BOOLEAN] = {"{\"type\":\"boolean\"}", "boolean"},
	[SHAPE_TRUE] = {"{\"const\":true}", "`true`"},
	[SHAPE_NULL] = {"{\"type\":\"null\"}", "`null`"},
	[SHAPE_STRING_OR_NULL] = {"{\"type\":[\"string\",\"null\"]}",
		"string or `null`"},
	[SHAPE_TIME_OR_NULL] = {"{\"type\":[\"string\",\"null\"],"
				"\"format\":\"date-time\"}",
		"time or `null`"},
	[SHAPE_EMPTY] = {"{\"type\":\"array\",\"maxItems\":0}", "empty array"},
	[SHAPE_STRINGS] = {STRINGS_, "array of strings"},
	[SHAPE_STRINGS_OR_NULL] = {"{\"type\":[\"array\",\"null\"],"
				   "\"items\":" STRING_ "}",
		"array of strings, or `null`"},
	[SHAPE_STRING_OR_STRINGS] = {"{\"oneOf\":[" STRING_ "," STRINGS_ "]}",
		"string or array of strings"},
	[SHAPE_STRING_MAP] = {"{\"type\":\"object\","
			      "\"additionalProperties\":" STRING_ "}",
		"object of strings"},
	[SHAPE_CONTENT] =
		{"{\"oneOf\":[{\"type\":\"string\",\"contentEncoding\":"
		 "\"base64\"}," BYTES_
		 ",{\"type\":\"object\",\"required\":[\"data\"],"
		 "\"properties\":{\"type\":{\"const\":\"Buffer\"},"
		 "\"data\":" BYTES_ "}}]}",
			"base64 string or array of bytes"},
	[SHAPE_FILE] = {FILE_, "file"},
	[SHAPE_FILES] = {"{\"type\":\"array\",\"items\":" FILE_ "}", "files"},
	[SHAPE_ONE_OF] = {NULL, "one of"},
	[SHAPE_OBJECT] = {NULL, "object"},
	[SHAPE_OBJECTS] = {NULL, "array of"},
};

static json_t *one_of(const char *const *values)
{
	json_t *array = json_array();

	for (; *values; values++)
		json_array_append_new(array, json_string(*values));
	return json_pack("{s:s, s:o}", "type", "string", "enum", array);
}

static json_t *reference(const struct schema_about *schema)
{
	_cleanup_free_ char *path = mem_printf(
		"#/components/schemas/%s", schema->name);

	return json_pack("{s:s}", "$ref", path);
}

static json_t *shape_of(const struct field_about *field)
{
	switch (field->shape) {
	case SHAPE_ONE_OF:
		return one_of(field->values);
	case SHAPE_OBJECT:
		return reference(field->schema);
	case SHAPE_OBJECTS:
		return json_pack("{s:s, s:o}", "type", "array", "items",
			reference(field->schema));
	default:
		return json_loads(shapes[field->shape].schema, 0, NULL);
	}
}

json_t *describe_shape(const struct field_about *field)
{
	json_t *schema = shape_of(field);

	assert(schema != NULL);
	if (field->help)
		json_object_set_new(
			schema, "description", json_string(field->help));
	return schema;
}

const char *describe_shape_words(const struct field_about *field)
{
	return shapes[field->shape].words;
}
