/*
 * mime_header: header fields: what may stand in one, and how it is written.
 */
#ifndef POSTERN_MIME_MIME_HEADER_H
#define POSTERN_MIME_MIME_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* Whether the text can name a header field (RFC 5322 2.2: printable ASCII
 * without colon), at most 76 bytes long. */
bool mime_header_name_valid(const char *name);

/* Whether the value can stand in a header field: UTF-8 without CR, LF, NUL or
 * other control characters but the tab. */
bool mime_header_value_valid(const char *value);

/* Whether the text is one Message-ID with its brackets (RFC 5322 3.6.4, without
 * the obsolete forms), short enough for the line of its field. */
bool mime_header_msg_id_valid(const char *text);

/* Whether a custom value of this field is ignored, because the request or
 * Postern makes the field: the reserved names of the API, X-Postern-* and
 * Postern-Nonce. */
bool mime_header_reserved(const char *name);

/* Appends the text as a quoted string (RFC 5322 3.2.4). */
void mime_quoted_add(struct buf *out, const char *text);

enum {
	/* Characters on a line: where it can be (RFC 2047 2), and at most
	 * (RFC 5322 2.1.1). */
	MIME_FOLD_WANTED = 76,
	MIME_FOLD_MAX = 998
};

/* Writes one header field, folded (RFC 5322 2.2.3).
 *
 * Words go in one after the other, each with the blanks before it. A line is
 * broken before those blanks, so that unfolding gives back what went in.
 */
struct mime_fold {
	struct buf *out;
	size_t column;
	bool first; /* nothing but the name stands on the line */
};

/* Begins the field: `Name:`. */
void mime_fold_start(struct mime_fold *fold, struct buf *out, const char *name);

/* Adds len bytes, of which the first `blanks` are blanks. Breaks the line
 * before them when it would get longer than wanted; a word behind the name
 * stays there while the line can be. */
void mime_fold_add(struct mime_fold *fold, const char *text, size_t blanks, size_t len);

/* Adds a blank and the word. */
void mime_fold_word(struct mime_fold *fold, const char *word);

/* Breaks the line; what comes next must begin with a blank. */
void mime_fold_break(struct mime_fold *fold);

/* Adds text without a blank, on the same line in any case. */
void mime_fold_attach(struct mime_fold *fold, const char *text);

void mime_fold_end(struct mime_fold *fold);

#endif
