/*
 * mime_quoted: quoted-printable (RFC 2045 6.7) for text.
 */
#ifndef POSTERN_MAIL_MIME_QUOTED_H
#define POSTERN_MAIL_MIME_QUOTED_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the text, whose line breaks are LF. No line of the result begins
 * with "From " or with a dot, which mail programs change. */
void mime_quoted_add(struct buf *out, const char *text, size_t len);

/* About the length of the result. */
size_t mime_quoted_len(const char *text, size_t len);

#endif
