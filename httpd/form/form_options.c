/*
 * form_options: the tables of prefixes and options.
 *
 * A finished message may have options in its header, as Mailgun takes them there. They are read
 * first, so a parameter of the form replaces them.
 */
#include "httpd/form/form_options.h"

#include <jansson.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_fields.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_scan.h"
#include "core/mime/mime_words.h"
#include "httpd/form/form.h"

/* The results while a form is parsed. */
struct options {
	struct draft *draft;
	int64_t now_us;
	json_t *tags;
	json_t *variables;
};

static int bad_option(struct problem *problem, const char *name, const char *what)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%.100s %s", name, what);
}

static bool is_yes(const char *value)
{
	return str_eq_nocase(value, "yes") || str_eq_nocase(value, "true");
}

/* Options, each by the name of its parameter and that of its header field */

static int take_tag(struct options *options, const char *value)
{
	return json_array_append_new(
		options->tags, json_pack("{s:s, s:s}", "name", "tag", "value", value));
}

static int take_testmode(struct options *options, const char *value)
{
	options->draft->test = is_yes(value);
	return 0;
}

/* The maximum for o:deliverytime. */
enum { SCHEDULE_MAX_DAYS = 30 };

/* A time in the past means now. */
static int take_deliverytime(struct options *options, const char *value)
{
	int64_t time_us;

	if (str_int(value, 0, INT64_MAX / 1000000, &time_us) == 0)
		time_us *= 1000000;
	else if (mime_date_parse(value, &time_us) < 0)
		return -1;
	if (time_us > options->now_us + SCHEDULE_MAX_DAYS * DAY_US)
		return -1;
	options->draft->scheduled_us = time_us > options->now_us ? time_us : 0;
	return 0;
}

static int take_require_tls(struct options *options, const char *value)
{
	(void)options;
	return is_yes(value) ? -1 : 0;
}

static int refuse_any(struct options *options, const char *value)
{
	(void)options;
	(void)value;
	return -1;
}

static int take_variables(struct options *options, const char *value)
{
	json_t *object = json_loads(value, 0, NULL);
	bool is_object = json_is_object(object);

	if (is_object)
		json_object_update(options->variables, object);
	json_decref(object);
	return is_object ? 0 : -1;
}

/* All other options concern what Mailgun does around an email (tracking,
 * signing, choosing the IP address to send from). They are accepted and
 * ignored. */
static const struct {
	const char *name;  /* "": another table has it */
	const char *field; /* in the header of a finished message */
	int (*take)(struct options *options, const char *value);
	const char *refusal;
} known_options[] = {
	{"o:tag", "X-Mailgun-Tag", take_tag, "is not valid"},
	{"o:testmode", "X-Mailgun-Drop-Message", take_testmode, NULL},
	{"o:deliverytime", "X-Mailgun-Deliver-By", take_deliverytime,
		"parameter must be an RFC 2822 date within the next 30 days"},
	{"o:deliverytime-optimize-period", "X-Mailgun-Delivery-Time-Optimize-Period", refuse_any,
		"parameter is not supported yet"},
	{"o:time-zone-localize", "X-Mailgun-Time-Zone-Localize", refuse_any,
		"parameter is not supported yet"},
	{"o:require-tls", "X-Mailgun-Require-TLS", take_require_tls,
		"parameter: TLS cannot be required for one email"},
	{"h:X-Mailgun-Variables", "X-Mailgun-Variables", take_variables,
		"parameter is not a valid JSON"},
	{"", "X-Mailgun-Template-Name", refuse_any, "parameter is not supported yet"},
	{"", "X-Mailgun-Recipient-Variables", refuse_any, "parameter is not supported yet"},
};

/* Takes option i, which the client has called name. An empty one counts as absent. */
static int take_known(struct options *options, size_t i, const char *name, const char *value,
	struct problem *problem)
{
	if (*value && known_options[i].take(options, value) < 0)
		return bad_option(problem, name, known_options[i].refusal);
	return 0;
}

