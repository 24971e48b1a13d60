/*
 * form_email: parses the email of a form, with its files.
 */
#include "httpd/form/form_email.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_message.h"
#include "core/read/mime_read.h"
#include "httpd/form/form_options.h"
#include "httpd/http/uri.h"

/* File names that cannot be a Content-ID. */

/* Longer names are not searched for in the html. */
enum { NAME_MAX_LEN = 1000 };

static const char scheme[] = "cid:";

struct file {
	const char *name;
	char *id;
};

/* Sorted by name. */
struct files {
	struct file *items;
	size_t n;
};

static bool is_plain_id(const char *name)
{
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || strchr("<>%", *name))
			return false;
	return true;
}

static char *new_id(size_t number, const char *name)
{
	char *id = mem_printf("%zu.%s@inline", number, name);

	for (char *p = id; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("<>%\"'()&", *p))
			*p = '_';
	return id;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static const struct file *find_file(const struct files *files, const char *name)
{
	const struct file wanted = {.name = name};

	return bsearch(&wanted, files->items, files->n, sizeof(wanted), by_name);
}

/* Finds the file with this name, either literal or percent-decoded. */
static const struct file *find_text(const struct files *files, const char *text, size_t len)
{
	char name[NAME_MAX_LEN + 1];
	const struct file *file;

	if (len > NAME_MAX_LEN)
		return NULL;
	memcpy(name, text, len);
	name[len] = '\0';
	file = find_file(files, name);
	if (file == NULL && percent_decode((struct span){text, len}, name, sizeof(name)))
		file = find_file(files, name);
	return file;
}

/* Copies `cid:` and the id or the name, whose end depends on the character before `cid:`. Returns
 * where the rest begins. */
static const char *rewrite_one(const struct files *files, const char *at, struct buf *out)
{
	const char *name = at + strlen(scheme);
	const char *end = at[-1] == '"'    ? "\""
			  : at[-1] == '\'' ? "'"
			  : at[-1] == '('  ? ")"
					   : " \t\r\n\"'()<>";
	size_t len = strcspn(name, end);
	const struct file *file = find_text(files, name, len);

	buf_add(out, at, strlen(scheme));
	if (file)
		buf_add_str(out, file->id);
	else
		buf_add(out, name, len);
	return name + len;
}

static char *rewrite(const struct files *files, const char *html)
{
	struct buf out = BUF_INIT;
	const char *at = html;

	while (*at) {
		if (at > html && str_starts_nocase(at, scheme))
			at = rewrite_one(files, at, &out);
		else
			buf_add_char(&out, *at++);
	}
	return buf_take(&out);
}

void form_cid_apply(struct mime_message *message)
{
	struct files files = {
		.items = mem_alloc(message->attachments.n, sizeof(*files.items)),
	};

	for (size_t i = 0; i < message->attachments.n; i++) {
		struct attachment *file = &message->attachments.items[i];

		if (file->content_id && !is_plain_id(file->content_id))
			files.items[files.n++] = (struct file){
				file->filename, new_id(i, file->filename)};
	}
	qsort(files.items, files.n, sizeof(*files.items), by_name);
	for (size_t i = 0; i < message->attachments.n; i++) {
		struct attachment *file = &message->attachments.items[i];

		if (file->content_id && !is_plain_id(file->content_id)) {
			free(file->content_id);
			file->content_id = mem_strdup(find_file(&files, file->filename)->id);
		}
	}
	if (files.n > 0 && message->html) {
		char *html = message->html;

		message->html = rewrite(&files, html);
		free(html);
	}
	for (size_t i = 0; i < files.n; i++)
		free(files.items[i].id);
	free(files.items);
}

static int missing(struct problem *problem, const char *name)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%s parameter is missing", name);
}

/* Checks the sender's domain against that of the path. */
static int form_email_check_domain(
	const struct addr *from, const char *domain, struct problem *problem)
{
	if (str_eq(from->domain, domain))
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST,
		"from domain %s does not match the sending domain %s", from->domain, domain);
}

/* Checks how many recipients there are. */
static int form_email_check_recipients(
	size_t n, const struct form_email_rules *rules, struct problem *problem)
{
	if (n <= (size_t)rules->recipients)
		return 0;
	return problem_set(problem, PROBLEM_BAD_REQUEST, "Too many recipients, max is %" PRId64,
		rules->recipients);
}

static int parse_people(const struct form *form, const struct form_email_rules *rules,
	struct draft *draft, struct problem *problem)
{
	struct mime_message *message = &draft->message;
	_cleanup_free_ char *from = NULL;
	const char *given;

	if (!form_text_given(form, "from"))
		return missing(problem, "from");
	if (!form_text_given(form, "to"))
		return missing(problem, "to");
	if (form_text(form, "from", &given, problem) < 0)
		return -1;
	from = str_trim(given, strlen(given));
	if (addr_parse(from, &message->from, NULL) < 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"from parameter is not a valid address. please check documentation");
	if (form_email_check_domain(&message->from, rules->domain, problem) < 0 ||
		form_text_addrs(form, "to", &message->to, problem) < 0 ||
		form_text_addrs(form, "cc", &message->cc, problem) < 0 ||
		form_text_addrs(form, "bcc", &draft->bcc, problem) < 0)
		return -1;
	if (message->to.n == 0)
		return missing(problem, "to");
	return form_email_check_recipients(
		message->to.n + message->cc.n + draft->bcc.n, rules, problem);
}

