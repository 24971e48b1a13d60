/*
 * mime_message: the parts of an email, before it is a message.
 *
 * Lists grow by doubling: their capacity is the power of two at or above n, so
 * that it needs no field of its own.
 *
 * Threads: any; one message belongs to one thread at a time.
 */
#include "core/compose/mime_message.h"

#include <string.h>

#include "core/base/mem.h"

/* Makes room for one more element where n of them fill the block; the new one
 * is zeroed. Returns the block. */
static void *grow_by_one(void *items, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0)
		items = mem_grow(items, n ? n * 2 : 1, size);
	memset((char *)items + n * size, 0, size);
	return items;
}

struct header *mime_message_add_header(struct mime_message *message)
{
	message->headers = grow_by_one(message->headers, message->headers_n,
		sizeof(*message->headers));
	return &message->headers[message->headers_n++];
}

struct attachment *mime_message_add_attachment(struct mime_message *message)
{
	message->attachments = grow_by_one(message->attachments,
		message->attachments_n, sizeof(*message->attachments));
	return &message->attachments[message->attachments_n++];
}

struct addr *mime_message_add_addr(struct addr_list *list)
{
	list->items = grow_by_one(list->items, list->n, sizeof(*list->items));
	return &list->items[list->n++];
}

static void clear_list(struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		addr_clear(&list->items[i]);
	free(list->items);
}

static void clear_headers(struct mime_message *message)
{
	for (size_t i = 0; i < message->headers_n; i++) {
		free(message->headers[i].name);
		free(message->headers[i].value);
	}
	free(message->headers);
}

static void clear_attachments(struct mime_message *message)
{
	for (size_t i = 0; i < message->attachments_n; i++) {
		struct attachment *attachment = &message->attachments[i];

		free(attachment->filename);
		free(attachment->content_type);
		free(attachment->content_id);
		buf_free(&attachment->content);
	}
	free(message->attachments);
}

void mime_message_clear(struct mime_message *message)
{
	addr_clear(&message->from);
	clear_list(&message->to);
	clear_list(&message->cc);
	clear_list(&message->reply_to);
	free(message->subject);
	free(message->html);
	free(message->text);
	clear_headers(message);
	clear_attachments(message);
	free(message->message_id);
	*message = (struct mime_message){0};
}