static int take_option(struct options *options, const struct form_field *field, const char *name,
	struct problem *problem)
{
	(void)name;
	for (size_t i = 0; i < ARRAY_SIZE(known_options); i++)
		if (str_eq_nocase(field->name, known_options[i].name))
			return take_known(options, i, field->name, buf_str(&field->value), problem);
	return 0;
}

int form_options_too_large(struct problem *problem)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"Send options (parameters starting with o:, h:, or v:) are limited to 16 kB total");
}

/* Takes the options in the header of a finished message. */
static int take_fields(struct options *options, struct problem *problem)
{
	const struct buf *finished = &options->draft->finished;
	struct span rest = {finished->data, finished->len};
	struct mime_scan_field field;
	size_t bytes = 0;

	mime_scan_drop_from_line(&rest);
	while (mime_scan_field(&rest, &field))
		for (size_t i = 0; i < ARRAY_SIZE(known_options); i++) {
			_cleanup_free_ char *line = NULL, *value = NULL;

			if (!mime_scan_is(&field, known_options[i].field))
				continue;
			bytes += field.raw.len;
			if (bytes > FORM_OPTIONS_MAX)
				return form_options_too_large(problem);
			line = mime_scan_value(&field);
			value = mime_words_decode(line);
			if (take_known(options, i, known_options[i].field, value, problem) < 0)
				return -1;
		}
	return 0;
}

/* h: */

/* Fields that Postern generates, or that would forge the trace of the message. */
static bool is_structural(const char *name)
{
	static const char *const names[] = {
		"received", "return-path", "dkim-signature", "resent-bcc"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return str_starts_nocase(name, "content-") || mime_header_reserved(name);
}

static int take_header(struct options *options, const struct form_field *field, const char *name,
	struct problem *problem)
{
	struct mime_message *message = &options->draft->message;
	bool is_finished = options->draft->finished.len > 0;
	_cleanup_free_ char *value = mem_strdup(buf_str(&field->value));
	struct header *header;

	if (!str_is_ascii(name))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"Header name must be pure ASCII: %.100s", name);
	if (!mime_header_name_valid(name))
		return bad_option(problem, field->name, "is not a valid header name");
	if (str_eq_nocase(name, "X-Mailgun-Variables"))
		return take_option(options, field, name, problem);
	mime_header_unfold(value);
	if (!mime_header_value_valid(value))
		return bad_option(
			problem, field->name, "contains line breaks or other control characters");
	/* An id with a variable is checked after that is replaced. A finished message keeps its
	 * own. */
	if (str_eq_nocase(name, "message-id")) {
		if (is_finished && message->message_id)
			return 0;
		free(message->message_id);
		message->message_id = mem_strdup(value);
		return strchr(value, '%') && !is_finished
			       ? 0
			       : form_text_message_id(&message->message_id, problem);
	}
	/* Reply-To is parsed later, when all of them are known. */
	if (is_structural(name) && !str_eq_nocase(name, "reply-to"))
		return 0;
	header = mime_message_add_header(message);
	header->name = mem_strdup(name);
	header->value = TAKE_PTR(value);
	return 0;
}

/* v: */

static int take_variable(struct options *options, const struct form_field *field, const char *name,
	struct problem *problem)
{
	if (json_object_set_new(options->variables, name, json_string(buf_str(&field->value))) < 0)
		return bad_option(problem, field->name, "is not valid UTF-8");
	return 0;
}

static int refuse_template(struct options *options, const struct form_field *field,
	const char *name, struct problem *problem)
{
	(void)options;
	(void)name;
	return field->value.len == 0
		       ? 0
		       : bad_option(problem, field->name, "parameter is not supported yet");
}

