/*
 * mime_fields: the fields of a message's header, but for those of its content.
 */
#ifndef POSTERN_MAIL_MIME_FIELDS_H
#define POSTERN_MAIL_MIME_FIELDS_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/mail/mime_message.h"

/* Appends From, To, Cc, Reply-To, Subject, Date, Message-ID, MIME-Version and
 * the custom fields, of which reserved ones are left out. ERR_INVALID names
 * the field that cannot stand in a message. */
int mime_fields_add(
	struct buf *out, const struct mime_message *message, struct err *err);

#endif
