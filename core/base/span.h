/*
 * span: a view of bytes that somebody else owns.
 */
#ifndef POSTERN_BASE_SPAN_H
#define POSTERN_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* A part of a text. It does not end with a NUL, and is valid as long as the bytes are. */
struct span {
	const char *data;
	size_t len;
};

/* True if the text equals the word; the second ignores ASCII case. */
bool span_is(struct span text, const char *word);
bool span_is_nocase(struct span text, const char *word);

/* For a struct hash_table with such keys. */
uint64_t span_hash(struct span text);

/* Returns the text without blanks (space, tab, CR, LF) at both ends. */
struct span span_trim(struct span text);

/* Removes the text up to and including the first separator from rest, and returns it without
 * the separator; without a separator, all of rest. */
struct span span_cut(struct span *rest, char separator);

/* Appends the text with percent-encoding decoded (RFC 3986 2.1). The result may contain NUL; +
 * stays +. False, with nothing appended, if an escape is malformed. */
bool span_percent_decode(struct span text, struct buf *out);

#endif
