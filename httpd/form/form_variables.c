/*
 * form_variables: recipient variables.
 *
 * They are read, what they make of the email is counted, and only then is any
 * of it made: the caller finds the memory in between.
 *
 * Threads: any; holds no state.
 */
#include "httpd/form/form_variables.h"

#include <jansson.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_header.h"
#include "httpd/form/form_macros.h"
#include "httpd/form/form_text.h"
#include "httpd/http/json_text.h"

#define FIELD "recipient-variables"

/* List-Unsubscribe (RFC 2369) without the entries that hold a macro. */
static void clean_unsubscribe(char **value)
{
	_cleanup_strv_ struct strv entries = STRV_INIT, kept = STRV_INIT;

	strv_split(&entries, *value, ',');
	for (size_t i = 0; i < entries.n; i++) {
		if (!form_macros_removed_in(entries.items[i]))
			strv_take(&kept, str_trim(entries.items[i],
						 strlen(entries.items[i])));
	}
	free(*value);
	*value = strv_join(&kept, ", ");
}

/* Takes header i out of the list. */
static void drop_header(struct mime_message *message, size_t i)
{
	free(message->headers[i].name);
	free(message->headers[i].value);
	message->headers_n--;
	memmove(&message->headers[i], &message->headers[i + 1],
		(message->headers_n - i) * sizeof(*message->headers));
}

static int substitute_headers(const struct form_recipient *recipient,
	struct mime_message *message, struct problem *problem)
{
	for (size_t i = message->headers_n; i-- > 0;) {
		struct header *header = &message->headers[i];

		if (str_eq_nocase(header->name, "List-Unsubscribe"))
			clean_unsubscribe(&header->value);
		form_macros_apply(recipient, &header->value);
		if (!mime_header_value_valid(header->value))
			return problem_set(problem, PROBLEM_BAD_REQUEST,
				"h:%.100s contains line breaks or other "
				"control characters",
				header->name);
		if (*header->value == '\0')
			drop_header(message, i);
	}
	return 0;
}

static int personalize(const struct form_recipient *recipient,
	struct mime_message *message, struct problem *problem)
{
	form_macros_apply(recipient, &message->subject);
	form_macros_apply(recipient, &message->text);
	form_macros_apply(recipient, &message->html);
	form_macros_apply(recipient, &message->message_id);
	if (message->subject && !mime_header_value_valid(message->subject))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"subject parameter contains line breaks or other "
			"control characters");
	if (message->message_id &&
		form_text_message_id(&message->message_id, problem) < 0)
		return -1;
	return substitute_headers(recipient, message, problem);
}

/* By what an address is known among the variables; a new string. Clients write
 * one in ways that addr_parse() makes the same. */
static char *key_of(const char *address)
{
	_cleanup_addr_ struct addr addr = {0};
	char *key = addr_parse(address, &addr, NULL) == 0 ? addr_spec(&addr)
							  : mem_strdup(address);

	str_lower(key);
	return key;
}

static struct form_recipient recipient_of(
	const struct form_variables *variables, const char *address)
{
	_cleanup_free_ char *name = key_of(address);

	return (struct form_recipient){
		address, json_object_get(variables->of, name)};
}

static int expand_for(const struct form_variables *variables,
	const struct outgoing *base, size_t i, struct outgoing *email,
	struct problem *problem)
{
	_cleanup_free_ char *address = addr_spec(&base->message.to.items[i]);
	const struct form_recipient recipient = recipient_of(variables, address);

	outgoing_copy_for(base, i, email);
	return personalize(&recipient, &email->message, problem);
}

static int expand_one(
	struct outgoing *base, struct outgoing *email, struct problem *problem)
{
	const struct form_recipient nobody = {NULL, NULL};

	*email = *base;
	*base = (struct outgoing){0};
	if (email->finished.len > 0)
		return 0;
	return personalize(&nobody, &email->message, problem);
}

int form_variables_expand(const struct form_variables *variables,
	struct outgoing *base, struct outgoing **emails_r, size_t *n_r,
	struct problem *problem)
{
	size_t n = variables->of ? base->message.to.n : 1;
	struct outgoing *emails = mem_alloc(n, sizeof(*emails));
	int result = 0;

	*n_r = n;
	*emails_r = emails;
	if (variables->of == NULL)
		return expand_one(base, &emails[0], problem);
	for (size_t i = 0; i < n && result == 0; i++)
		result = expand_for(variables, base, i, &emails[i], problem);
	outgoing_clear(base);
	return result;
}

static uint64_t text_size(const struct form_recipient *recipient,
	const struct mime_message *message)
{
	uint64_t bytes = form_macros_size(recipient, message->subject) +
			 form_macros_size(recipient, message->text) +
			 form_macros_size(recipient, message->html);

	for (size_t i = 0; i < message->headers_n; i++)
		bytes += form_macros_size(recipient, message->headers[i].value);
	return bytes;
}

uint64_t form_variables_size(
	const struct form_variables *variables, const struct outgoing *base)
{
	const struct mime_message *message = &base->message;
	const struct form_recipient nobody = {NULL, NULL};
	uint64_t files = base->finished.len, bytes = variables->cost;

	for (size_t i = 0; i < message->attachments_n; i++)
		files += message->attachments[i].content.len;
	if (variables->of == NULL)
		return bytes + files + text_size(&nobody, message);
	for (size_t i = 0; i < message->to.n; i++) {
		_cleanup_free_ char *address = addr_spec(&message->to.items[i]);
		const struct form_recipient recipient = recipient_of(
			variables, address);

		bytes += files + text_size(&recipient, message);
	}
	return bytes;
}

/* Values are put in as text: what is none becomes its JSON. */
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

/* By address; of those that are written in different ways the first. */
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

int form_variables_read(const struct form *form,
	struct form_variables *variables_r, struct problem *problem)
{
	const char *text;
	json_t *all;

	if (form_text(form, FIELD, &text, problem) < 0)
		return -1;
	if (text == NULL)
		return 0;
	all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(all)) {
		json_decref(all);
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'" FIELD "' parameter is not a valid JSON");
	}
	variables_r->cost = form_variables_cost(form);
	variables_r->of = index_people(all);
	json_decref(all);
	return 0;
}

void form_variables_clear(struct form_variables *variables)
{
	json_decref(variables->of);
	*variables = (struct form_variables){0};
}
