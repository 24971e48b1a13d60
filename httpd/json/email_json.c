/*
 * email_json: parses and renders emails in the JSON dialect.
 *
 * Threads: any.
 */
#include "httpd/json/email_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_message.h"
#include "core/mime/mime_header.h"
#include "httpd/http/problem.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_long.h"

/* Limits of the interface. That of `to` applies whatever http.max_recipients
 * is. */
enum { TO_MAX = 50, TAGS_MAX = 75, TAG_TEXT_MAX = 256 };

static int missing(const char *field, struct problem *problem)
{
	return problem_field(
		problem, PROBLEM_MISSING_FIELD, "Missing `%s%s` field.", problem->prefix, field);
}

static int read_tag_text(const json_t *item, const char *name, const char *tag, const char **text_r,
	struct problem *problem)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	_cleanup_free_ char *path = mem_printf("%s.%s", tag, name);

	if (json_field_text(item, name, path, text_r, problem) < 0)
		return -1;
	if (*text_r == NULL)
		return missing(path, problem);
	if ((*text_r)[strspn(*text_r, allowed)] != '\0')
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must contain only ASCII letters, digits, underscores and "
			"dashes.",
			problem->prefix, path);
	if (strlen(*text_r) > TAG_TEXT_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must not be longer than %d characters.", problem->prefix,
			path, TAG_TEXT_MAX);
	return 0;
}

/* Parses the tags of the email into the JSON that the store keeps, or NULL if
 * there are none; the caller frees it. A name may occur several times: all are
 * kept, in their order. */
static int parse_tags(const json_t *email, char **tags_r, struct problem *problem)
{
	const json_t *array = json_field_get(email, "tags"), *item;
	json_t *tags;
	int result = 0;
	size_t i;

	*tags_r = NULL;
	if (array == NULL)
		return 0;
	if (!json_is_array(array))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%stags` field must be an array.", problem->prefix);
	if (json_array_size(array) > TAGS_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many items in the `%stags` field: the limit is %d.", problem->prefix,
			TAGS_MAX);
	tags = json_array();
	json_array_foreach(array, i, item) {
		_cleanup_free_ char *path = mem_printf("tags[%zu]", i);
		const char *name, *value;

		if (!json_is_object(item))
			result = problem_field(problem, PROBLEM_VALIDATION,
				"The `%s%s` field must be an object.", problem->prefix, path);
		else if (read_tag_text(item, "name", path, &name, problem) < 0 ||
			 read_tag_text(item, "value", path, &value, problem) < 0)
			result = -1;
		if (result < 0)
			break;
		json_array_append_new(tags, json_pack("{s:s, s:s}", "name", name, "value", value));
	}
	if (result == 0)
		*tags_r = json_dumps(tags, JSON_COMPACT);
	json_decref(tags);
	return result;
}

static int bad_content(const char *path, struct problem *problem)
{
	return problem_field(problem, PROBLEM_ATTACHMENT,
		"The `%s%s.content` field must be a base64 string or an array of bytes.",
		problem->prefix, path);
}

/* Content is a base64 string, an array of integers, or what JSON.stringify()
 * makes of a Node.js Buffer: {"type":"Buffer","data":[...]}. */
static int read_content(
	const json_t *value, const char *path, struct buf *content, struct problem *problem)
{
	const json_t *bytes = json_is_object(value) ? json_object_get(value, "data") : value, *item;
	size_t i;

	json_array_foreach(bytes, i, item) {
		json_int_t byte = json_integer_value(item);

		if (!json_is_integer(item) || byte < 0 || byte > 255)
			return bad_content(path, problem);
		buf_add_char(content, (char)byte);
	}
	if (json_is_array(bytes))
		return 0;
	if (!json_is_string(value))
		return bad_content(path, problem);
	if (base64_decode(json_string_value(value), json_string_length(value), content) < 0)
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"The `%s%s.content` field is not valid base64.", problem->prefix, path);
	return 0;
}

/* Copies the first of the fields that is given, or NULL. */
static int read_first_given(const json_t *item, const char *const *names, const char *path,
	char **value_r, struct problem *problem)
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

static int read_attachment(const json_t *item, const char *path, struct attachment *attachment,
	struct problem *problem)
{
	static const char *const filename[] = {"filename", NULL};
	static const char *const type[] = {"content_type", "contentType", NULL};
	static const char *const ids[] = {"content_id", "contentId", "inline_content_id", NULL};
	const json_t *content;
	size_t len;
	char *id;

	if (!json_is_object(item))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%s` field must be an object.", problem->prefix, path);
	if (json_field_get(item, "path"))
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"The `%s%s.path` field is not supported: nothing is fetched. Please send "
			"the `content`.",
			problem->prefix, path);
	content = json_object_get(item, "content");
	if (content == NULL || json_is_null(content))
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"Attachment must have either a `content` or `path`. (`%s%s`)",
			problem->prefix, path);
	if (read_first_given(item, filename, path, &attachment->filename, problem) < 0 ||
		read_first_given(item, type, path, &attachment->content_type, problem) < 0 ||
		read_first_given(item, ids, path, &attachment->content_id, problem) < 0)
		return -1;
	/* Some clients send a content id in the form of the header: `<id>`. */
	id = attachment->content_id;
	len = id ? strlen(id) : 0;
	if (len > 2 && id[0] == '<' && id[len - 1] == '>') {
		memmove(id, id + 1, len - 2);
		id[len - 2] = '\0';
	}
	if (attachment->filename == NULL)
		return problem_field(problem, PROBLEM_ATTACHMENT,
			"Attachment must have a `filename`. (`%s%s`)", problem->prefix, path);
	return read_content(content, path, &attachment->content, problem);
}

