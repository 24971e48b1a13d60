/*
 * span: a part of someone else's bytes.
 */
#ifndef POSTERN_BASE_SPAN_H
#define POSTERN_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* Not ended by NUL. Valid for as long as the bytes are. */
struct span {
	const char *data;
	size_t len;
};

/* Whether it is just this word, in the same letter case or in any (ASCII). */
bool span_is(struct span text, const char *word);
bool span_is_nocase(struct span text, const char *word);

/* Takes what stands before the first separator, and the separator, off rest;
 * all of rest when there is none. */
struct span span_cut(struct span *rest, char separator);

/* Appends the text with its percent-escapes decoded (RFC 3986 2.1); NUL is
 * possible, a + stays a +. False, with nothing appended, for a malformed
 * escape. */
bool span_percent_decode(struct span text, struct buf *out);

#endif
