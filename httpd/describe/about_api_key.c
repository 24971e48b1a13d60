/*
 * about_api_key: the routes /api-keys.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct field_about request_fields[] = {
	{
		.name = "name",
		.shape = SHAPE_STRING,
		.help = "At most 50 characters.",
	},
	{
		.name = "permission",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"full_access", "sending_access",
			NULL},
		.help = "`full_access` (the default) gives all scopes, "
			"`sending_access` the scope sending.",
	},
	{
		.name = "domain_id",
		.shape = SHAPE_UUID,
		.help = "Binds the key to this domain.",
	},
	{0},
};

static const struct schema_about request = {
	.name = "ApiKeyRequest",
	.help = "The key that is wanted.",
	.fields = request_fields,
	.open = true,
};

static const struct field_about created_fields[] = {
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{
		.name = "token",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "The key itself. It is shown this once.",
	},
	{0},
};

static const struct schema_about created = {
	.name = "ApiKeyCreated",
	.help = "A new key.",
	.fields = created_fields,
};

static const struct field_about item_fields[] = {
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{.name = "name", .shape = SHAPE_STRING, .required = true},
	{.name = "created_at", .shape = SHAPE_TIME, .required = true},
	{
		.name = "last_used_at",
		.shape = SHAPE_TIME_OR_NULL,
		.required = true,
		.help = "To the minute or so; `null`: never.",
	},
	{0},
};

static const struct schema_about item = {
	.name = "ApiKey",
	.help = "A key, without its token.",
	.fields = item_fields,
};

static const struct field_about list_fields[] = {
	{
		.name = "data",
		.shape = SHAPE_OBJECTS,
		.schema = &item,
		.required = true,
	},
	{0},
};

static const struct schema_about list = {
	.name = "ApiKeyList",
	.help = "Valid keys of the company.",
	.base = &about_list,
	.fields = list_fields,
};

static const struct field_about name_fields[] = {
	{
		.name = "name",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "At most 50 characters.",
	},
	{0},
};

static const struct schema_about renaming = {
	.name = "ApiKeyUpdate",
	.help = "The new name of a key.",
	.fields = name_fields,
	.open = true,
};

static const struct field_about named_fields[] = {
	{
		.name = "object",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"api_key", NULL},
		.required = true,
	},
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{0},
};

static const struct schema_about named = {
	.name = "ApiKeyId",
	.help = "A key, by its id.",
	.fields = named_fields,
};

static const struct field_about removed_fields[] = {
	{.name = "deleted", .shape = SHAPE_TRUE, .required = true},
	{0},
};

static const struct schema_about removed = {
	.name = "ApiKeyRemoved",
	.help = "A key that is valid no more.",
	.base = &named,
	.fields = removed_fields,
};

static const struct field_about key_id = {
	.name = "id",
	.shape = SHAPE_UUID,
	.required = true,
	.help = "The id of the key.",
};

static const enum problem_kind list_problems[] = {
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

static const enum problem_kind update_problems[] = {
	PROBLEM_MISSING_FIELD,
	PROBLEM_NOT_FOUND,
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

static const enum problem_kind remove_problems[] = {
	PROBLEM_NOT_FOUND,
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

#define ID "\"id\": \"9f1c3a52-7d0e-4c55-b8a1-0f6a2f7f1a11\""

const struct route_about about_api_key_create = {
	.name = "createApiKey",
	.summary = "Create a key",
	.text = "A key that is bound to a domain creates only keys that are "
		"bound to it too. The new key may have scopes that the one "
		"which creates it lacks: with `managing` alone one gets a key "
		"that sends and reads, so give it only to those whom you trust "
		"with all three.",
	.request = &request,
	.status = 201,
	.answer = &created,
	.example = "{\"name\": \"Newsletter\", "
		   "\"permission\": \"sending_access\"}",
	.example_answer = "{" ID ", \"token\": \"ps_...\"}",
};

const struct route_about about_api_key_list = {
	.name = "listApiKeys",
	.summary = "List the keys of the company",
	.text = "A key that is bound to a domain sees only keys that are bound "
		"to it too.",
	.query = about_page_query,
	.status = 200,
	.answer = &list,
	.problems = list_problems,
	.example_answer =
		"{\"object\": \"list\", \"has_more\": false, \"data\": [{" ID
		", \"name\": \"Newsletter\", "
		"\"created_at\": \"2026-11-21T02:43:18.123456+00:00\", "
		"\"last_used_at\": null}]}",
};

const struct route_about about_api_key_update = {
	.name = "updateApiKey",
	.summary = "Rename a key",
	.text = "What it may do stays as it is.",
	.param = &key_id,
	.request = &renaming,
	.status = 200,
	.answer = &named,
	.problems = update_problems,
	.example_param = "$KEY_ID",
	.example = "{\"name\": \"Invoices\"}",
	.example_answer = "{\"object\": \"api_key\", " ID "}",
};

const struct route_about about_api_key_remove = {
	.name = "removeApiKey",
	.summary = "Revoke a key",
	.text = "It is refused from then on.",
	.param = &key_id,
	.status = 200,
	.answer = &removed,
	.problems = remove_problems,
	.example_param = "$KEY_ID",
	.example_answer = "{\"object\": \"api_key\", " ID
			  ", \"deleted\": true}",
};
