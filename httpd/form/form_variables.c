/*
 * form_variables: recipient variables, and the macros that they replace.
 *
 * The size of a recipient's email is computed before the email is made, so that
 * the caller can reserve the memory in between. One scanner serves counting and
 * replacing, since a text of a few bytes can expand to gigabytes.
 */
#include "httpd/form/form_variables.h"

#include <jansson.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/mime/mime_header.h"
#include "httpd/form/form.h"
#include "httpd/form/form_options.h"
#include "httpd/admission/json_text.h"

static const char *const removed[] = {"%unsubscribe_url%", "%tag_unsubscribe_email%",
	"%tag_unsubscribe_url%", "%mailing_list_unsubscribe_url%", "%unsubscribe_email%"};

/* A piece of the text, and its replacement. */
struct piece {
	size_t len;
	const char *value;
	size_t value_len;
};

static size_t removed_len(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(removed); i++)
		if (str_starts(at, removed[i]))
			return strlen(removed[i]);
	return 0;
}

bool form_macros_removed_in(const char *text)
{
	for (const char *at = text; (at = strchr(at, '%')) != NULL; at++)
		if (removed_len(at) > 0)
			return true;
	return false;
}

/* True if a variable with a value begins here. */
static bool read_variable(
	const struct form_recipient *recipient, const char *at, struct piece *piece)
{
	static const char start[] = "%recipient.", whole[] = "%recipient%";
	const char *key = at + sizeof(start) - 1, *end;
	const json_t *value;

	if (recipient->address && str_starts(at, whole)) {
		*piece = (struct piece){
			sizeof(whole) - 1, recipient->address, strlen(recipient->address)};
		return true;
	}
	if (recipient->variables == NULL || !str_starts(at, start) ||
		(end = strchr(key, '%')) == NULL)
		return false;
	value = json_object_getn(recipient->variables, key, (size_t)(end - key));
	if (!json_is_string(value))
		return false;
	*piece = (struct piece){
		(size_t)(end - at) + 1, json_string_value(value), json_string_length(value)};
	return true;
}

/* The piece at the beginning of the text, which must not be empty. */
static struct piece next_piece(const struct form_recipient *recipient, const char *at)
{
	struct piece piece;
	size_t len;

	if (*at != '%') {
		len = strcspn(at, "%");
		return (struct piece){len, at, len};
	}
	len = removed_len(at);
	if (len > 0)
		return (struct piece){len, "", 0};
	if (read_variable(recipient, at, &piece))
		return piece;
	return (struct piece){1, at, 1};
}

uint64_t form_macros_size(const struct form_recipient *recipient, const char *text)
{
	uint64_t size = 0;

	while (text && *text) {
		struct piece piece = next_piece(recipient, text);

		size += piece.value_len;
		text += piece.len;
	}
	return size;
}

void form_macros_apply(const struct form_recipient *recipient, char **text)
{
	struct buf out = BUF_INIT;

	if (*text == NULL || strchr(*text, '%') == NULL)
		return;
	buf_reserve(&out, form_macros_size(recipient, *text));
	for (const char *at = *text; *at;) {
		struct piece piece = next_piece(recipient, at);

		buf_add(&out, piece.value, piece.value_len);
		at += piece.len;
	}
	free(*text);
	*text = buf_take(&out);
}

#define FIELD "recipient-variables"

/* The memory of a header field in addition to its texts. */
enum { HEADER_BYTES = 64 };

/* Removes the entries of List-Unsubscribe (RFC 2369) that contain a macro. */
static void clean_unsubscribe(char **value)
{
	_cleanup_strv_ struct strv entries = STRV_INIT, kept = STRV_INIT;

	strv_split(&entries, *value, ',');
	for (size_t i = 0; i < entries.n; i++) {
		if (!form_macros_removed_in(entries.items[i]))
			strv_take(&kept, str_trim(entries.items[i], strlen(entries.items[i])));
	}
	free(*value);
	*value = strv_join(&kept, ", ");
}

