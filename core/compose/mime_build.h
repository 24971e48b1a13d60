/*
 * mime_build: composes a message (RFC 5322, MIME) from its parts.
 *
 * Structure, outermost first; layers that would hold only one part are left out:
 *   multipart/mixed > multipart/related > multipart/alternative > text, html
 * Lines end in LF, as sendmail(1) expects, and have at most 998 characters. All is 7-bit ASCII,
 * except UTF-8 addresses (RFC 6532).
 *
 * Attachments arrive byte for byte. In text and HTML, CRLF and lone CR become line breaks, and
 * a missing one at the end is added. Bcc is never written, and To only if it has a mailbox. A
 * custom Date replaces date_us.
 */
#ifndef POSTERN_COMPOSE_MIME_BUILD_H
#define POSTERN_COMPOSE_MIME_BUILD_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/compose/mime_message.h"

/* Appends the message. On error out is unchanged. ERR_INVALID for what cannot be in a message:
 * control characters in a header value, an invalid field name, a field that cannot be folded or
 * that Postfix would cut, a repeated field that may occur only once, or invalid UTF-8. Errors
 * in an attachment name it, as in `attachments[2]: ...`. */
int mime_build(const struct mime_message *message, struct buf *out, struct err *err);

#endif
