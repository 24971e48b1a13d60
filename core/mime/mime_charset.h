/*
 * mime_charset: converts text in any charset to UTF-8.
 */
#ifndef POSTERN_MIME_MIME_CHARSET_H
#define POSTERN_MIME_MIME_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* True if this system can convert the charset. */
bool mime_charset_known(const char *charset);

/* True if every program knows the charset and it encodes ASCII as UTF-8 does. */
bool mime_charset_common(const char *charset);

/* Returns the charset that mail programs and browsers use for text of this name: a wider one of
 * Windows for ISO-8859-1, GB2312, Shift_JIS and EUC-KR, because senders use these names for the
 * wider ones (WHATWG Encoding 4.2); any other name itself. */
const char *mime_charset_of_name(const char *name);

/* Keeps the charset's converter loaded for the life of the process, instead of loading it for
 * each text. Returns a handle that the caller must keep; NULL if the charset is unknown. */
void *mime_charset_keep(const char *charset);

/* Appends the text in UTF-8. A charset that is NULL or unknown is taken for UTF-8. Invalid
 * bytes and NUL become U+FFFD. */
void mime_charset_add(struct buf *out, const char *text, size_t len, const char *charset);

/* Appends text of an unknown charset: valid UTF-8 is kept, each other byte is taken for
 * Latin-1. NUL becomes U+FFFD. */
void mime_charset_add_guessed(struct buf *out, const char *text, size_t len);

#endif
