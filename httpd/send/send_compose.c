/*
 * send_compose: makes the message and the row of an email.
 *
 * Threads: the worker's.
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/str.h"
#include "core/mail/html_text.h"
#include "core/mail/mime_build.h"
#include "core/mail/mime_edit.h"
#include "core/policy/recipient_set.h"
#include "core/policy/private_headers.h"
#include "httpd/base/worker.h"
#include "httpd/http/request.h"
#include "httpd/send/send_private.h"

static void add_recipients(struct strv *recipients, const struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		_cleanup_free_ char *address = addr_spec(&list->items[i]);

		if (!strv_has(recipients, address))
			strv_add(recipients, address);
	}
}

static void add_formatted(struct strv *to, const struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		strv_take(to, addr_format(&list->items[i]));
}

static char *text_or_empty(const char *text)
{
	return mem_strdup(text ? text : "");
}

static void fill_row(struct request *request, const struct outgoing *outgoing,
	struct email *row)
{
	const struct mime_message *message = &outgoing->message;
	const struct key *key = &request->admission.key;

	memcpy(row->company_id, key->company_id, ID_SIZE);
	memcpy(row->key_id, key->id, ID_SIZE);
	secret_ticket(row->ticket);
	row->domain = mem_strdup(message->from.domain);
	row->sender = addr_spec(&message->from);
	row->from = addr_format(&message->from);
	add_formatted(&row->to, &message->to);
	add_formatted(&row->cc, &message->cc);
	add_formatted(&row->bcc, &outgoing->bcc);
	add_formatted(&row->reply_to, &message->reply_to);
	row->subject = text_or_empty(message->subject);
	row->html = text_or_empty(message->html);
	row->text = text_or_empty(message->text);
	row->tags = mem_strdup(outgoing->tags);
	row->variables = mem_strdup(outgoing->variables);
	row->message_id = mem_strdup(message->message_id);
}

/* What the service adds to the email of the client. */
static void complete(struct outgoing *outgoing, const struct email *row)
{
	struct mime_message *message = &outgoing->message;

	message->date_us = row->created_us;
	if (message->message_id == NULL)
		message->message_id = mem_printf(
			"<%s@%s>", row->id, message->from.domain);
	if (str_empty(message->text) && message->html &&
		outgoing->finished.len == 0) {
		free(message->text);
		message->text = html_text(message->html);
	}
}

/* The message of a client that makes its own, with the ticket in front. */
static int edit(const struct outgoing *outgoing, const struct email *row,
	struct buf *message, struct err *err)
{
	char name[] = TICKET_HEADER;
	const struct header ticket = {name, (char *)row->ticket};
	const struct mime_edit edit = {
		.removes = mime_edit_is_private,
		.extra = &ticket,
		.extra_n = 1,
		.message_id = row->message_id,
		.date_us = row->created_us,
	};

	return mime_edit(outgoing->finished.data, outgoing->finished.len, &edit,
		message, err);
}

static int build(const struct outgoing *outgoing, const struct email *row,
	struct buf *message, struct err *err)
{
	if (outgoing->finished.len > 0)
		return edit(outgoing, row, message, err);
	buf_printf(message, "%s: %s\n", TICKET_HEADER, row->ticket);
	return mime_build(&outgoing->message, message, err);
}

static int build_within_limit(struct request *request,
	const struct outgoing *outgoing, struct composed *composed,
	struct problem *problem)
{
	int64_t limit = worker_message_limit(request->worker);
	struct err err = ERR_INIT;

	if (build(outgoing, &composed->row, &composed->message, &err) < 0) {
		if (err.code == ERR_INTERNAL)
			log_error(request->worker->log, "compose_failed",
				"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	if ((int64_t)composed->message.len > limit)
		return problem_set(problem, PROBLEM_TOO_LARGE,
			"message size exceeds %" PRId64 " MiB limit "
			"(%zu of %" PRId64 " bytes)",
			limit / (1024 * 1024), composed->message.len, limit);
	return 0;
}

static void fill_recipients(
	const struct outgoing *outgoing, struct strv *recipients)
{
	if (outgoing->finished.len > 0) {
		add_recipients(recipients, &outgoing->envelope);
		return;
	}
	add_recipients(recipients, &outgoing->message.to);
	add_recipients(recipients, &outgoing->message.cc);
	add_recipients(recipients, &outgoing->bcc);
}

int send_compose(struct request *request, struct outgoing *outgoing,
	struct composed *composed_r, struct problem *problem)
{
	complete(outgoing, &composed_r->row);
	fill_row(request, outgoing, &composed_r->row);
	fill_recipients(outgoing, &composed_r->recipients);
	if (!request->worker->shared->any_recipients)
		composed_r->row.recipients = recipient_set_of(
			&composed_r->recipients);
	return build_within_limit(request, outgoing, composed_r, problem);
}

void send_composed_clear(struct composed *composed)
{
	store_email_clear(&composed->row);
	strv_free(&composed->recipients);
	buf_free(&composed->message);
}
