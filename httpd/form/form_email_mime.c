/*
 * form_email_mime: the email of POST /v3/{domain}/messages.mime.
 *
 * The message goes out as its client made it. Its From field says who sends,
 * and is read as strictly as the milter will read it: one field, one mailbox.
 *
 * Threads: any; holds no state.
 */
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_read.h"
#include "httpd/form/form_email.h"

static int bad(struct problem *problem, const char *text)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%s", text);
}

static int parse_from(const struct strv *fields, const char *domain,
	struct addr *from, struct problem *problem)
{
	if (fields->n == 0)
		return bad(problem, "from parameter is missing");
	if (fields->n > 1 || addr_parse(fields->items[0], from, NULL) < 0)
		return bad(problem,
			"from parameter is not a valid address. please check "
			"documentation");
	return form_email_check_domain(from, domain, problem);
}

static void add_mailboxes(const struct strv *texts, struct addr_list *list)
{
	for (size_t i = 0; i < texts->n; i++) {
		struct addr addr;

		if (addr_parse(texts->items[i], &addr, NULL) == 0)
			*mime_message_add_addr(list) = addr;
	}
}

/* What the message says goes into the record. */
static void describe(struct mime_summary *summary, struct mime_message *message)
{
	add_mailboxes(&summary->to, &message->to);
	add_mailboxes(&summary->cc, &message->cc);
	add_mailboxes(&summary->reply_to, &message->reply_to);
	message->subject = TAKE_PTR(summary->subject);
	message->html = TAKE_PTR(summary->html);
	message->text = TAKE_PTR(summary->text);
	message->message_id = TAKE_PTR(summary->message_id);
}

static bool is_visible(const struct addr *addr, const struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(addr->domain, list->items[i].domain) &&
			str_eq(addr->local, list->items[i].local))
			return true;
	return false;
}

/* Who gets the message without being named in it is a blind copy. */
static void add_blind(struct outgoing *outgoing)
{
	const struct mime_message *message = &outgoing->message;

	for (size_t i = 0; i < outgoing->envelope.n; i++) {
		const struct addr *addr = &outgoing->envelope.items[i];
		struct addr *copy;

		if (is_visible(addr, &message->to) ||
			is_visible(addr, &message->cc))
			continue;
		copy = mime_message_add_addr(&outgoing->bcc);
		copy->name = mem_strdup(addr->name);
		copy->local = mem_strdup(addr->local);
		copy->domain = mem_strdup(addr->domain);
	}
}

static int parse_envelope(const struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing,
	struct problem *problem)
{
	if (!form_text_given(form, "to"))
		return bad(problem, "to parameter is missing");
	if (form_text_addrs(form, "to", &outgoing->envelope, problem) < 0)
		return -1;
	if (outgoing->envelope.n == 0)
		return bad(problem, "to parameter is missing");
	return form_email_check_recipients(outgoing->envelope.n, rules, problem);
}

int form_email_parse_mime(struct form *form,
	const struct form_email_rules *rules, struct outgoing *outgoing_r,
	struct problem *problem)
{
	const struct form_field *file = form_next(form, "message", NULL);
	struct buf *content;
	struct mime_message *message = &outgoing_r->message;
	_cleanup_mime_summary_ struct mime_summary summary = {0};

	if (parse_envelope(form, rules, outgoing_r, problem) < 0)
		return -1;
	if (file == NULL)
		return bad(problem, "message parameter is missing");
	if (file->filename == NULL)
		return bad(problem, "'message' parameter is not a file");
	if (file->value.len == 0)
		return bad(problem, "message parameter is empty");
	mime_read(file->value.data, file->value.len, &summary);
	if (parse_from(&summary.from_fields, rules->domain, &message->from,
		    problem) < 0)
		return -1;
	describe(&summary, message);
	add_blind(outgoing_r);
	content = &form->fields[file - form->fields].value;
	outgoing_r->finished = *content;
	*content = BUF_INIT;
	return 0;
}
