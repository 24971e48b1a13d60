/*
 * email_json_tags: `tags` of the JSON dialect.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/email_json_tags.h"

#include <string.h>

#include "core/base/mem.h"
#include "httpd/json/json_field.h"

/* Bounds of the interface. */
enum { TAGS_MAX = 75, TAG_TEXT_MAX = 256 };

static int check_characters(
	const char *text, const char *path, struct problem *problem)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";

	if (text[strspn(text, allowed)] != '\0')
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must contain only ASCII letters, "
			"digits, underscores and dashes.",
			problem->place, path);
	if (strlen(text) > TAG_TEXT_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must not be longer than %d "
			"characters.",
			problem->place, path, TAG_TEXT_MAX);
	return 0;
}

static int read_text(const json_t *item, const char *name, const char *tag,
	const char **text_r, struct problem *problem)
{
	_cleanup_free_ char *path = mem_printf("%s.%s", tag, name);

	if (json_field_text(item, name, path, text_r, problem) < 0)
		return -1;
	if (*text_r == NULL)
		return problem_field(problem, PROBLEM_MISSING_FIELD,
			"Missing `%s%s` field.", problem->place, path);
	return check_characters(*text_r, path, problem);
}

static int read_tag(const json_t *item, const char *path, json_t *tags,
	struct problem *problem)
{
	const char *name, *value;

	if (!json_is_object(item))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must be an object.", problem->place,
			path);
	if (read_text(item, "name", path, &name, problem) < 0 ||
		read_text(item, "value", path, &value, problem) < 0)
		return -1;
	return json_array_append_new(
		tags, json_pack("{s:s, s:s}", "name", name, "value", value));
}

static int read_tags(const json_t *array, json_t *tags, struct problem *problem)
{
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item) {
		_cleanup_free_ char *path = mem_printf("tags[%zu]", i);

		if (read_tag(item, path, tags, problem) < 0)
			return -1;
	}
	return 0;
}

int email_json_tags(const json_t *email, char **tags_r, struct problem *problem)
{
	const json_t *array = json_field_get(email, "tags");
	json_t *tags;
	int result;

	*tags_r = NULL;
	if (array == NULL)
		return 0;
	if (!json_is_array(array))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%stags` field must be an array.", problem->place);
	if (json_array_size(array) > TAGS_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many items in the `%stags` field: the limit is "
			"%d.",
			problem->place, TAGS_MAX);
	tags = json_array();
	result = read_tags(array, tags, problem);
	if (result == 0)
		*tags_r = json_dumps(tags, JSON_COMPACT);
	json_decref(tags);
	return result;
}
