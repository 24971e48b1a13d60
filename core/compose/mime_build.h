/*
 * mime_build: makes the message (RFC 5322, MIME) out of its parts.
 *
 * Shape, outermost first, layers with nothing to hold left out:
 *   multipart/mixed > multipart/related > multipart/alternative > text, html
 * Lines end in LF, as sendmail(1) takes them; every line is 7-bit but for
 * UTF-8 addresses (RFC 6532) and at most 998 characters long.
 *
 * Attachments arrive byte for byte. In text and html CRLF and a lone CR become
 * line breaks, and one is added where the last line has none. There is no Bcc,
 * and no To when nobody is in it. A custom Date stands in place of date_us.
 */
#ifndef POSTERN_COMPOSE_MIME_BUILD_H
#define POSTERN_COMPOSE_MIME_BUILD_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/compose/mime_message.h"

/* Appends the whole message; on failure out is as it was. ERR_INVALID for what
 * cannot stand in a message: control characters in a header value, a name that
 * is no field name, a field that cannot be folded or that Postfix would cut, a
 * field given twice that may stand once, what is not UTF-8. Of an attachment it
 * says which, as `attachments[2]: ...`. */
int mime_build(const struct mime_message *message, struct buf *out, struct err *err);

#endif
