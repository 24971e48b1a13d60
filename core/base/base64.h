/*
 * base64: decoding (RFC 4648 section 4) as mail programs send it.
 */
#ifndef POSTERN_BASE_BASE64_H
#define POSTERN_BASE_BASE64_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the decoded bytes. Line breaks, blanks and tabs between characters
 * are skipped; padding may be missing but not wrong. 0, or -1 and out as it
 * was. */
int base64_decode(const char *text, size_t len, struct buf *out);

/* What a character of the alphabet stands for; -1: it is not of it. In the time
 * of a table: not for secrets. */
int base64_number(char c);

#endif
