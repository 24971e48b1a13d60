/*
 * base64 (RFC 4648 section 4).
 */
#ifndef POSTERN_BASE_BASE64_H
#define POSTERN_BASE_BASE64_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the bytes in base64, with LF between lines of line_max characters, which must be a
 * multiple of 4; 0: one line. */
void base64_encode(const char *data, size_t len, size_t line_max, struct buf *out);

/* Appends the decoded bytes. Line breaks, blanks and tabs are skipped. Padding may be missing
 * but must be correct if present. Returns 0, or -1 with out unchanged. */
int base64_decode(const char *text, size_t len, struct buf *out);

/* Appends what can be decoded of possibly damaged text, up to the first padding. Other
 * characters are skipped, and so is an incomplete group at the end of a text without padding. */
void base64_decode_leniently(const char *text, size_t len, struct buf *out);

/* Returns the value of a base64 character, -1 if it is none. Uses a table, so it is not
 * constant-time: not for secrets. */
int base64_number(char c);

#endif
