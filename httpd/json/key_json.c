/*
 * key_json: API keys in the JSON dialect, in and out.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/key_json.h"

#include "core/base/clock.h"
#include "core/base/str.h"
#include "httpd/json/json_field.h"

static const struct {
	const char *permission;
	unsigned scopes;
} permissions[] = {
	{"full_access", KEY_ALL},
	{"sending_access", KEY_SENDING},
};

/* The number of characters of a UTF-8 text. */
static size_t characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			n++;
	return n;
}

static int read_name(
	const json_t *body, const char **name_r, struct problem *problem)
{
	if (json_field_line(body, "name", "name", name_r, problem) < 0)
		return -1;
	if (*name_r == NULL)
		*name_r = "";
	if (characters(*name_r) > KEY_NAME_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `name` field must not be longer than %d "
			"characters.",
			KEY_NAME_MAX);
	return 0;
}

static int read_permission(
	const json_t *body, unsigned *scopes_r, struct problem *problem)
{
	const json_t *value = json_field_get(body, "permission");

	*scopes_r = permissions[0].scopes;
	if (value == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(permissions); i++) {
		if (!json_is_string(value) || !str_eq(json_string_value(value),
						      permissions[i].permission))
			continue;
		*scopes_r = permissions[i].scopes;
		return 0;
	}
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `permission` field must be `full_access` or "
		"`sending_access`.");
}

static int read_domain_id(
	const json_t *body, char id[static ID_SIZE], struct problem *problem)
{
	const char *text;

	id[0] = '\0';
	if (json_field_text(body, "domain_id", "domain_id", &text, problem) < 0)
		return -1;
	if (text == NULL || id_parse(text, id))
		return 0;
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `domain_id` field must be a valid UUID.");
}

int key_json_parse(
	const json_t *body, struct key_wish *wish_r, struct problem *problem)
{
	struct key_wish wish = {0};
	const char *name;

	if (read_name(body, &name, problem) < 0 ||
		read_permission(body, &wish.scopes, problem) < 0 ||
		read_domain_id(body, wish.domain_id, problem) < 0)
		return -1;
	wish.name = mem_strdup(name);
	*wish_r = wish;
	return 0;
}

int key_json_parse_name(const json_t *body, char **name_r, struct problem *problem)
{
	const json_t *given = json_object_get(body, "name");
	const char *name;

	if (given == NULL || json_is_null(given))
		return problem_set(problem, PROBLEM_MISSING_FIELD,
			"Missing `name` field.");
	/* Else {} and [] would be taken for "": a name would be lost. */
	if (json_field_check_line(given, "name", problem) < 0 ||
		read_name(body, &name, problem) < 0)
		return -1;
	*name_r = mem_strdup(name);
	return 0;
}

json_t *key_json_render_id(const char *id)
{
	return json_pack("{s:s, s:s}", "object", "api_key", "id", id);
}

static json_t *time_or_null(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	if (time_us == 0)
		return json_null();
	clock_iso8601(time_us, text);
	return json_string(text);
}

json_t *key_json_render(const struct key *key)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "id", key->id, "name",
		key->name, "created_at", time_or_null(key->created_us),
		"last_used_at", time_or_null(key->last_used_us));
}
