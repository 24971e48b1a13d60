/*
 * mime_content: contents in their transfer encoding (RFC 2045 6), written and
 * read.
 *
 * The first three functions append the field Content-Transfer-Encoding, which
 * thus is the last of the part's header, the empty line, and the content. The
 * line break that ends the content belongs to the boundary line behind it and
 * is not written.
 */
#ifndef POSTERN_MIME_MIME_CONTENT_H
#define POSTERN_MIME_MIME_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/span.h"

/* Text: CRLF and a lone CR become line breaks as LF, and a text whose last
 * line has no line break gets one. 7bit where it survives mail programs,
 * otherwise quoted-printable or base64, whichever is shorter. */
void mime_content_text(struct buf *out, const char *text);

/* Bytes, in base64: they arrive as they are. */
void mime_content_bytes(struct buf *out, const char *data, size_t len);

/* Text for which mime_content_is_7bit() holds. */
void mime_content_7bit(struct buf *out, const char *text, size_t len);

/* Whether text with line breaks as LF can stand in a message as it is: ASCII
 * without control characters, in lines that are not too long and that no
 * program takes for something else. */
bool mime_content_is_7bit(const char *text, size_t len);

/* Appends text with CRLF and lone CR made LF. */
void mime_content_add_lf(struct buf *out, const char *text, size_t len);

/* Appends what the content means. encoding is the value of the field
 * Content-Transfer-Encoding (NULL: none). Never strict: what is damaged gives
 * damaged text. -1, with nothing appended, for an encoding that is not known. */
int mime_content_decode(const char *encoding, struct span content, struct buf *out);

/* The same, but -1 also for base64 that is damaged. */
int mime_content_decode_strictly(const char *encoding, struct span content, struct buf *out);

#endif
