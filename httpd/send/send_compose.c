/*
 * send_compose: makes the messages and rows of the emails of a group, one after the other.
 *
 *   send_compose_group ─(pool, if it may take long)─> compose_some ─> done
 *
 * The memory of an email is counted before it is made, by an estimate, which is corrected
 * afterwards.
 *
 * Threads: the worker's, or one of the pool, which alone has the group then.
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/html/html_text.h"
#include "core/compose/mime_build.h"
#include "core/compose/mime_edit.h"
#include "core/policy/ticket.h"
#include "httpd/worker/worker.h"
#include "httpd/admission/admission.h"
#include "httpd/send/send_group.h"

/* The most emails, and bytes of all of them, that are composed on the worker's loop. */
enum { COMPOSE_ON_LOOP_EMAILS = 16, COMPOSE_ON_LOOP_BYTES = 16 * 1024 };

/* How long a thread of the pool composes before other work has its turn. */
enum { TURN_US = 20 * 1000 };

/* The overhead of a message, and of each of its parts. */
enum { MESSAGE_EXTRA = 4096 };

/* Keeps the display name, if there is one. If the client made the message itself, only those of
 * its header who are in the envelope get it. */
static void add_recipients(struct recipients *recipients, enum recipient_kind kind,
	const struct addr_list *list, const struct draft *draft)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];
		char *address = addr_spec(addr);
		char *mailbox = addr_format(addr);
		bool wanted = draft->finished.len == 0 || addr_list_has(&draft->envelope, addr);

		if (str_eq(mailbox, address)) {
			free(mailbox);
			mailbox = NULL;
		}
		recipients_add(recipients, kind, address, mailbox, wanted);
	}
}

static void fill_row(const struct key *key, const struct draft *draft, struct email *row)
{
	const struct mime_message *message = &draft->message;

	memcpy(row->company_id, key->company_id, ID_SIZE);
	memcpy(row->key_id, key->id, ID_SIZE);
	secret_ticket(row->ticket);
	secret_ticket(row->nonce);
	row->domain = mem_strdup(message->from.domain);
	row->sender = addr_spec(&message->from);
	row->from = addr_format(&message->from);
	add_recipients(&row->recipients, RECIPIENT_TO, &message->to, draft);
	add_recipients(&row->recipients, RECIPIENT_CC, &message->cc, draft);
	add_recipients(&row->recipients, RECIPIENT_BCC, &draft->bcc, draft);
	for (size_t i = 0; i < message->reply_to.n; i++)
		strv_take(&row->reply_to, addr_format(&message->reply_to.items[i]));
	row->subject = mem_strdup(message->subject ? message->subject : "");
	row->tags = mem_strdup(draft->tags);
	row->variables = mem_strdup(draft->variables);
	row->message_id = mem_strdup(message->message_id);
	row->scheduled_us = draft->test ? 0 : draft->scheduled_us;
}

/* Makes the message, and the row, of which id and created_us are set. */
static int make_message(struct send_group *group, struct draft *draft, struct composed *composed_r,
	struct problem *problem)
{
	struct mime_message *message = &draft->message;
	struct email *row = &composed_r->row;
	int64_t limit = group->admission->limits.message;
	struct err err = ERR_INIT;
	int result;

