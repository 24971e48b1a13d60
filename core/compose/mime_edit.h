/*
 * mime_edit: changes as little as possible in a message that a client has finished.
 *
 * Its bytes pass unchanged, except:
 *  - Line ends become LF, as sendmail(1) expects: an LF with any number of CRs directly before it.
 *    A CR elsewhere in the body stays; Postfix decides about it.
 *  - A leading mbox line, `From ...` or `>From ...`, is removed.
 *  - Fields that the predicate names are removed with all their folded lines.
 *  - Message-ID is put in front if it is missing or is not the email's, and another one is
 *    removed, because the milter identifies the message by it.
 *  - Date is put in front if it is missing or blank.
 *  - The given Reply-To and custom fields are put in front if the message has none of that name.
 *  - The header ends where Postfix sees its end: at the empty line, or at the first line that is
 *    not a field, before which an empty line is inserted. So every later reader sees the same
 *    header.
 */
#ifndef POSTERN_COMPOSE_MIME_EDIT_H
#define POSTERN_COMPOSE_MIME_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct mime_message;

struct mime_edit {
	/* Returns true if the field must be removed; NULL: none is. The name has no blanks or
	 * colon and keeps the client's case. */
	bool (*removes)(const char *name);
	const char *message_id; /* the email's, with <> */
	int64_t date_us;        /* for a message without a Date */
	int64_t old_date_us;    /* a Date of exactly this time is removed and replaced; 0: none */
	/* Source of Reply-To and custom fields to add; NULL: none. */
	const struct mime_message *given;
};

/* Appends the edited message. On error out is unchanged. ERR_INVALID if the header has a NUL or
 * a CR that does not end a line, which readers interpret differently; if a field exceeds
 * MIME_FIELDS_MAX, also in a part or an attached message; if Postfix would misread or rewrite
 * an address field (addr_field.h), which includes a blank before its colon; or if there are
 * more senders than the milter checks. */
int mime_edit(const char *data, size_t len, const struct mime_edit *edit, struct buf *out,
	struct err *err);

/* Replaces a Date of exactly old_us by new_us. A Date that the client chose stays; a missing
 * one is not added. */
void mime_edit_date(struct buf *message, int64_t old_us, int64_t new_us);

/* The predicate for messages of clients: Bcc and Resent-Bcc, X-Mailgun-*, X-Postern-* and
 * Postern-Nonce, ignoring case. */
bool mime_edit_is_private(const char *name);

#endif
