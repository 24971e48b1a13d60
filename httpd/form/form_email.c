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

/* Puts the id of the file behind each `cid:`. Where the name ends depends on the character before
 * that. */
static char *rewrite(const struct files *files, const char *html)
{
	struct buf out = BUF_INIT;
	const char *at = html;

	while (*at) {
		const char *end, *name;
		const struct file *file;
		size_t len;

		if (at == html || !str_starts_nocase(at, scheme)) {
			buf_add_char(&out, *at++);
			continue;
		}
		name = at + strlen(scheme);
		end = at[-1] == '"'    ? "\""
		      : at[-1] == '\'' ? "'"
		      : at[-1] == '('  ? ")"
				       : " \t\r\n\"'()<>";
		len = strcspn(name, end);
		file = find_text(files, name, len);
		buf_add(&out, at, strlen(scheme));
		buf_add(&out, file ? file->id : name, file ? strlen(file->id) : len);
		at = name + len;
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

/* Moves the contents of the files into the message. One without a name gets that of its field. */
static void take_files(
	struct form *form, const char *name, bool is_inline, struct mime_message *message)
{
	for (size_t i = 0; i < form->n; i++) {
		struct form_field *field = &form->fields[i];
		struct attachment *file;

		if (!str_eq(field->name, name))
			continue;
		file = mime_message_add_attachment(message);
		file->filename = mem_strdup(
			str_empty(field->filename) ? field->name : field->filename);
		for (char *p = file->filename; *p; p++)
			if (ascii_is_control(*p))
				*p = ' ';
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
	const char *given, *subject, *text, *html;
	_cleanup_free_ char *from = NULL;

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
		form_text_addrs(form, "bcc", &draft_r->bcc, problem) < 0)
		return -1;
	if (message->to.n == 0)
		return missing(problem, "to");
	if (form_email_check_recipients(
		    message->to.n + message->cc.n + draft_r->bcc.n, rules, problem) < 0 ||
		form_text_line(form, "subject", &subject, problem) < 0 ||
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

int form_email_parse_mime(struct form *form, const struct form_email_rules *rules,
	struct draft *draft_r, struct problem *problem)
{
	const struct form_field *file = form_next(form, "message", NULL);
	struct mime_message *message = &draft_r->message;
	_cleanup_mime_summary_ struct mime_summary summary = {0};

	if (!form_text_given(form, "to"))
		return bad_email(problem, "to parameter is missing");
	if (form_text_addrs(form, "to", &draft_r->envelope, problem) < 0)
		return -1;
	if (draft_r->envelope.n == 0)
		return bad_email(problem, "to parameter is missing");
	if (form_email_check_recipients(draft_r->envelope.n, rules, problem) < 0)
		return -1;
	if (file == NULL)
		return bad_email(problem, "message parameter is missing");
	if (file->filename == NULL)
		return bad_email(problem, "'message' parameter is not a file");
	if (file->value.len == 0)
		return bad_email(problem, "message parameter is empty");
	mime_read(file->value.data, file->value.len, &summary);
	if (summary.from_fields.n == 0)
		return bad_email(problem, "from parameter is missing");
	if (summary.from_fields.n > 1 ||
		addr_parse(summary.from_fields.items[0], &message->from, NULL) < 0)
		return bad_email(problem,
			"from parameter is not a valid address. please check documentation");
	if (form_email_check_domain(&message->from, rules->domain, problem) < 0)
		return -1;
	message->to = TAKE(summary.to);
	message->cc = TAKE(summary.cc);
	message->reply_to = TAKE(summary.reply_to);
	message->subject = TAKE_PTR(summary.subject);
	message->html = TAKE_PTR(summary.html);
	message->text = TAKE_PTR(summary.text);
	message->message_id = TAKE_PTR(summary.message_id);
	/* Recipients that To and Cc do not name get a blind copy. */
	for (size_t i = 0; i < draft_r->envelope.n; i++) {
		const struct addr *addr = &draft_r->envelope.items[i];
		struct addr *copy;

		if (addr_list_has(&message->to, addr) || addr_list_has(&message->cc, addr))
			continue;
		copy = addr_list_add(&draft_r->bcc);
		copy->name = mem_strdup(addr->name);
		copy->local = mem_strdup(addr->local);
		copy->domain = mem_strdup(addr->domain);
	}
	draft_r->finished = TAKE(form->fields[file - form->fields].value);
	return form_options_parse(form, rules->now_us, draft_r, problem);
}
