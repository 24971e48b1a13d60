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

/* Whether the header as a whole passes: the milter refuses one with too many
 * senders (addr_header.h), and Postfix one with too many Received fields
 * (hopcount_limit), of which it adds one itself. ERR_INVALID. */
enum { MIME_FIELDS_HOPS_MAX = 48 };
int mime_fields_check_all(struct span header, struct err *err);

/* Appends the fields of MIME_MESSAGE_MEMBERS, then Date, Message-ID,
 * MIME-Version and the custom fields, of which reserved ones are left out.
 * ERR_INVALID names the field that cannot stand in a message, or that Postfix
 * would change (addr_field.h). */
int mime_fields_add(struct buf *out, const struct mime_message *message, struct err *err);

/* Appends of the message's Reply-To and custom fields those that the header, of
 * a message that somebody else finished, has not. ERR_INVALID likewise. */
int mime_fields_add_missing(
	struct buf *out, const struct mime_message *message, struct span header, struct err *err);

#endif
