/*
 * outgoing: an email that a client wants sent.
 *
 * Threads: any; holds no state.
 */
#include "httpd/send/outgoing.h"

#include "core/base/mem.h"

static void clear_addrs(struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		addr_clear(&list->items[i]);
	free(list->items);
}

void outgoing_clear(struct outgoing *outgoing)
{
	mime_message_clear(&outgoing->message);
	clear_addrs(&outgoing->bcc);
	clear_addrs(&outgoing->envelope);
	buf_free(&outgoing->finished);
	free(outgoing->tags);
	free(outgoing->variables);
	*outgoing = (struct outgoing){0};
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

void outgoing_copy_for(const struct outgoing *outgoing, size_t recipient,
	struct outgoing *copy)
{
	const struct mime_message *from = &outgoing->message;
	struct mime_message *to = &copy->message;
	const struct addr_list one = {&from->to.items[recipient], 1};

	to->from.name = mem_strdup(from->from.name);
	to->from.local = mem_strdup(from->from.local);
	to->from.domain = mem_strdup(from->from.domain);
	copy_addrs(&one, &to->to);
	copy_addrs(&from->cc, &to->cc);
	copy_addrs(&from->reply_to, &to->reply_to);
	copy_addrs(&outgoing->bcc, &copy->bcc);
	to->subject = mem_strdup(from->subject);
	to->html = mem_strdup(from->html);
	to->text = mem_strdup(from->text);
	to->message_id = mem_strdup(from->message_id);
	copy_headers(from, to);
	copy_attachments(from, to);
	copy->tags = mem_strdup(outgoing->tags);
	copy->variables = mem_strdup(outgoing->variables);
	copy->test = outgoing->test;
}
