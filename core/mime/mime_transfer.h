/*
 * mime_transfer: contents taken out of their transfer encoding (RFC 2045 6).
 */
#ifndef POSTERN_MIME_MIME_TRANSFER_H
#define POSTERN_MIME_MIME_TRANSFER_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/mime/mime_scan.h"

/* Appends what the content means. encoding is the value of the field
 * Content-Transfer-Encoding (NULL: none). Never strict: what is damaged gives
 * damaged text. -1, with nothing appended, for an encoding that is not known. */
int mime_transfer_decode(
	const char *encoding, struct span content, struct buf *out);

/* The same, but -1 also for base64 that is damaged. */
int mime_transfer_decode_strictly(
	const char *encoding, struct span content, struct buf *out);

/*
 * mime_quoted: quoted-printable (RFC 2045 6.7) for text.
 */

/* Appends the text, whose line breaks are LF. No line of the result begins
 * with "From " or with a dot, which mail programs change. */
void mime_quoted_add(struct buf *out, const char *text, size_t len);

/* About the length of the result. */
size_t mime_quoted_len(const char *text, size_t len);

#endif
