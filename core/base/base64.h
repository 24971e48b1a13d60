/*
 * base64 (RFC 4648 section 4).
 */
#ifndef POSTERN_BASE_BASE64_H
#define POSTERN_BASE_BASE64_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the bytes in base64, with an LF between lines of line_max characters,
 * a multiple of 4; 0: all on one line. */
void base64_encode(const char *data, size_t len, size_t line_max, struct buf *out);

/* Appends the decoded bytes. Line breaks, blanks and tabs between characters
 * are skipped; padding may be missing but not wrong. 0, or -1 and out as it
 * was. */
int base64_decode(const char *text, size_t len, struct buf *out);

/* Appends what can be made of text that may be damaged, up to the first
 * padding: other characters are skipped, and so is what is left over at the
 * end of a text without padding. */
void base64_decode_leniently(const char *text, size_t len, struct buf *out);

/* What a character of the alphabet stands for; -1: it is not of it. In the time
 * of a table: not for secrets. */
int base64_number(char c);

#endif
