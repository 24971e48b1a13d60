/*
 * row_json: rows as JSON, for answers, the command and the audit log.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/row.h"

json_t *row_json_string(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	_cleanup_free_ char *mended = NULL;

	if (json)
		return json;
	mended = mem_strdup(text);
	str_utf8_mend(mended);
	return json_string(mended);
}

json_t *row_json_given(const char *text)
{
	return row_json_string(str_empty(text) ? NULL : text);
}

json_t *row_json_lines(const struct strv *lines)
{
	json_t *array = json_array();

	for (size_t i = 0; i < lines->n; i++)
		json_array_append_new(array, row_json_string(lines->items[i]));
	return array;
}

char *row_json_array(const struct strv *lines)
{
	json_t *array = row_json_lines(lines);
	char *text = json_dumps(array, JSON_COMPACT);

	json_decref(array);
	return text;
}

json_t *row_json_time(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	if (time_us == 0)
		return json_null();
	clock_iso8601(time_us, text);
	return json_string(text);
}

static json_t *json_of_field(const struct row_field *field, const void *member, enum row_form form)
{
	json_t *json = NULL;
	unsigned word;

	switch (field->kind) {
	case ROW_ID:
		return form == ROW_SHOWN ? row_json_given(member) : row_json_string(member);
	case ROW_TEXT:
		return row_json_string(*(char *const *)member);
	case ROW_JSON:
		if (*(char *const *)member)
			json = json_loads(*(char *const *)member, JSON_DECODE_ANY, NULL);
		return json ? json : json_null();
	case ROW_LINES:
		return row_json_lines(member);
	case ROW_INT64:
		return json_integer(*(const int64_t *)member);
	case ROW_TIME:
		return form == ROW_SHOWN ? row_json_time(*(const int64_t *)member)
					 : json_integer(*(const int64_t *)member);
	case ROW_UINT:
		return json_integer(*(const unsigned *)member);
	case ROW_SET:
		word = *(const unsigned *)member;
		if (form == ROW_STORED)
			return json_integer(word);
		json = json_array();
		for (size_t i = 0; i < field->words->n; i++)
			if (word & 1u << i)
				json_array_append_new(json, json_string(field->words->names[i]));
		return json;
	case ROW_BOOL:
		return json_boolean(*(const bool *)member);
	case ROW_ENUM:
		/* A value unknown to this program is n. */
		word = *(const unsigned *)member;
		return row_json_string(word < field->words->n ? field->words->names[word] : NULL);
	case ROW_FLAG:
		return json_string(field->words->names[*(const bool *)member]);
	case ROW_HASH:
		break;
	}
	return NULL;
}

/* Returns the name without `$`; if shown, `created_us` becomes `created_at`, `at_us` becomes `at`.
 * The caller frees it. */
static char *name_of_field(const struct row_field *field, enum row_form form)
{
	const char *column = field->param + 1;

	if (form == ROW_STORED || field->kind != ROW_TIME)
		return mem_strdup(column);
	return str_eq(column, "at_us") ? mem_strdup("at")
				       : mem_printf("%.*sat", (int)strlen(column) - 2, column);
}

json_t *row_json(const struct row_type *type, const void *item, enum row_form form)
{
	json_t *object;

	if (form == ROW_SHOWN && type->shown)
		return type->shown(item);
	object = form == ROW_SHOWN ? json_pack("{s:s}", "object", type->name) : json_object();
	for (size_t i = 0; i < type->n; i++) {
		const struct row_field *field = &type->fields[i];
		_cleanup_free_ char *name = name_of_field(field, form);

		if (field->kind != ROW_HASH)
			json_object_set_new(object, name,
				json_of_field(field, (const char *)item + field->offset, form));
	}
	return object;
}

const char *row_json_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}