static int parse_body(
	const struct form *form, struct mime_message *message, struct problem *problem)
{
	const char *subject, *text, *html;

	if (form_text_line(form, "subject", &subject, problem) < 0 ||
		form_text(form, "text", &text, problem) < 0 ||
		form_text(form, "html", &html, problem) < 0)
		return -1;
	if (text == NULL && html == NULL && form_options_check_template(form, problem) < 0)
		return -1;
	if (text == NULL && html == NULL)
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"Need at least one of 'text' or 'html' parameters specified");
	message->subject = mem_strdup(subject);
	message->text = mem_strdup(text);
	message->html = mem_strdup(html);
	return 0;
}

/* The name of a file: control characters become blanks; without a name it gets
 * that of its field. */
static char *file_name(const struct form_field *field)
{
	char *name = mem_strdup(str_empty(field->filename) ? field->name : field->filename);

	for (char *p = name; *p; p++)
		if (ascii_is_control(*p))
			*p = ' ';
	return name;
}

/* Moves the contents of the files into the message. */
static void take_files(
	struct form *form, const char *name, bool is_inline, struct mime_message *message)
{
	for (size_t i = 0; i < form->n; i++) {
		struct form_field *field = &form->fields[i];
		struct attachment *file;

		if (!str_eq(field->name, name))
			continue;
		file = mime_message_add_attachment(message);
		file->filename = file_name(field);
		file->content_type = mem_strdup(
			str_empty(field->content_type) ? NULL : field->content_type);
		if (is_inline)
			file->content_id = mem_strdup(file->filename);
		file->content = TAKE(field->value);
	}
}

int form_email_parse(struct form *form, const struct form_email_rules *rules, struct draft *draft_r,
	struct problem *problem)
{
	struct mime_message *message = &draft_r->message;

	if (parse_people(form, rules, draft_r, problem) < 0 ||
		parse_body(form, message, problem) < 0)
		return -1;
	take_files(form, "attachment", false, message);
	take_files(form, "inline", true, message);
	form_cid_apply(message);
	return form_options_parse(form, rules->now_us, draft_r, problem);
}

/* POST /v3/{domain}/messages.mime: the message goes out as its client made it.
 * Its From field names the sender, and is parsed as strictly as by the milter:
 * one field, one mailbox. */

static int bad_email(struct problem *problem, const char *text)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%s", text);
}

static int parse_mime_from(
	const struct strv *fields, const char *domain, struct addr *from, struct problem *problem)
{
	if (fields->n == 0)
		return bad_email(problem, "from parameter is missing");
	if (fields->n > 1 || addr_parse(fields->items[0], from, NULL) < 0)
		return bad_email(problem,
			"from parameter is not a valid address. please check documentation");
	return form_email_check_domain(from, domain, problem);
}

/* Recipients that To and Cc do not name get a blind copy. */
static void add_blind(struct draft *draft)
{
	const struct mime_message *message = &draft->message;

	for (size_t i = 0; i < draft->envelope.n; i++) {
		const struct addr *addr = &draft->envelope.items[i];
		struct addr *copy;

		if (addr_list_has(&message->to, addr) || addr_list_has(&message->cc, addr))
			continue;
		copy = addr_list_add(&draft->bcc);
		copy->name = mem_strdup(addr->name);
		copy->local = mem_strdup(addr->local);
		copy->domain = mem_strdup(addr->domain);
	}
}

static int parse_envelope(const struct form *form, const struct form_email_rules *rules,
	struct draft *draft, struct problem *problem)
{
	if (!form_text_given(form, "to"))
		return bad_email(problem, "to parameter is missing");
	if (form_text_addrs(form, "to", &draft->envelope, problem) < 0)
		return -1;
	if (draft->envelope.n == 0)
		return bad_email(problem, "to parameter is missing");
	return form_email_check_recipients(draft->envelope.n, rules, problem);
}

int form_email_parse_mime(struct form *form, const struct form_email_rules *rules,
	struct draft *draft_r, struct problem *problem)
{
	const struct form_field *file = form_next(form, "message", NULL);
	struct mime_message *message = &draft_r->message;
	_cleanup_mime_summary_ struct mime_summary summary = {0};

	if (parse_envelope(form, rules, draft_r, problem) < 0)
		return -1;
	if (file == NULL)
		return bad_email(problem, "message parameter is missing");
	if (file->filename == NULL)
		return bad_email(problem, "'message' parameter is not a file");
	if (file->value.len == 0)
		return bad_email(problem, "message parameter is empty");
	mime_read(file->value.data, file->value.len, &summary);
	if (parse_mime_from(&summary.from_fields, rules->domain, &message->from, problem) < 0)
		return -1;
	message->to = TAKE(summary.to);
	message->cc = TAKE(summary.cc);
	message->reply_to = TAKE(summary.reply_to);
	message->subject = TAKE_PTR(summary.subject);
	message->html = TAKE_PTR(summary.html);
	message->text = TAKE_PTR(summary.text);
	message->message_id = TAKE_PTR(summary.message_id);
	add_blind(draft_r);
	draft_r->finished = TAKE(form->fields[file - form->fields].value);
	return form_options_parse(form, rules->now_us, draft_r, problem);
}
