/*
 * mime_content: encodes and decodes contents (RFC 2045 6).
 *
 * The first three functions append the field Content-Transfer-Encoding as the last of the
 * part's header, the empty line, and the content. The line break before a boundary line belongs
 * to the boundary and is not written.
 */
#ifndef POSTERN_MIME_MIME_CONTENT_H
#define POSTERN_MIME_MIME_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/span.h"

/* Appends text. CRLF and lone CR become LF, and a missing line break at the end is added. The
 * encoding is 7bit if mail programs do not change the text, otherwise quoted-printable or
 * base64, whichever is shorter. */
void mime_content_text(struct buf *out, const char *text);

/* Appends bytes in base64, so that they arrive unchanged. */
void mime_content_bytes(struct buf *out, const char *data, size_t len);

/* Appends text for which mime_content_is_7bit() is true. */
void mime_content_7bit(struct buf *out, const char *text, size_t len);

/* True if text with LF line breaks can be sent unencoded: ASCII without control characters, in
 * lines that are not too long and that no mail program changes. */
bool mime_content_is_7bit(const char *text, size_t len);

/* Appends text, with CRLF and lone CR replaced by LF. */
void mime_content_add_lf(struct buf *out, const char *text, size_t len);

/* Appends the decoded content. encoding is the value of Content-Transfer-Encoding; NULL if
 * there is none. Lenient: damaged content gives damaged text. Returns 0, or -1 with nothing
 * appended if the encoding is unknown. */
int mime_content_decode(const char *encoding, struct span content, struct buf *out);

/* Decodes as mime_content_decode() does, and reports damaged base64 as an error too. */
int mime_content_decode_strictly(const char *encoding, struct span content, struct buf *out);

#endif
