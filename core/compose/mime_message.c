/*
 * mime_message: the parts of an email, before it is a message.
 *
 * Threads: any; one message belongs to one thread at a time.
 */
#include "core/compose/mime_message.h"

#include <string.h>

#include "core/base/mem.h"

struct header *mime_message_add_header(struct mime_message *message)
{
	message->headers = mem_append(message->headers, message->headers_n,
		sizeof(*message->headers));
	return &message->headers[message->headers_n++];
}

struct attachment *mime_message_add_attachment(struct mime_message *message)
{
	message->attachments = mem_append(message->attachments,
		message->attachments_n, sizeof(*message->attachments));
	return &message->attachments[message->attachments_n++];
}

void mime_message_clear(struct mime_message *message)
{
	addr_clear(&message->from);
	addr_list_clear(&message->to);
	addr_list_clear(&message->cc);
	addr_list_clear(&message->reply_to);
	free(message->subject);
	free(message->html);
	free(message->text);
	for (size_t i = 0; i < message->headers_n; i++) {
		free(message->headers[i].name);
		free(message->headers[i].value);
	}
	free(message->headers);
	for (size_t i = 0; i < message->attachments_n; i++) {
		struct attachment *attachment = &message->attachments[i];

		free(attachment->filename);
		free(attachment->content_type);
		free(attachment->content_id);
		buf_free(&attachment->content);
	}
	free(message->attachments);
	free(message->message_id);
	*message = (struct mime_message){0};
}
