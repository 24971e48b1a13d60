/*
 * outgoing: an email that a client wants sent.
 */
#include "httpd/send/outgoing.h"

#include <string.h>

#include "core/base/mem.h"

/* What the allocator needs for a block besides, and rounds up. */
enum { BLOCK = 32 };

void outgoing_clear(struct outgoing *outgoing)
{
	mime_message_clear(&outgoing->message);
	addr_list_clear(&outgoing->bcc);
	addr_list_clear(&outgoing->envelope);
	buf_free(&outgoing->finished);
	free(outgoing->tags);
	free(outgoing->variables);
	*outgoing = (struct outgoing){0};
}

static uint64_t size_of(const char *text)
{
	return text ? strlen(text) + BLOCK : 0;
}

static uint64_t size_of_addrs(const struct addr_list *list)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < list->n; i++)
		bytes += sizeof(list->items[i]) + size_of(list->items[i].name) +
			 size_of(list->items[i].local) +
			 size_of(list->items[i].domain);
	return bytes;
}

uint64_t outgoing_files_size(const struct outgoing *outgoing)
{
	const struct mime_message *message = &outgoing->message;
	uint64_t bytes = outgoing->finished.len;

	for (size_t i = 0; i < message->attachments_n; i++)
		bytes += sizeof(message->attachments[i]) + 4 * BLOCK +
			 message->attachments[i].content.len;
	return bytes;
}

uint64_t outgoing_text_size(const struct outgoing *outgoing)
{
	const struct mime_message *message = &outgoing->message;
	uint64_t bytes = size_of(message->subject) + size_of(message->html) +
			 size_of(message->text) + size_of(message->message_id);

	for (size_t i = 0; i < message->headers_n; i++)
		bytes += sizeof(message->headers[i]) +
			 size_of(message->headers[i].name) +
			 size_of(message->headers[i].value);
	return bytes + size_of_addrs(&message->to) +
	       size_of_addrs(&message->cc) + size_of_addrs(&message->reply_to) +
	       size_of_addrs(&outgoing->bcc) +
	       size_of_addrs(&outgoing->envelope) + size_of(outgoing->tags) +
	       size_of(outgoing->variables);
}

const struct problem *send_first_problem(const struct send_outcome *outcome)
{
	if (outcome->problem)
		return outcome->problem;
	for (size_t i = 0; i < outcome->n; i++)
		if (outcome->results[i].problem.kind != PROBLEM_NONE)
			return &outcome->results[i].problem;
	return NULL;
}
