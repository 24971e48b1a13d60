/*
 * email_json: reads the body of POST /emails.
 *
 * Threads: any; holds no state.
 */
#include "httpd/json/email_json.h"

#include <inttypes.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_header.h"
#include "httpd/json/email_json_attachment.h"
#include "httpd/json/email_json_tags.h"
#include "httpd/json/json_field.h"

/* The interface allows this many in `to`, whatever the setting. */
enum { TO_MAX = 50 };

static int parse_addr(const char *field, const char *text, struct addr *addr,
	struct problem *problem)
{
	struct err err = ERR_INIT;

	if (addr_parse(text, addr, &err) == 0)
		return 0;
	return problem_field(problem, PROBLEM_VALIDATION,
		"Invalid `%s%s` field. The email address needs to follow the "
		"`email@example.com` or `Name <email@example.com>` format. "
		"(%s)",
		problem->place, field, err.text);
}

static int parse_addrs(const json_t *email, const char *field,
	struct addr_list *list, struct problem *problem)
{
	_cleanup_strv_ struct strv texts = STRV_INIT;

	if (json_field_strings(email, field, &texts, problem) < 0)
		return -1;
	for (size_t i = 0; i < texts.n; i++) {
		struct addr addr;

		if (parse_addr(field, texts.items[i], &addr, problem) < 0)
			return -1;
		*mime_message_add_addr(list) = addr;
	}
	return 0;
}

static int missing(const char *field, struct problem *problem)
{
	return problem_field(problem, PROBLEM_MISSING_FIELD,
		"Missing `%s%s` field.", problem->place, field);
}

/* Fields whose meaning would change what happens to the email: better refused
 * than sent early or empty. */
static int check_unsupported(const json_t *email, struct problem *problem)
{
	static const char *const fields[] = {
		"scheduled_at", "template", "topic_id"};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (json_field_get(email, fields[i]))
			return problem_field(problem, PROBLEM_VALIDATION,
				"The `%s%s` field is not supported.",
				problem->place, fields[i]);
	return 0;
}

static int check_required(const json_t *email, struct problem *problem)
{
	if (json_field_get(email, "from") == NULL)
		return missing("from", problem);
	if (json_field_get(email, "to") == NULL)
		return missing("to", problem);
	if (!json_field_get(email, "html") && !json_field_get(email, "text"))
		return problem_field(problem, PROBLEM_MISSING_FIELD,
			"Missing `%shtml` or `%stext` field.", problem->place,
			problem->place);
	return 0;
}

static int check_recipients(const struct outgoing *outgoing,
	int64_t max_recipients, struct problem *problem)
{
	const struct mime_message *message = &outgoing->message;
	const char *place = problem->place;
	size_t all = message->to.n + message->cc.n + outgoing->bcc.n;

	if (message->to.n > TO_MAX)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many recipients in the `%sto` field: the limit is "
			"%d.",
			place, TO_MAX);
	if (all > (size_t)max_recipients)
		return problem_field(problem, PROBLEM_VALIDATION,
			"Too many recipients in `%sto`, `%scc` and `%sbcc`: "
			"the limit is %" PRId64 ".",
			place, place, place, max_recipients);
	return 0;
}

static int parse_people(const json_t *email, int64_t max_recipients,
	struct outgoing *outgoing, struct problem *problem)
{
	struct mime_message *message = &outgoing->message;
	const char *from;

	if (json_field_line(email, "from", "from", &from, problem) < 0 ||
		parse_addr("from", from, &message->from, problem) < 0 ||
		parse_addrs(email, "to", &message->to, problem) < 0 ||
		parse_addrs(email, "cc", &message->cc, problem) < 0 ||
		parse_addrs(email, "bcc", &outgoing->bcc, problem) < 0 ||
		parse_addrs(email, "reply_to", &message->reply_to, problem) < 0)
		return -1;
	return check_recipients(outgoing, max_recipients, problem);
}

static int parse_content(const json_t *email, struct mime_message *message,
	struct problem *problem)
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

static int parse_header(const char *name, const json_t *value,
	struct mime_message *message, struct problem *problem)
{
	_cleanup_free_ char *path = mem_printf("headers.%s", name);
	struct header *header;

	if (!mime_header_name_valid(name))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%s%.100s` field is not a valid header name.",
			problem->place, path);
	if (mime_header_reserved(name))
		return 0;
	if (json_field_check_line(value, path, problem) < 0)
		return -1;
	header = mime_message_add_header(message);
	header->name = mem_strdup(name);
	header->value = mem_strdup(json_string_value(value));
	return 0;
}

static int parse_headers(const json_t *email, struct mime_message *message,
	struct problem *problem)
{
	json_t *headers = json_field_get(email, "headers"), *value;
	const char *name;

	if (headers == NULL)
		return 0;
	if (!json_is_object(headers))
		return problem_field(problem, PROBLEM_VALIDATION,
			"The `%sheaders` field must be an object.",
			problem->place);
	json_object_foreach(headers, name, value)
		if (parse_header(name, value, message, problem) < 0)
			return -1;
	return 0;
}

int email_json_read(const json_t *email, int64_t max_recipients,
	struct outgoing *outgoing_r, struct problem *problem)
{
	struct mime_message *message = &outgoing_r->message;

	if (!json_is_object(email))
		return problem_set(problem, PROBLEM_VALIDATION,
			"The email must be an object.");
	if (check_unsupported(email, problem) < 0 ||
		check_required(email, problem) < 0 ||
		parse_people(email, max_recipients, outgoing_r, problem) < 0 ||
		parse_content(email, message, problem) < 0 ||
		parse_headers(email, message, problem) < 0 ||
		email_json_tags(email, &outgoing_r->tags, problem) < 0)
		return -1;
	return email_json_attachments(email, message, problem);
}

int email_json_parse(const char *body, size_t len, int64_t max_recipients,
	struct outgoing *outgoing_r, struct problem *problem)
{
	json_t *email;
	int result;

	if (json_field_parse(body, len, &email, problem) < 0)
		return -1;
	result = email_json_read(email, max_recipients, outgoing_r, problem);
	json_decref(email);
	return result;
}
