/*
 * mime_fields: the header of a message (RFC 5322 3.6), folded and encoded, without the fields
 * that describe its content.
 */
#ifndef POSTERN_COMPOSE_MIME_FIELDS_H
#define POSTERN_COMPOSE_MIME_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/span.h"
#include "core/compose/mime_message.h"

/* Bytes of a field with its name and line ends. If any milter is used, Postfix silently cuts a
 * longer field between two lines. */
enum { MIME_FIELDS_MAX = 60000 };

/* The limit for this field: MIME_FIELDS_MAX, or less if the field names a sender, because the
 * milter keeps 32 KiB of From fields, and of the others together. */
size_t mime_fields_max(const char *name);

/* Checks the header as a whole: the milter refuses one with too many senders (addr_header.h),
 * and Postfix one with too many Received fields (hopcount_limit), of which it adds one itself.
 * Returns 0, or -1 with ERR_INVALID. */
enum { MIME_FIELDS_HOPS_MAX = 48 };
int mime_fields_check_all(struct span header, struct err *err);

/* Appends the fields of MIME_MESSAGE_MEMBERS, then Date, Message-ID, MIME-Version and the
 * custom fields that are not reserved. ERR_INVALID names a field that cannot be in a message or
 * that Postfix would change (addr_field.h). */
int mime_fields_add(struct buf *out, const struct mime_message *message, struct err *err);

/* Appends the message's Reply-To and custom fields that are missing in the header of a finished
 * message. ERR_INVALID as above. */
int mime_fields_add_missing(
	struct buf *out, const struct mime_message *message, struct span header, struct err *err);

#endif
