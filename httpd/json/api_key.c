/*
 * api_key: the routes /api-keys: parses the bodies and renders the answers.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/str.h"
#include "core/ops/op_key.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/json_field.h"

static const struct {
	const char *permission;
	const char *scopes;
} permissions[] = {
	{"full_access", "sending,reading,managing"},
	{"sending_access", "sending"},
};

static int read_key_name(const json_t *body, const char **name_r, struct problem *problem)
{
	if (json_field_line(body, "name", "name", name_r, problem) < 0)
		return -1;
	if (*name_r == NULL)
		*name_r = "";
	if (str_utf8_count(*name_r, strlen(*name_r)) > KEY_NAME_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `name` field must not be longer than %d characters.", KEY_NAME_MAX);
	return 0;
}

int key_json_parse(const json_t *body, void *input, struct problem *problem)
{
	const json_t *permission = json_field_get(body, "permission");
	struct op_key *key = input;
	char id[ID_SIZE];

	if (read_key_name(body, &key->name, problem) < 0)
		return -1;
	key->scopes = permission ? NULL : permissions[0].scopes;
	for (size_t i = 0; json_is_string(permission) && i < ARRAY_SIZE(permissions); i++)
		if (str_eq(json_string_value(permission), permissions[i].permission))
			key->scopes = permissions[i].scopes;
	if (key->scopes == NULL)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `permission` field must be `full_access` or `sending_access`.");
	if (json_field_text(body, "domain_id", "domain_id", &key->domain_id, problem) < 0)
		return -1;
	return key->domain_id == NULL || id_parse(key->domain_id, id)
		       ? 0
		       : problem_set(problem, PROBLEM_VALIDATION,
				 "The `domain_id` field must be a valid UUID.");
}

int key_json_parse_name(const json_t *body, void *input, struct problem *problem)
{
	const json_t *given = json_object_get(body, "name");
	struct op_key *key = input;

	if (given == NULL || json_is_null(given))
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `name` field.");
	/* Otherwise {} and [] would count as "" and erase the name. */
	return json_field_check_line(given, "name", problem) < 0
		       ? -1
		       : read_key_name(body, &key->name, problem);
}

json_t *key_json_render(const struct key *key)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "id", key->id, "name", key->name, "created_at",
		row_json_time(key->created_us), "last_used_at", row_json_time(key->last_used_us));
}

static json_t *render_item(const void *item)
{
	return key_json_render(item);
}

static json_t *render_new(const struct op *op)
{
	const struct key *key = op->result.rows.items;

	json_t *answer = json_pack("{s:s}", "id", key->id);

	/* The token, and the settings for SMTP clients. */
	json_object_update(answer, op->result.more);
	return answer;
}

#define MISSING "API key not found"
#define DENIED  PROBLEM_RESTRICTED_KEY

const struct manage api_key_create = {key_json_parse, render_new, NULL, MISSING, DENIED};
const struct manage api_key_list = {NULL, NULL, render_item, MISSING, DENIED};
const struct manage api_key_update = {key_json_parse_name, manage_render_id, NULL, MISSING, DENIED};
const struct manage api_key_remove = {NULL, manage_render_removed, NULL, MISSING, DENIED};
