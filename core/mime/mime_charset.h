/*
 * mime_charset: text in any charset made UTF-8.
 */
#ifndef POSTERN_MIME_MIME_CHARSET_H
#define POSTERN_MIME_MIME_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* Whether this system can read the charset. */
bool mime_charset_known(const char *charset);

/* Whether every program knows the charset, and has ASCII in it as in UTF-8. */
bool mime_charset_common(const char *charset);

/* Keeps what reads the charset in memory for as long as the process lives,
 * which else is loaded for each text anew. For the caller to keep; NULL when it
 * is not known. */
void *mime_charset_keep(const char *charset);

/* Appends the text in UTF-8. A charset that is NULL or not known is taken for
 * UTF-8. U+FFFD stands for each byte that means nothing, and for NUL. */
void mime_charset_add(struct buf *out, const char *text, size_t len, const char *charset);

/* Appends text of an unknown charset: what is UTF-8 as it is, and each other
 * byte as a character of Latin-1; U+FFFD stands for NUL. */
void mime_charset_add_guessed(struct buf *out, const char *text, size_t len);

#endif
