/*
 * mime_field: whole header fields (RFC 5322 3.6), folded and encoded.
 *
 * Values are valid (mime_header.h).
 */
#ifndef POSTERN_MAIL_MIME_FIELD_H
#define POSTERN_MAIL_MIME_FIELD_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/mail/mime_message.h"

/* Bytes of a field with its name and line ends. With a milter, whichever,
 * Postfix cuts a longer one between two lines, without a word. */
enum { MIME_FIELD_MAX = 60000 };

/* What this field may have: MIME_FIELD_MAX, or less where the field names a
 * sender: the milter reads 32 KiB of From, and of the others together. */
size_t mime_field_max(const char *name);

/* Appends a field whose value is text for people. */
void mime_field_text(struct buf *out, const char *name, const char *value);

/* Appends a field whose value may have a grammar that we do not know: words in
 * ASCII stay as they are, however long, and only others are encoded. */
void mime_field_custom(struct buf *out, const char *name, const char *value);

/* Appends a field of mailboxes; nothing for none. Of several, the display names
 * are left out when the field would be too long with them: addresses matter
 * more. */
void mime_field_addrs(
	struct buf *out, const char *name, const struct addr_list *list);

/* Checks the field that starts at byte `start` of out: no line over
 * MIME_FOLD_MAX, and not more in all than Postfix passes on uncut.
 * ERR_INVALID names the field. */
int mime_field_check(
	const struct buf *out, size_t start, const char *name, struct err *err);

#endif