/* Parses the attachments of the email into message. */
static int parse_attachments(
	const json_t *email, struct mime_message *message, struct problem *problem)
{
	const json_t *array = json_field_get(email, "attachments"), *item;
	size_t i;

	if (array == NULL)
		return 0;
	if (!json_is_array(array))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sattachments` field must be an array.", problem->prefix);
	json_array_foreach(array, i, item) {
		_cleanup_free_ char *path = mem_printf("attachments[%zu]", i);

		if (read_attachment(item, path, mime_message_add_attachment(message), problem) < 0)
			return -1;
	}
	return 0;
}

static int parse_addr(
	const char *field, const char *text, struct addr *addr, struct problem *problem)
{
	struct err err = ERR_INIT;

	if (addr_parse(text, addr, &err) == 0)
		return 0;
	return problem_field(problem, PROBLEM_VALIDATION,
		"Invalid `%s%s` field. The email address needs to follow the `email@example.com` "
		"or `Name <email@example.com>` format. (%s)",
		problem->prefix, field, err.text);
}

static int parse_addrs(
	const json_t *email, const char *field, struct addr_list *list, struct problem *problem)
{
	_cleanup_strv_ struct strv texts = STRV_INIT;

	if (json_field_strings(email, field, &texts, problem) < 0)
		return -1;
	for (size_t i = 0; i < texts.n; i++)
		if (parse_addr(field, texts.items[i], addr_list_add(list), problem) < 0)
			return -1;
	return 0;
}

/* Parses spans such as `in 10 minutes`. */
static bool read_span(const char *text, int64_t *us_r)
{
	static const struct {
		const char *name;
		int64_t us;
	} units[] = {
		{"min", 60 * SECOND_US},
		{"mins", 60 * SECOND_US},
		{"minute", 60 * SECOND_US},
		{"minutes", 60 * SECOND_US},
		{"hour", HOUR_US},
		{"hours", HOUR_US},
		{"day", DAY_US},
		{"days", DAY_US},
	};
	_cleanup_free_ char *number = NULL;
	const char *unit;
	int64_t n;

	if (!str_starts_nocase(text, "in "))
		return false;
	text += strlen("in ");
	unit = strchr(text, ' ');
	number = unit ? mem_dup(text, (size_t)(unit - text)) : NULL;
	if (number == NULL || str_int(number, 1, 100000, &n) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (str_eq_nocase(unit + 1, units[i].name)) {
			*us_r = n * units[i].us;
			return true;
		}
	return false;
}

int email_json_schedule(
	const json_t *object, const char *place, int64_t *time_us_r, struct problem *problem)
{
	int64_t now_us = clock_now_us(&clock_system), time_us = 0;
	const char *text = NULL;

	if (json_field_text(object, "scheduled_at", "scheduled_at", &text, problem) < 0)
		return -1;
	*time_us_r = 0;
	if (text == NULL)
		return 0;
	if (read_span(text, &time_us))
		time_us += now_us;
	else if (!isdigit((unsigned char)text[0]) || !strchr(text, '-') ||
		 !clock_parse(text, now_us, &time_us))
		time_us = 0;
	if (time_us <= 0)
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sscheduled_at` field must be a time such as "
			"`2026-11-21T02:43:18Z`, `in 10 minutes`, `in 2 hours` or `in 3 days`.",
			place);
	if (time_us > now_us + SCHEDULE_MAX_DAYS * DAY_US)
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sscheduled_at` field must not be more than %d days ahead.", place,
			SCHEDULE_MAX_DAYS);
	*time_us_r = time_us;
	return 0;
}

/* Some fields are required. Others change what is sent, and are not supported: refusing them is
 * better than sending a wrong or empty email. */
static int check_fields(const json_t *email, struct problem *problem)
{
	static const char *const unsupported[] = {"template", "topic_id"};

	for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++)
		if (json_field_get(email, unsupported[i]))
			return problem_field(problem, PROBLEM_VALIDATION,
				"The `%s%s` field is not supported.", problem->prefix,
				unsupported[i]);
	if (json_field_get(email, "from") == NULL)
		return missing("from", problem);
	if (json_field_get(email, "to") == NULL)
		return missing("to", problem);
	if (!json_field_get(email, "html") && !json_field_get(email, "text"))
		return problem_field(problem, PROBLEM_MISSING_FIELD,
			"Missing `%shtml` or `%stext` field.", problem->prefix, problem->prefix);
	return 0;
}

static int parse_people(
	const json_t *email, int64_t max_recipients, struct draft *draft, struct problem *problem)
{
	struct mime_message *message = &draft->message;
	const char *place = problem->prefix;
	const char *from;

	if (json_field_line(email, "from", "from", &from, problem) < 0 ||
		parse_addr("from", from, &message->from, problem) < 0 ||
		parse_addrs(email, "to", &message->to, problem) < 0 ||
		parse_addrs(email, "cc", &message->cc, problem) < 0 ||
		parse_addrs(email, "bcc", &draft->bcc, problem) < 0 ||
		parse_addrs(email, "reply_to", &message->reply_to, problem) < 0)
		return -1;
	if (message->to.n > TO_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many recipients in the `%sto` field: the limit is %d.", place, TO_MAX);
	if (message->to.n + message->cc.n + draft->bcc.n > (size_t)max_recipients)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many recipients in `%sto`, `%scc` and `%sbcc`: "
			"the limit is %" PRId64 ".",
			place, place, place, max_recipients);
	return 0;
}

static int parse_content(const json_t *email, struct mime_message *message, struct problem *problem)
{
	const char *subject, *html, *text;

	if (json_field_line(email, "subject", "subject", &subject, problem) < 0 ||
		json_field_text(email, "html", "html", &html, problem) < 0 ||
		json_field_text(email, "text", "text", &text, problem) < 0)
		return -1;
	message->subject = mem_strdup(subject);
	message->html = mem_strdup(html);
	message->text = mem_strdup(text);
	return 0;
}

static int parse_headers(const json_t *email, struct mime_message *message, struct problem *problem)
{
	json_t *headers = json_field_get(email, "headers"), *value;
	const char *name;

	if (headers == NULL)
		return 0;
	if (!json_is_object(headers))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sheaders` field must be an object.", problem->prefix);
	json_object_foreach(headers, name, value) {
		_cleanup_free_ char *path = mem_printf("headers.%s", name), *line = NULL;
		struct header *header;

		if (!mime_header_name_valid(name))
			return problem_field(problem, PROBLEM_VALIDATION,
				"The `%s%.100s` field is not a valid header name.", problem->prefix,
				path);
		if (mime_header_reserved(name))
			continue;
		line = json_field_unfolded(value, path, problem);
		if (line == NULL)
			return -1;
		header = mime_message_add_header(message);
		header->name = mem_strdup(name);
		header->value = TAKE_PTR(line);
	}
	return 0;
}

