/*
 * mime_transfer: contents taken out of their transfer encoding (RFC 2045 6).
 */
#ifndef POSTERN_MAIL_MIME_TRANSFER_H
#define POSTERN_MAIL_MIME_TRANSFER_H

#include "core/base/buf.h"
#include "core/mail/mime_scan.h"

/* Appends what the content means. encoding is the value of the field
 * Content-Transfer-Encoding (NULL: none). Never strict: what is damaged gives
 * damaged text. -1, with nothing appended, for an encoding that is not known. */
int mime_transfer_decode(
	const char *encoding, struct mime_span content, struct buf *out);

/* The same, but -1 also for base64 that is damaged. */
int mime_transfer_decode_strictly(
	const char *encoding, struct mime_span content, struct buf *out);

#endif
