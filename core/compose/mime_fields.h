/*
 * mime_fields: the header of a message (RFC 5322 3.6), folded and encoded, but
 * for the fields of its content.
 */
#ifndef POSTERN_COMPOSE_MIME_FIELDS_H
#define POSTERN_COMPOSE_MIME_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/span.h"
#include "core/compose/mime_message.h"

/* Bytes of a field with its name and line ends. With a milter, whichever,
 * Postfix cuts a longer one between two lines, without a word. */
enum { MIME_FIELDS_MAX = 60000 };

/* What this field may have: MIME_FIELDS_MAX, or less where the field names a
 * sender: the milter reads 32 KiB of From, and of the others together. */
size_t mime_fields_max(const char *name);

/* Words and separators of a field with addresses, as RFC 822 3.3 has them: when
 * cleanup(8) rewrites an address it drops what is behind so many, without a
 * word either (header_address_token_limit). */
enum { MIME_FIELDS_TOKENS_MAX = 10240 };

/* Whether it reads all of the value; true for a field that has no addresses. */
bool mime_fields_all_read(const char *name, struct span value);

/* Appends the fields of MIME_MESSAGE_MEMBERS, then Date, Message-ID,
 * MIME-Version and the custom fields, of which reserved ones are left out.
 * ERR_INVALID names the field that cannot stand in a message. */
int mime_fields_add(
	struct buf *out, const struct mime_message *message, struct err *err);

#endif
