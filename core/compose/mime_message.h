/*
 * mime_message: the parts of an email before it is composed.
 *
 * Plain data, initialized with zeros. The owner frees it with mime_message_clear().
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
	char *content_id;   /* without <>; makes the attachment inline if there is HTML */
	struct buf content;
};

struct attachment_list {
	struct attachment *items;
	size_t n;
};

/* The members of a message: type, name, and the header field written from it (NULL: none, or
 * one that mime_fields writes specially), in header order. The members are declared, written,
 * counted, copied and freed by this table.
 *
 * To is last of the addresses, because cleanup(8) remembers the address that it rewrote last,
 * and the milter adds the recipients next. A text is UTF-8; NULL or "" means none. */
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

/* Table rows, also used for structs that contain a message. */
enum mime_kind { MIME_ADDR, MIME_ADDRS, MIME_TEXT, MIME_HEADERS, MIME_ATTACHMENTS, MIME_BYTES };

struct mime_member {
	const char *name;
	const char *field;
	enum mime_kind kind;
	size_t offset;
};
/* A table row. Other types than those listed do not compile. */
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

/* mime_member_size() returns the approximate memory of a member in bytes; mime_member_clear()
 * frees and zeroes it. */
uint64_t mime_member_size(const struct mime_member *member, const void *object);
void mime_member_clear(const struct mime_member *member, void *object);

/* Returns the first custom field of this name, ignoring case; NULL: there is none. */
const struct header *mime_message_header(const struct mime_message *message, const char *name);

/* Append a zeroed element and return it. The pointer is valid until the list grows again. */
struct header *mime_message_add_header(struct mime_message *message);
struct attachment *mime_message_add_attachment(struct mime_message *message);

/* Returns the text that is member i of the table; NULL if it has another type. Like strchr(),
 * it drops const. */
char **mime_message_text(const struct mime_message *message, size_t i);

/* Makes *to_r a copy with its own texts and headers that shares mailboxes and attachments with
 * `from`. Free it with mime_message_clear_texts() before `from`. */
void mime_message_copy_texts(const struct mime_message *from, struct mime_message *to_r);
void mime_message_clear_texts(struct mime_message *message);

/* Frees everything that the message owns and zeroes it. */
void mime_message_clear(struct mime_message *message);
#define _cleanup_mime_message_ __attribute__((cleanup(mime_message_clear)))

#endif
