/*
 * mime_message: the parts of an email, before it is a message.
 *
 * Plain data; who fills it owns it and frees it with mime_message_clear().
 * Starts zeroed.
 */
#ifndef POSTERN_COMPOSE_MIME_MESSAGE_H
#define POSTERN_COMPOSE_MIME_MESSAGE_H

#include <stdint.h>

#include "core/address/addr.h"
#include "core/base/buf.h"

struct attachment {
	char *filename;     /* UTF-8, never NULL */
	char *content_type; /* `type/subtype`; NULL: guessed from filename */
	char *content_id;   /* without <>; makes it inline when there is html */
	struct buf content;
};

struct header {
	char *name;
	char *value; /* UTF-8 */
};

struct mime_message {
	struct addr from;
	struct addr_list to;
	struct addr_list cc;
	struct addr_list reply_to;
	char *subject; /* NULL or "": no Subject field */
	char *html;    /* NULL or "": no such part; the same for text */
	char *text;
	struct header *headers;
	size_t headers_n;
	struct attachment *attachments;
	size_t attachments_n;
	char *message_id; /* with <> */
	int64_t date_us;
};

/* Each grows a list by one zeroed element and returns it; the pointer is good
 * until the list grows again. */
struct header *mime_message_add_header(struct mime_message *message);
struct attachment *mime_message_add_attachment(struct mime_message *message);

/* Frees all that the message holds and zeroes it. */
void mime_message_clear(struct mime_message *message);
#define _cleanup_mime_message_ __attribute__((cleanup(mime_message_clear)))

#endif
