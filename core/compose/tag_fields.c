/*
 * tag_fields: reads tags and metadata from header fields.
 *
 * The limits are those of the JSON API, except that a tag of the form API may be any text.
 *
 * Threads: any.
 */
#include "core/compose/tag_fields.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_words.h"

/* Returns the value unfolded, decoded and trimmed. The caller frees it. */
static char *field_text(const char *value)
{
	_cleanup_free_ char *line = str_unfolded(value);
	_cleanup_free_ char *text = mime_words_decode(line);

	return str_trim(text, strlen(text));
}

static int add_tag(json_t *tags, const char *name, const char *value, struct err *err)
{
	if (json_array_size(tags) == TAG_FIELDS_MAX)
		return err_set(err, ERR_INVALID,
			"Too many tags in the fields " TAG_FIELD " and " TAG_NAMED_FIELD
			": the limit is %d.",
			TAG_FIELDS_MAX);
	json_array_append_new(tags, json_pack("{s:s, s:s}", "name", name, "value", value));
	return 0;
}

static int read_tag(json_t *tags, const char *value, struct err *err)
{
	_cleanup_free_ char *text = field_text(value);
	size_t len = strlen(text);

	if (len == 0 || len > TAG_FIELD_TEXT_MAX || str_has_control(text) ||
		!str_utf8_valid(text, len))
		return err_set(err, ERR_INVALID,
			"The field " TAG_FIELD " must have 1 to %d characters of text.",
			TAG_FIELD_TEXT_MAX);
	return add_tag(tags, "tag", text, err);
}

static bool is_name(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(text);

	return len > 0 && len <= TAG_FIELD_TEXT_MAX && text[strspn(text, allowed)] == '\0';
}

/* Reads `name=value,name=value`. */
static int read_named(json_t *tags, const char *value, struct err *err)
{
	_cleanup_free_ char *text = field_text(value);

	for (const char *pair = text; pair;) {
		const char *end = pair + strcspn(pair, ",");
		const char *equals = memchr(pair, '=', (size_t)(end - pair));
		_cleanup_free_ char *name = NULL, *named = NULL;

		if (equals) {
			name = str_trim(pair, (size_t)(equals - pair));
			named = str_trim(equals + 1, (size_t)(end - equals - 1));
		}
		if (equals == NULL || !is_name(name) || !is_name(named))
			return err_set(err, ERR_INVALID,
				"The field " TAG_NAMED_FIELD
				" must have the form name=value, each of 1 to %d "
				"ASCII letters, digits, underscores and dashes.",
				TAG_FIELD_TEXT_MAX);
		if (add_tag(tags, name, named, err) < 0)
			return -1;
		pair = *end ? end + 1 : NULL;
	}
	return 0;
}

static int read_variables(json_t *variables, const char *value, struct err *err)
{
	_cleanup_free_ char *text = field_text(value);
	json_t *object = json_loads(text, 0, NULL);
	bool valid = json_is_object(object);

	if (valid)
		json_object_update(variables, object);
	json_decref(object);
	return valid ? 0
		     : err_set(err, ERR_INVALID,
			       "The field " TAG_META_FIELD " must have a JSON object.");
}

int tag_fields_read(
	const struct tag_fields *fields, char **tags_r, char **variables_r, struct err *err)
{
	json_t *tags = json_array(), *variables = json_object();
	char *text = NULL;
	int result = 0;

	for (size_t i = 0; result == 0 && i < fields->tags.n; i++)
		result = read_tag(tags, fields->tags.items[i], err);
	for (size_t i = 0; result == 0 && i < fields->named.n; i++)
		result = read_named(tags, fields->named.items[i], err);
	for (size_t i = 0; result == 0 && i < fields->variables.n; i++)
		result = read_variables(variables, fields->variables.items[i], err);
	if (result == 0 && json_object_size(variables) > 0) {
		text = json_dumps(variables, JSON_COMPACT);
		if (strlen(text) > TAG_FIELDS_META_MAX)
			result = err_set(err, ERR_INVALID,
				"The field " TAG_META_FIELD " must not be longer than %d bytes.",
				TAG_FIELDS_META_MAX);
	}
	if (result == 0) {
		*tags_r = json_array_size(tags) > 0 ? json_dumps(tags, JSON_COMPACT) : NULL;
		*variables_r = TAKE_PTR(text);
	}
	free(text);
	json_decref(tags);
	json_decref(variables);
	return result;
}

void tag_fields_clear(struct tag_fields *fields)
{
	strv_free(&fields->tags);
	strv_free(&fields->named);
	strv_free(&fields->variables);
}
