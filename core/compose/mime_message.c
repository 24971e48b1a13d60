/*
 * mime_message: the parts of an email before it is composed.
 *
 * Threads: any; a message is used by one thread at a time.
 */
#include "core/compose/mime_message.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* The allocator's overhead per block. */
enum { BLOCK = 32 };

#define MEMBER(type_, member_, field_) MIME_MEMBER(mime_message, type_, member_, field_),
const struct mime_member mime_message_members[MIME_MESSAGE_N] = {MIME_MESSAGE_MEMBERS(MEMBER)};

static uint64_t text_size(const char *text)
{
	return text ? strlen(text) + BLOCK : 0;
}

static uint64_t addr_size(const struct addr *addr)
{
	return text_size(addr->name) + text_size(addr->local) + text_size(addr->domain);
}

uint64_t mime_member_size(const struct mime_member *member, const void *object)
{
	const void *at = (const char *)object + member->offset;
	uint64_t bytes = 0;

	switch (member->kind) {
	case MIME_ADDR:
		return addr_size(at);
	case MIME_TEXT:
		return text_size(*(char *const *)at);
	case MIME_BYTES:
		return ((const struct buf *)at)->len;
	case MIME_ADDRS: {
		const struct addr_list *list = at;

		for (size_t i = 0; i < list->n; i++)
			bytes += sizeof(list->items[i]) + addr_size(&list->items[i]);
		return bytes;
	}
	case MIME_HEADERS: {
		const struct header_list *list = at;

		for (size_t i = 0; i < list->n; i++)
			bytes += sizeof(list->items[i]) + text_size(list->items[i].name) +
				 text_size(list->items[i].value);
		return bytes;
	}
	case MIME_ATTACHMENTS: {
		const struct attachment_list *list = at;

		for (size_t i = 0; i < list->n; i++)
			bytes += sizeof(list->items[i]) + text_size(list->items[i].filename) +
				 text_size(list->items[i].content_type) +
				 text_size(list->items[i].content_id) + list->items[i].content.len +
				 BLOCK;
		return bytes;
	}
	}
	return 0;
}

static void header_list_clear(struct header_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].name);
		free(list->items[i].value);
	}
	free(list->items);
	*list = (struct header_list){0};
}

static void attachment_list_clear(struct attachment_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].filename);
		free(list->items[i].content_type);
		free(list->items[i].content_id);
		buf_free(&list->items[i].content);
	}
	free(list->items);
	*list = (struct attachment_list){0};
}

void mime_member_clear(const struct mime_member *member, void *object)
{
	void *at = (char *)object + member->offset;

	switch (member->kind) {
	case MIME_ADDR:
		addr_clear(at);
		break;
	case MIME_ADDRS:
		addr_list_clear(at);
		break;
	case MIME_TEXT:
		free(*(char **)at);
		*(char **)at = NULL;
		break;
	case MIME_HEADERS:
		header_list_clear(at);
		break;
	case MIME_ATTACHMENTS:
		attachment_list_clear(at);
		break;
	case MIME_BYTES:
		buf_free(at);
		break;
	}
}

const struct header *mime_message_header(const struct mime_message *message, const char *name)
{
	for (size_t i = 0; i < message->headers.n; i++)
		if (str_eq_nocase(message->headers.items[i].name, name))
			return &message->headers.items[i];
	return NULL;
}

struct header *mime_message_add_header(struct mime_message *message)
{
	struct header_list *list = &message->headers;

	list->items = mem_append(list->items, list->n, sizeof(*list->items));
	return &list->items[list->n++];
}

struct attachment *mime_message_add_attachment(struct mime_message *message)
{
	struct attachment_list *list = &message->attachments;

	list->items = mem_append(list->items, list->n, sizeof(*list->items));
	return &list->items[list->n++];
}

char **mime_message_text(const struct mime_message *message, size_t i)
{
	const struct mime_member *member = &mime_message_members[i];

	return member->kind == MIME_TEXT ? (char **)((char *)message + member->offset) : NULL;
}

void mime_message_copy_texts(const struct mime_message *from, struct mime_message *to_r)
{
	*to_r = *from;
	for (size_t i = 0; i < MIME_MESSAGE_N; i++) {
		char **text = mime_message_text(to_r, i);

		if (text)
			*text = mem_strdup(*text);
	}
	to_r->headers = (struct header_list){0};
	for (size_t i = 0; i < from->headers.n; i++) {
		struct header *copy = mime_message_add_header(to_r);

		copy->name = mem_strdup(from->headers.items[i].name);
		copy->value = mem_strdup(from->headers.items[i].value);
	}
}

void mime_message_clear_texts(struct mime_message *message)
{
	for (size_t i = 0; i < MIME_MESSAGE_N; i++)
		if (mime_message_members[i].kind == MIME_TEXT ||
			mime_message_members[i].kind == MIME_HEADERS)
			mime_member_clear(&mime_message_members[i], message);
	*message = (struct mime_message){0};
}

void mime_message_clear(struct mime_message *message)
{
	for (size_t i = 0; i < MIME_MESSAGE_N; i++)
		mime_member_clear(&mime_message_members[i], message);
	*message = (struct mime_message){0};
}
