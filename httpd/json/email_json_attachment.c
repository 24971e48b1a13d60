/*
 * email_json_attachment: `attachments` of the JSON dialect.
 *
 * Content comes as a base64 string, as an array of integers, or as what
 * JSON.stringify() makes of a Node.js Buffer: {"type":"Buffer","data":[...]}.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/email_json_attachment.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "httpd/json/json_field.h"

static int bad_content(const char *path, struct problem *problem)
{
	return problem_field(problem, PROBLEM_ATTACHMENT,
		"The `%s%s.content` field must be a base64 string or an array "
		"of bytes.",
		problem->place, path);
}

static int read_bytes(const json_t *array, const char *path,
	struct buf *content, struct problem *problem)
{
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item) {
		json_int_t byte = json_integer_value(item);

		if (!json_is_integer(item) || byte < 0 || byte > 255)
			return bad_content(path, problem);
		buf_add_char(content, (char)byte);
	}
	return 0;
}

static int read_content(const json_t *value, const char *path,
	struct buf *content, struct problem *problem)
{
	const json_t *bytes = json_is_object(value)
				      ? json_object_get(value, "data")
				      : value;

	if (json_is_array(bytes))
		return read_bytes(bytes, path, content, problem);
	if (!json_is_string(value))
		return bad_content(path, problem);
	if (base64_decode(json_string_value(value), json_string_length(value),
		    content) < 0)
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"The `%s%s.content` field is not valid base64.",
			problem->place, path);
	return 0;
}

/* The first of the names that is given; NULL copies NULL. */
static int read_line(const json_t *item, const char *const *names,
	const char *path, char **value_r, struct problem *problem)
{
	const char *value = NULL;

	for (; *names && value == NULL; names++) {
		_cleanup_free_ char *full = mem_printf("%s.%s", path, *names);

		if (json_field_line(item, *names, full, &value, problem) < 0)
			return -1;
	}
	*value_r = mem_strdup(value);
	return 0;
}

static int check_given(
	const json_t *item, const char *path, struct problem *problem)
{
	if (!json_is_object(item))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must be an object.", problem->place,
			path);
	if (json_field_get(item, "path"))
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"The `%s%s.path` field is not supported: nothing is "
			"fetched. Please send the `content`.",
			problem->place, path);
	if (json_object_get(item, "content") == NULL ||
		json_is_null(json_object_get(item, "content")))
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"Attachment must have either a `content` or `path`. "
			"(`%s%s`)",
			problem->place, path);
	return 0;
}

/* Some clients send a content id as it stands in the header: `<id>`. */
static void strip_angles(char *id)
{
	size_t len = id ? strlen(id) : 0;

	if (len > 2 && id[0] == '<' && id[len - 1] == '>') {
		memmove(id, id + 1, len - 2);
		id[len - 2] = '\0';
	}
}

static int read_attachment(const json_t *item, const char *path,
	struct attachment *attachment, struct problem *problem)
{
	static const char *const filename[] = {"filename", NULL};
	static const char *const type[] = {"content_type", "contentType", NULL};
	static const char *const id[] = {
		"content_id", "contentId", "inline_content_id", NULL};

	if (check_given(item, path, problem) < 0 ||
		read_line(item, filename, path, &attachment->filename, problem) <
			0 ||
		read_line(item, type, path, &attachment->content_type, problem) <
			0 ||
		read_line(item, id, path, &attachment->content_id, problem) < 0)
		return -1;
	strip_angles(attachment->content_id);
	if (attachment->filename == NULL)
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"Attachment must have a `filename`. (`%s%s`)",
			problem->place, path);
	return read_content(json_object_get(item, "content"), path,
		&attachment->content, problem);
}

int email_json_attachments(const json_t *email, struct mime_message *message,
	struct problem *problem)
{
	const json_t *array = json_field_get(email, "attachments"), *item;
	size_t i;

	if (array == NULL)
		return 0;
	if (!json_is_array(array))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sattachments` field must be an array.",
			problem->place);
	json_array_foreach(array, i, item) {
		_cleanup_free_ char *path = mem_printf("attachments[%zu]", i);

		if (read_attachment(item, path,
			    mime_message_add_attachment(message), problem) < 0)
			return -1;
	}
	return 0;
}
