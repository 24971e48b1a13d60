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

struct header {
	char *name;
	char *value; /* UTF-8 */
};

struct header_list {
	struct header *items;
	size_t n;
};

struct attachment {
	char *filename;     /* UTF-8, never NULL */
	char *content_type; /* `type/subtype`; NULL: guessed from filename */
	char *content_id;   /* without <>; makes it inline when there is html */
	struct buf content;
};

struct attachment_list {
	struct attachment *items;
	size_t n;
};

/* All that a message owns: type, member, and the header field that it makes
 * (NULL: none, or one that mime_fields writes in its own way), in the order of
 * the header. By this table the members are declared, written, counted, copied
 * and freed.
 *
 * To comes last of the addresses: cleanup(8) remembers the address that it has
 * rewritten last, and the milter adds the recipients next. A text is UTF-8, and
 * NULL or "" when there is none. */
#define MIME_MESSAGE_MEMBERS(MEMBER)                                                               \
	MEMBER(struct addr, from, "From")                                                          \
	MEMBER(struct addr_list, reply_to, "Reply-To")                                             \
	MEMBER(struct addr_list, cc, "Cc")                                                         \
	MEMBER(struct addr_list, to, "To")                                                         \
	MEMBER(char *, subject, "Subject")                                                         \
	MEMBER(char *, message_id, NULL) /* with <> */                                             \
	MEMBER(struct header_list, headers, NULL)                                                  \
	MEMBER(char *, html, NULL)                                                                 \
	MEMBER(char *, text, NULL)                                                                 \
	MEMBER(struct attachment_list, attachments, NULL)

#define MIME_DECLARE(type_, member_, field_) type_ member_;
struct mime_message {
	MIME_MESSAGE_MEMBERS(MIME_DECLARE)
	int64_t date_us;
};

/* How such tables are read, also those of structs that hold a message. */
enum mime_kind { MIME_ADDR, MIME_ADDRS, MIME_TEXT, MIME_HEADERS, MIME_ATTACHMENTS, MIME_BYTES };

struct mime_member {
	const char *name;
	const char *field;
	enum mime_kind kind;
	size_t offset;
};
/* A row, for a type of the kinds alone: of another it does not compile. */
#define MIME_MEMBER(struct_, type_, member_, field_)                                               \
	{                                                                                          \
		.name = #member_, .field = (field_),                           \
		.kind = _Generic((type_ *)NULL, struct addr *: MIME_ADDR,      \
			struct addr_list *: MIME_ADDRS, char **: MIME_TEXT,    \
			struct header_list *: MIME_HEADERS,                    \
			struct attachment_list *: MIME_ATTACHMENTS,            \
			struct buf *: MIME_BYTES),                             \
		.offset = offsetof(struct struct_, member_)                   \
	}

#define MIME_COUNT(type_, member_, field_) +1
enum { MIME_MESSAGE_N = 0 MIME_MESSAGE_MEMBERS(MIME_COUNT) };
extern const struct mime_member mime_message_members[MIME_MESSAGE_N];

/* The bytes that a member of the object holds, about; and frees and zeroes it. */
uint64_t mime_member_size(const struct mime_member *member, const void *object);
void mime_member_clear(const struct mime_member *member, void *object);

/* Each grows a list by one zeroed element and returns it; the pointer is good
 * until the list grows again. */
struct header *mime_message_add_header(struct mime_message *message);
struct attachment *mime_message_add_attachment(struct mime_message *message);

/* The text that is member i of the table, NULL when that is of another kind. As
 * with strchr(), const is lost. */
char **mime_message_text(const struct mime_message *message, size_t i);

/* Makes *to_r a message with texts and headers of its own, which shares
 * mailboxes and attachments with `from`. It is ended with
 * mime_message_clear_texts(), before `from` is. */
void mime_message_copy_texts(const struct mime_message *from, struct mime_message *to_r);
void mime_message_clear_texts(struct mime_message *message);

/* Frees all that the message holds and zeroes it. */
void mime_message_clear(struct mime_message *message);
#define _cleanup_mime_message_ __attribute__((cleanup(mime_message_clear)))

#endif
