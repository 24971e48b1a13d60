/*
 * form_email: the email of POST /v3/{domain}/messages.
 *
 * Threads: any; holds no state.
 */
#include "httpd/form/form_email.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/form/form_cid.h"
#include "httpd/form/form_options.h"

static int missing(struct problem *problem, const char *name)
{
	return problem_set(
		problem, PROBLEM_BAD_REQUEST, "%s parameter is missing", name);
}

int form_email_check_domain(
	const struct addr *from, const char *domain, struct problem *problem)
{
	if (str_eq(from->domain, domain))
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"from domain %s does not match the sending domain %s",
		from->domain, domain);
}

int form_email_check_recipients(
	size_t n, const struct form_email_rules *rules, struct problem *problem)
{
	if (n <= (size_t)rules->recipients)
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"Too many recipients, max is %" PRId64, rules->recipients);
}

static int parse_from(const struct form *form, const char *domain,
	struct addr *from, struct problem *problem)
{
	_cleanup_free_ char *text = NULL;
	const char *value;

	if (form_text(form, "from", &value, problem) < 0)
		return -1;
	text = str_trim(value, strlen(value));
	if (addr_parse(text, from, NULL) < 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"from parameter is not a valid address. please check "
			"documentation");
	return form_email_check_domain(from, domain, problem);
}

static int parse_people(const struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing,
	struct problem *problem)
{
	struct mime_message *message = &outgoing->message;

	if (!form_text_given(form, "from"))
		return missing(problem, "from");
	if (!form_text_given(form, "to"))
		return missing(problem, "to");
	if (parse_from(form, rules->domain, &message->from, problem) < 0 ||
		form_text_addrs(form, "to", &message->to, problem) < 0 ||
		form_text_addrs(form, "cc", &message->cc, problem) < 0 ||
		form_text_addrs(form, "bcc", &outgoing->bcc, problem) < 0)
		return -1;
	if (message->to.n == 0)
		return missing(problem, "to");
	return form_email_check_recipients(
		message->to.n + message->cc.n + outgoing->bcc.n, rules, problem);
}

static int parse_body(const struct form *form, struct mime_message *message,
	struct problem *problem)
{
	const char *subject, *text, *html;

	if (form_text_line(form, "subject", &subject, problem) < 0 ||
		form_text(form, "text", &text, problem) < 0 ||
		form_text(form, "html", &html, problem) < 0)
		return -1;
	if (text == NULL && html == NULL &&
		form_options_check_template(form, problem) < 0)
		return -1;
	if (text == NULL && html == NULL)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"Need at least one of 'text' or 'html' parameters "
			"specified");
	message->subject = mem_strdup(subject);
	message->text = mem_strdup(text);
	message->html = mem_strdup(html);
	return 0;
}

/* The name that a file goes by: controls become blanks, and one without a name
 * gets one. */
static char *file_name(const struct form_field *field)
{
	char *name = mem_strdup(
		str_empty(field->filename) ? field->name : field->filename);

	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	return name;
}

/* Moves their contents into the message. */
static void take_files(struct form *form, const char *name, bool is_inline,
	struct mime_message *message)
{
	for (size_t i = 0; i < form->n; i++) {
		struct form_field *field = &form->fields[i];
		struct attachment *file;

		if (!str_eq(field->name, name))
			continue;
		file = mime_message_add_attachment(message);
		file->filename = file_name(field);
		file->content_type = mem_strdup(str_empty(field->content_type)
							? NULL
							: field->content_type);
		if (is_inline)
			file->content_id = mem_strdup(file->filename);
		file->content = field->value;
		field->value = BUF_INIT;
	}
}

int form_email_parse(struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing_r,
	struct problem *problem)
{
	struct mime_message *message = &outgoing_r->message;

	if (parse_people(form, rules, outgoing_r, problem) < 0 ||
		parse_body(form, message, problem) < 0)
		return -1;
	take_files(form, "attachment", false, message);
	take_files(form, "inline", true, message);
	form_cid_apply(message);
	return 0;
}
