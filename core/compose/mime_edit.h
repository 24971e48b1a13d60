/*
 * mime_edit: the few changes to a message that a client has finished.
 *
 * Its bytes pass as they are, but for these:
 *  - Line ends become LF, as sendmail(1) takes them: an LF with any number of
 *    CRs right before it. A CR elsewhere in the body stays; what becomes of it
 *    is Postfix's decision.
 *  - A leading line `From ...` or `>From ...` of a mailbox file goes.
 *  - Fields that the predicate names go, with all their folded lines.
 *  - Message-ID is put in front when it is missing or is not the email's, and
 *    what stands in its place goes: by it the milter knows the message.
 *  - Date is put in front when it is missing or blank.
 *  - Reply-To and custom fields that it is to be given are put in front where
 *    it has none of that name.
 *  - The header ends where Postfix sees its end: at the empty line, or at the
 *    first line that is no field, before which an empty line is put. So every
 *    later reader sees the same header.
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
	/* Whether the field goes; NULL: none does. The name is without blanks
	 * and colon, in the client's letter case. */
	bool (*removes)(const char *name);
	const char *message_id; /* the email's, with <> */
	int64_t date_us;        /* used when the message has none */
	int64_t old_date_us; /* a Date of this very time goes, as if it were none; 0: none does */
	/* Whose Reply-To and custom fields it is given; NULL: nobody's. */
	const struct mime_message *given;
};

/* Appends the edited message; on failure out is as it was. ERR_INVALID when the
 * header has a NUL, or a CR that ends no line: readers disagree about what
 * these mean; or a field of over MIME_FIELDS_MAX, also of a part or of a
 * message inside; or one with addresses that Postfix would read or write
 * otherwise (addr_field.h), a blank before its colon included; or more senders
 * than the milter checks. */
int mime_edit(const char *data, size_t len, const struct mime_edit *edit, struct buf *out,
	struct err *err);

/* A Date of this very time becomes that of another; one that the client chose stays, and so does
 * the message where it has none. */
void mime_edit_date(struct buf *message, int64_t old_us, int64_t new_us);

/* The predicate for what clients hand in: Bcc and Resent-Bcc, X-Mailgun-*,
 * X-Postern-* and Postern-Nonce, in any letter case. */
bool mime_edit_is_private(const char *name);

#endif