int email_json_read(
	const json_t *email, int64_t max_recipients, struct draft *draft_r, struct problem *problem)
{
	struct mime_message *message = &draft_r->message;

	if (!json_is_object(email))
		return problem_set(problem, PROBLEM_VALIDATION, "The email must be an object.");
	if (check_fields(email, problem) < 0 ||
		parse_people(email, max_recipients, draft_r, problem) < 0 ||
		parse_content(email, message, problem) < 0 ||
		parse_headers(email, message, problem) < 0 ||
		parse_tags(email, &draft_r->tags, problem) < 0 ||
		email_json_schedule(email, problem->prefix, &draft_r->scheduled_us, problem) < 0)
		return -1;
	return parse_attachments(email, message, problem);
}

int email_json_parse(const char *body, size_t len, int64_t max_recipients, struct draft *draft_r,
	struct problem *problem)
{
	json_t *email;
	int result;

	if (json_field_parse(body, len, &email, problem) < 0)
		return -1;
	result = email_json_read(email, max_recipients, draft_r, problem);
	json_decref(email);
	return result;
}

/* Answers. */

size_t email_json_content_size(const struct email *email)
{
	const char *const texts[] = {email->html, email->text, email->tags, email->variables};
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		size += texts[i] ? strlen(texts[i]) : 0;
	return size;
}

char *email_json_print(json_t *object, const struct email *email)
{
	const struct json_long_member content[] = {
		{"html", email->html},
		{"text", email->text},
	};
	char *printed = NULL;

	if (object)
		printed = json_long_dump(object, content, ARRAY_SIZE(content));
	json_decref(object);
	return printed;
}
