/*
 * form_variables: recipient variables.
 *
 * `%recipient.KEY%` stands for the recipient's value of KEY, and `%recipient%`
 * for the address, in subject, bodies and custom headers. What names no known
 * value stays as it is. The macros of list management are removed always.
 *
 * Threads: any; holds no state.
 */
#include "httpd/form/form_variables.h"

#include <jansson.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_header.h"
#include "httpd/form/form_text.h"

static const char *const empty_macros[] = {"%unsubscribe_url%",
	"%tag_unsubscribe_email%", "%tag_unsubscribe_url%",
	"%mailing_list_unsubscribe_url%", "%unsubscribe_email%"};

/* What is put in for one recipient; NULL variables: macros are removed only. */
struct recipient {
	const char *address;
	const json_t *variables;
};

/* The value as it is put in; NULL when there is none. */
static char *value_text(const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return NULL;
	if (json_is_string(value))
		return mem_strdup(json_string_value(value));
	return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static size_t empty_macro(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(empty_macros); i++)
		if (str_starts(at, empty_macros[i]))
			return strlen(empty_macros[i]);
	return 0;
}

/* Reads the variable that begins here: its length and, in *text_r, what it
 * stands for. 0 when there is none. */
static size_t variable(
	const struct recipient *recipient, const char *at, char **text_r)
{
	static const char start[] = "%recipient.", whole[] = "%recipient%";
	const size_t skip = sizeof(start) - 1;
	const char *end;

	if (recipient->variables == NULL)
		return 0;
	if (str_starts(at, whole)) {
		*text_r = mem_strdup(recipient->address);
		return sizeof(whole) - 1;
	}
	if (!str_starts(at, start) || (end = strchr(at + skip, '%')) == NULL)
		return 0;
	_cleanup_free_ char *key = mem_dup(at + skip, (size_t)(end - at) - skip);
	*text_r = value_text(json_object_get(recipient->variables, key));
	return *text_r ? (size_t)(end - at) + 1 : 0;
}

/* Replaces the text by one with everything put in. */
static void substitute(const struct recipient *recipient, char **text)
{
	struct buf out = BUF_INIT;
	const char *at = *text;

	if (at == NULL || strchr(at, '%') == NULL)
		return;
	while (*at) {
		_cleanup_free_ char *value = NULL;
		size_t len = *at == '%' ? empty_macro(at) : 0;

		if (len == 0 && *at == '%')
			len = variable(recipient, at, &value);
		if (value)
			buf_add_str(&out, value);
		if (len == 0)
			buf_add_char(&out, *at++);
		at += len;
	}
	free(*text);
	*text = buf_take(&out);
}