static const struct {
	const char *prefix;
	bool counts; /* towards FORM_OPTIONS_MAX */
	int (*take)(struct options *options, const struct form_field *field, const char *name,
		struct problem *problem);
} prefixes[] = {
	{"o:", true, take_option},
	{"h:", true, take_header},
	{"v:", true, take_variable},
	{"t:", false, refuse_template},
	{"template", false, refuse_template},
	{"amp-html", false, refuse_template},
};

static int check_size(const struct form *form, struct problem *problem)
{
	size_t bytes = 0;

	for (size_t i = 0; i < form->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++)
			if (prefixes[k].counts &&
				str_starts_nocase(form->fields[i].name, prefixes[k].prefix))
				bytes += strlen(form->fields[i].name) + form->fields[i].value.len;
	return bytes <= FORM_OPTIONS_MAX ? 0 : form_options_too_large(problem);
}

static int take_field(
	struct options *options, const struct form_field *field, struct problem *problem)
{
	for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++) {
		const char *prefix = prefixes[k].prefix;

		if (!str_starts_nocase(field->name, prefix))
			continue;
		if (form_text_check(field, problem) < 0)
			return -1;
		return prefixes[k].take(options, field, field->name + strlen(prefix), problem);
	}
	return 0;
}

static bool is_reply_to(const struct header *header)
{
	return str_eq_nocase(header->name, "reply-to");
}

int form_options_read_reply_to(struct mime_message *message, struct problem *problem)
{
	static const char name[] = "h:Reply-To";
	struct addr_list *list = &message->reply_to;
	bool has_own = list->n > 0;
	size_t bytes = 0, kept = 0;

	for (size_t i = 0; i < message->headers.n && !has_own; i++) {
		const struct header *header = &message->headers.items[i];

		if (!is_reply_to(header))
			continue;
		bytes += strlen(header->value);
		if (bytes > MIME_FIELDS_MAX)
			return bad_option(problem, name, "parameter is too long");
		if (form_text_split(header->value, name, list, problem) < 0)
			return -1;
	}
	if (list->n > FORM_TEXT_ADDRS_MAX)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"Too many addresses in %s, max is %d", name, FORM_TEXT_ADDRS_MAX);
	for (size_t i = 0; i < message->headers.n; i++) {
		struct header *header = &message->headers.items[i];

		if (is_reply_to(header)) {
			free(header->name);
			free(header->value);
		} else {
			message->headers.items[kept++] = *header;
		}
	}
	message->headers.n = kept;
	return 0;
}

/* True if a Reply-To may contain a variable: it is parsed after that is
 * replaced. */
static bool reply_to_varies(const struct mime_message *message)
{
	for (size_t i = 0; i < message->headers.n; i++) {
		const struct header *header = &message->headers.items[i];

		if (is_reply_to(header) && strchr(header->value, '%'))
			return true;
	}
	return false;
}

int form_options_check_template(const struct form *form, struct problem *problem)
{
	for (size_t i = 0; i < form->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++)
			if (prefixes[k].take == refuse_template &&
				str_starts_nocase(form->fields[i].name, prefixes[k].prefix) &&
				refuse_template(NULL, &form->fields[i], "", problem) < 0)
				return -1;
	return 0;
}

int form_options_parse(
	const struct form *form, int64_t now_us, struct draft *draft, struct problem *problem)
{
	struct options options = {
		.draft = draft,
		.now_us = now_us,
		.tags = json_array(),
		.variables = json_object(),
	};
	int result = check_size(form, problem);

	if (result == 0)
		result = take_fields(&options, problem);
	for (size_t i = 0; result == 0 && i < form->n; i++)
		result = take_field(&options, &form->fields[i], problem);
	if (result == 0 && (draft->finished.len > 0 || !reply_to_varies(&draft->message)))
		result = form_options_read_reply_to(&draft->message, problem);
	draft->tags = json_dumps(options.tags, JSON_COMPACT);
	draft->variables = json_dumps(options.variables, JSON_COMPACT);
	json_decref(options.tags);
	json_decref(options.variables);
	return result;
}