	message->date_us = row->created_us;
	if (message->message_id == NULL)
		message->message_id = mem_printf("<%s@%s>", row->id, message->from.domain);
	fill_row(&group->admission->key, draft, row);
	buf_printf(&composed_r->message, TICKET_TRACE_FIELD ": %s\n" TICKET_NONCE_FIELD ": %s\n",
		row->id, row->nonce);
	if (draft->finished.len > 0)
		result = mime_edit(draft->finished.data, draft->finished.len,
			&(const struct mime_edit){
				.removes = mime_edit_is_private,
				.message_id = row->message_id,
				.date_us = row->created_us,
				.given = message,
			},
			&composed_r->message, &err);
	else
		result = mime_build(message, &composed_r->message, &err);
	if (result < 0) {
		if (err.code == ERR_INTERNAL)
			log_error(group->worker->log, "compose_failed", "request",
				group->request_id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	if ((int64_t)composed_r->message.len > limit)
		return problem_set(problem, PROBLEM_TOO_LARGE,
			"message size exceeds %" PRId64
			" MiB limit "
			"(%zu of %" PRId64 " bytes)",
			limit / (1024 * 1024), composed_r->message.len, limit);
	return 0;
}

static int count_bytes(struct send_group *group, uint64_t bytes)
{
	return admission_count_bytes(group->worker, group->admission, bytes, &group->problem);
}

static void uncount_bytes(struct send_group *group, uint64_t bytes)
{
	budget_uncount_bytes(&group->admission->share, bytes);
}

static uint64_t body_size(const struct draft *draft)
{
	const char *html = draft->message.html;
	const char *text = draft->message.text;

	return (html ? strlen(html) : 0) + (text ? strlen(text) : 0);
}

/* Makes the text of an email that has only html, and adds its size to bytes. */
static int make_text(struct send_group *group, struct draft *draft, uint64_t *bytes)
{
	struct mime_message *message = &draft->message;
	uint64_t most;

	if (!str_empty(message->text) || message->html == NULL || draft->finished.len > 0)
		return 0;
	/* libxml2 reads a copy of the html. */
	most = 2 * HTML_TEXT_GROWTH * strlen(message->html) + MESSAGE_EXTRA;
	if (count_bytes(group, most) < 0)
		return -1;
	free(message->text);
	message->text = html_text(message->html);
	draft->text_made = true;
	uncount_bytes(group, most - strlen(message->text));
	*bytes += strlen(message->text);
	return 0;
}

/* *bytes are those charged for the draft, from which what moves into the row is subtracted. */
static void compose_email(struct send_email *email, struct draft *draft, uint64_t *bytes)
{
	struct send_group *group = email->group;
	struct mime_message *message = &draft->message;
	struct email *row = &email->composed.row;
	uint64_t body, rest, most, made;

	if (draft->scheduled_us > 0 && draft->scheduled_us <= group->created_us) {
		problem_fixed(&email->result->problem, PROBLEM_SCHEDULED_BEFORE);
		email->end = SEND_BAD;
		return;
	}
	if (make_text(group, draft, bytes) < 0)
		return;
	/* The body moves from the draft into the row; everything else is in both; and a transfer
	 * encoding makes four bytes of three, plus line breaks. */
	body = body_size(draft);
	rest = draft_text_size(draft) - body;
	most = 5 * rest + (body + draft_files_size(draft)) * 11 / 8 + MESSAGE_EXTRA;
	made = 2 * rest;
	if (count_bytes(group, most) < 0)
		return;
	email->test = draft->test;
	memcpy(row->id, email->result->id, ID_SIZE);
	row->created_us = group->created_us;
	if (make_message(group, draft, &email->composed, &email->result->problem) < 0)
		email->end = SEND_BAD;
	else
		email->result->message_id = row->message_id;
	*bytes -= body;
	row->html = message->html ? TAKE_PTR(message->html) : mem_strdup("");
	row->text = message->text ? TAKE_PTR(message->text) : mem_strdup("");
	made += email->composed.message.len;
	if (made < most)
		uncount_bytes(group, most - made);
}

/* With recipient variables. */
static void compose_personal(struct send_email *email, size_t i)
{
	struct send_group *group = email->group;
	const struct send_personal *personal = group->personal;
	uint64_t bytes = personal->size(personal, group->draft, i);
	struct draft draft = {0};

	if (count_bytes(group, bytes) < 0)
		return;
	if (personal->make(personal, group->draft, i, &draft, &email->result->problem) < 0)
		email->end = SEND_BAD;
	else
		compose_email(email, &draft, &bytes);
	personal->clear(&draft);
	uncount_bytes(group, bytes);
}

/* Composes for a turn; true when all are done. At the end the drafts, and what was counted for
 * them, are gone. */
static bool compose_some(struct work *work)
{
	struct send_group *group = CONTAINER_OF(work, struct send_group, work);
	int64_t began_us = clock_monotonic_us();

	if (group->personal && group->composed_n == 0 &&
		group->personal->same_html(group->personal, group->draft))
		make_text(group, group->draft, &group->draft_bytes);
	while (group->composed_n < group->n && group->problem.kind == PROBLEM_NONE) {
		size_t i = group->composed_n;
		struct send_email *email = &group->emails[i];

		if (clock_monotonic_us() - began_us > TURN_US)
			return false;
		group->composed_n++;
		if (email->end == SEND_OPEN && group->personal)
			compose_personal(email, i);
		else if (email->end == SEND_OPEN)
			compose_email(email, &group->draft[i], &group->draft_bytes);
		if (!group->personal)
			draft_clear(&group->draft[i]);
	}
	if (group->personal)
		draft_clear(&group->draft[0]);
	uncount_bytes(group, group->draft_bytes);
	budget_trim(&group->admission->share, 0);
	return true;
}

void send_compose_group(struct send_group *group, void (*done)(struct task *task))
{
	uint64_t each = group->personal ? group->n : 1, bytes = 0;

	for (size_t i = 0; i < send_group_drafts(group); i++)
		bytes += draft_text_size(&group->draft[i]) + draft_files_size(&group->draft[i]);
	group->work = (struct work){
		.done = {.run = done},
		.tasks = group->worker->tasks,
		.company_id = group->admission->key.company_id,
		.run = compose_some,
	};
	group->draft_bytes = bytes;
	if (count_bytes(group, bytes) < 0) {
		group->draft_bytes = 0;
		done(&group->work.done);
	} else if (group->n > COMPOSE_ON_LOOP_EMAILS || bytes * each > COMPOSE_ON_LOOP_BYTES) {
		work_pool_submit(group->worker->shared->pool, &group->work);
	} else {
		while (!compose_some(&group->work))
			continue;
		done(&group->work.done);
	}
}