/* List-Unsubscribe (RFC 2369) without the entries that hold a macro. */
static void clean_unsubscribe(char **value)
{
	_cleanup_strv_ struct strv entries = STRV_INIT, kept = STRV_INIT;

	strv_split(&entries, *value, ',');
	for (size_t i = 0; i < entries.n; i++) {
		const char *at = strchr(entries.items[i], '%');
		bool has_macro = false;

		for (; at && !has_macro; at = strchr(at + 1, '%'))
			has_macro = empty_macro(at) > 0;
		if (!has_macro)
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

static int substitute_headers(const struct recipient *recipient,
	struct mime_message *message, struct problem *problem)
{
	for (size_t i = message->headers_n; i-- > 0;) {
		struct header *header = &message->headers[i];

		if (str_eq_nocase(header->name, "List-Unsubscribe"))
			clean_unsubscribe(&header->value);
		substitute(recipient, &header->value);
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

static int personalize(const struct recipient *recipient,
	struct mime_message *message, struct problem *problem)
{
	substitute(recipient, &message->subject);
	substitute(recipient, &message->text);
	substitute(recipient, &message->html);
	substitute(recipient, &message->message_id);
	if (message->subject && !mime_header_value_valid(message->subject))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"subject parameter contains line breaks or other "
			"control characters");
	if (message->message_id && (!mime_header_value_valid(message->message_id) ||
					   strchr(message->message_id, ' ')))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"h:Message-Id parameter is not a valid message id");
	return substitute_headers(recipient, message, problem);
}

static void copy_addrs(const struct addr_list *from, struct addr_list *to)
{
	for (size_t i = 0; i < from->n; i++) {
		struct addr *addr = mime_message_add_addr(to);

		addr->name = mem_strdup(from->items[i].name);
		addr->local = mem_strdup(from->items[i].local);
		addr->domain = mem_strdup(from->items[i].domain);
	}
}

static void copy_attachments(
	const struct mime_message *from, struct mime_message *to)
{
	for (size_t i = 0; i < from->attachments_n; i++) {
		const struct attachment *file = &from->attachments[i];
		struct attachment *copy = mime_message_add_attachment(to);

		copy->filename = mem_strdup(file->filename);
		copy->content_type = mem_strdup(file->content_type);
		copy->content_id = mem_strdup(file->content_id);
		buf_add(&copy->content, file->content.data, file->content.len);
	}
}

static void copy_headers(const struct mime_message *from, struct mime_message *to)
{
	for (size_t i = 0; i < from->headers_n; i++) {
		struct header *copy = mime_message_add_header(to);

		copy->name = mem_strdup(from->headers[i].name);
		copy->value = mem_strdup(from->headers[i].value);
	}
}

/* The email, addressed to one of its recipients. */
static void copy_for(
	const struct outgoing *base, size_t recipient, struct outgoing *copy)
{
	const struct mime_message *from = &base->message;
	struct mime_message *to = &copy->message;
	const struct addr_list one = {&from->to.items[recipient], 1};

	to->from.name = mem_strdup(from->from.name);
	to->from.local = mem_strdup(from->from.local);
	to->from.domain = mem_strdup(from->from.domain);
	copy_addrs(&one, &to->to);
	copy_addrs(&from->cc, &to->cc);
	copy_addrs(&from->reply_to, &to->reply_to);
	copy_addrs(&base->bcc, &copy->bcc);
	to->subject = mem_strdup(from->subject);
	to->html = mem_strdup(from->html);
	to->text = mem_strdup(from->text);
	to->message_id = mem_strdup(from->message_id);
	copy_headers(from, to);
	copy_attachments(from, to);
	copy->tags = mem_strdup(base->tags);
	copy->variables = mem_strdup(base->variables);
	copy->test = base->test;
}

/* The object of variables of an address; any letter case. */
static const json_t *variables_of(json_t *all, const char *address)
{
	const char *name;
	json_t *value;

	json_object_foreach(
		all, name, value) if (str_eq_nocase(name, address) &&
				      json_is_object(value)) return value;
	return NULL;
}

static int expand_for(const struct outgoing *base, json_t *all, size_t i,
	struct outgoing *email, struct problem *problem)
{
	_cleanup_free_ char *address = addr_spec(&base->message.to.items[i]);
	json_t *none = json_object();
	const json_t *variables = variables_of(all, address);
	struct recipient recipient = {address, variables ? variables : none};
	int result;

	copy_for(base, i, email);
	result = personalize(&recipient, &email->message, problem);
	json_decref(none);
	return result;
}

static int expand_all(const struct outgoing *base, json_t *all,
	struct outgoing *emails, struct problem *problem)
{
	for (size_t i = 0; i < base->message.to.n; i++)
		if (expand_for(base, all, i, &emails[i], problem) < 0)
			return -1;
	return 0;
}

static int expand_one(
	struct outgoing *base, struct outgoing *email, struct problem *problem)
{
	const struct recipient nobody = {NULL, NULL};

	*email = *base;
	*base = (struct outgoing){0};
	if (email->finished.len > 0)
		return 0;
	return personalize(&nobody, &email->message, problem);
}

uint64_t form_variables_size(const struct form *form, const struct outgoing *base)
{
	const struct mime_message *message = &base->message;
	bool many = form_next(form, "recipient-variables", NULL) != NULL;
	uint64_t bytes = base->finished.len;

	for (size_t i = 0; i < message->attachments_n; i++)
		bytes += message->attachments[i].content.len;
	bytes += message->text ? strlen(message->text) : 0;
	bytes += message->html ? strlen(message->html) : 0;
	return many ? bytes * message->to.n : bytes;
}

int form_variables_expand(const struct form *form, struct outgoing *base,
	struct outgoing **emails_r, size_t *n_r, struct problem *problem)
{
	const char *text;
	json_t *all;
	int result;

	*n_r = 0;
	*emails_r = NULL;
	if (form_text(form, "recipient-variables", &text, problem) < 0)
		return -1;
	if (text == NULL) {
		*n_r = 1;
		*emails_r = mem_new(struct outgoing);
		return expand_one(base, *emails_r, problem);
	}
	if (base->finished.len > 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'recipient-variables' parameter is not supported with "
			"a finished message");
	all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(all)) {
		json_decref(all);
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'recipient-variables' parameter is not a valid JSON");
	}
	*n_r = base->message.to.n;
	*emails_r = mem_alloc(*n_r, sizeof(**emails_r));
	result = expand_all(base, all, *emails_r, problem);
	json_decref(all);
	outgoing_clear(base);
	return result;
}