static int substitute_headers(const struct form_recipient *recipient, struct mime_message *message,
	struct problem *problem)
{
	for (size_t i = message->headers.n; i-- > 0;) {
		struct header *header = &message->headers.items[i];

		if (str_eq_nocase(header->name, "List-Unsubscribe"))
			clean_unsubscribe(&header->value);
		form_macros_apply(recipient, &header->value);
		if (!mime_header_value_valid(header->value))
			return problem_set(problem, PROBLEM_BAD_REQUEST,
				"h:%.100s contains line breaks or other control characters",
				header->name);
		if (*header->value)
			continue;
		free(header->name);
		free(header->value);
		message->headers.n--;
		memmove(header, header + 1, (message->headers.n - i) * sizeof(*header));
	}
	return 0;
}

static int personalize(
	const struct form_recipient *recipient, struct draft *email, struct problem *problem)
{
	struct mime_message *message = &email->message;

	for (size_t i = 0; i < MIME_MESSAGE_N; i++) {
		char **text = mime_message_text(message, i);

		if (text == NULL || (text == &message->text && email->text_made))
			continue;
		form_macros_apply(recipient, text);
		if (mime_message_members[i].field && *text && !mime_header_value_valid(*text))
			return problem_set(problem, PROBLEM_BAD_REQUEST,
				"%s parameter contains line breaks or other control characters",
				mime_message_members[i].name);
	}
	if (message->message_id && form_text_message_id(&message->message_id, problem) < 0)
		return -1;
	if (substitute_headers(recipient, message, problem) < 0)
		return -1;
	if (message->reply_to.n > 0)
		return 0;
	email->reply_to_made = true;
	return form_options_read_reply_to(message, problem);
}

/* Fills in the strings of the JSON, while the results fit into room bytes. Returns 0, or -1. */
static int fill_strings(const struct form_recipient *recipient, json_t *value, uint64_t *room)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_string(value)) {
		_cleanup_free_ char *text = mem_strdup(json_string_value(value));
		uint64_t size = form_macros_size(recipient, text);

		if (size > *room)
			return -1;
		*room -= size;
		form_macros_apply(recipient, &text);
		json_string_set(value, text);
	}
	json_object_foreach(value, key, item)
		if (fill_strings(recipient, item, room) < 0)
			return -1;
	json_array_foreach(value, i, item)
		if (fill_strings(recipient, item, room) < 0)
			return -1;
	return 0;
}

static bool metadata_varies(const char *variables)
{
	return strstr(variables, "%recipient") != NULL;
}

/* Returns the metadata of the recipient's email, a new text; NULL if it is too large. */
static char *fill_metadata(const struct form_recipient *recipient, const char *variables)
{
	uint64_t room = FORM_OPTIONS_MAX;
	char *text = NULL;
	json_t *object;

	if (!metadata_varies(variables))
		return mem_strdup(variables);
	object = json_loads(variables, 0, NULL);
	if (fill_strings(recipient, object, &room) == 0)
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

/* The key of an address among the variables; a new string. Different spellings
 * of an address give the same key. */
static char *key_of(const char *address)
{
	_cleanup_addr_ struct addr addr = {0};
	char *key = addr_parse(address, &addr, NULL) == 0 ? addr_spec(&addr) : mem_strdup(address);

	str_lower(key);
	return key;
}

int form_variables_none(struct draft *email, struct problem *problem)
{
	const struct form_recipient nobody = {NULL, NULL};

	if (email->finished.len > 0)
		return 0;
	return personalize(&nobody, email, problem);
}

static struct form_recipient recipient_of(const struct send_personal *personal, const char *address)
{
	const struct form_variables *variables = (const struct form_variables *)personal;
	_cleanup_free_ char *name = key_of(address);

	return (struct form_recipient){address, json_object_get(variables->of, name)};
}

/* Includes the longest text once more: during replacement the old and the new
 * one exist. */
static uint64_t personal_size(
	const struct send_personal *personal, const struct draft *base, size_t i)
{
	_cleanup_free_ char *address = addr_spec(&base->message.to.items[i]);
	const struct form_recipient recipient = recipient_of(personal, address);
	const struct header_list *headers = &base->message.headers;
	uint64_t bytes = 0, longest = 0;

	for (size_t k = 0; k < MIME_MESSAGE_N; k++) {
		char *const *text = mime_message_text(&base->message, k);

		if (text == NULL || *text == NULL)
			continue;
		bytes += form_macros_size(&recipient, *text);
		if (strlen(*text) > longest)
			longest = strlen(*text);
	}
	for (size_t k = 0; k < headers->n; k++)
		bytes += sizeof(headers->items[k]) + HEADER_BYTES + strlen(headers->items[k].name) +
			 form_macros_size(&recipient, headers->items[k].value);
	bytes += strlen(base->variables);
	if (metadata_varies(base->variables))
		bytes += json_text_cost(base->variables, strlen(base->variables)) +
			 FORM_OPTIONS_MAX;
	return bytes + longest;
}

/* True if the html has no macro at all, so that all recipients get the same. */
static bool personal_same_html(const struct send_personal *personal, const struct draft *base)
{
	(void)personal;
	return base->message.html && strchr(base->message.html, '%') == NULL;
}

static int personal_make(const struct send_personal *personal, const struct draft *base, size_t i,
	struct draft *email_r, struct problem *problem)
{
	_cleanup_free_ char *address = addr_spec(&base->message.to.items[i]);
	const struct form_recipient recipient = recipient_of(personal, address);

	*email_r = *base;
	mime_message_copy_texts(&base->message, &email_r->message);
	email_r->message.to = (struct addr_list){&base->message.to.items[i], 1};
	email_r->variables = fill_metadata(&recipient, base->variables);
	if (email_r->variables == NULL)
		return form_options_too_large(problem);
	if (personalize(&recipient, email_r, problem) < 0)
		return -1;
	/* RFC 5322 3.6.4. It may have got angle brackets. */
	if (base->message.to.n > 1 && base->message.message_id &&
		strstr(email_r->message.message_id, base->message.message_id))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"h:Message-Id must have a variable with a value for each recipient, as "
			"<%%recipient.id%%@example.com>: each gets a message of its own");
	return 0;
}

static void personal_clear(struct draft *email)
{
	if (email->reply_to_made)
		addr_list_clear(&email->message.reply_to);
	mime_message_clear_texts(&email->message);
	free(email->variables);
	*email = (struct draft){0};
}

static void personal_free(struct send_personal *personal)
{
	form_variables_free((struct form_variables *)personal);
}

/* Values are inserted as text. Other types are converted to JSON text. */
static void make_texts(json_t *values)
{
	const char *key;
	json_t *value;

	json_object_foreach(values, key, value) {
		char *text;

		if (json_is_string(value) || json_is_null(value))
			continue;
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		json_object_set_new(values, key, json_string(text));
		free(text);
	}
}

/* Indexes the values by address. Of several spellings of an address the first
 * one counts. */
static json_t *index_people(json_t *all)
{
	json_t *people = json_object();
	const char *address;
	json_t *values;

	json_object_foreach(all, address, values) {
		_cleanup_free_ char *name = key_of(address);

		if (!json_is_object(values) || json_object_get(people, name))
			continue;
		make_texts(values);
		json_object_set(people, name, values);
	}
	return people;
}

uint64_t form_variables_cost(const struct form *form)
{
	const struct form_field *field = form_next(form, FIELD, NULL);

	return field ? json_text_cost(field->value.data, field->value.len) : 0;
}

int form_variables_read(
	const struct form *form, struct form_variables **variables_r, struct problem *problem)
{
	struct form_variables *variables;
	const char *text;
	json_t *all;

	*variables_r = NULL;
	if (form_text(form, FIELD, &text, problem) < 0)
		return -1;
	if (text == NULL)
		return 0;
	all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(all)) {
		json_decref(all);
		return problem_set(
			problem, PROBLEM_BAD_REQUEST, "'" FIELD "' parameter is not a valid JSON");
	}
	variables = mem_new(struct form_variables);
	variables->personal = (struct send_personal){
		.size = personal_size,
		.same_html = personal_same_html,
		.make = personal_make,
		.clear = personal_clear,
		.free = personal_free,
	};
	variables->of = index_people(all);
	json_decref(all);
	*variables_r = variables;
	return 0;
}

void form_variables_free(struct form_variables *variables)
{
	if (variables == NULL)
		return;
	json_decref(variables->of);
	free(variables);
}
