/*
 * mime_header: validates and writes header fields.
 */
#ifndef POSTERN_MIME_MIME_HEADER_H
#define POSTERN_MIME_MIME_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* True if the text can be a field name: printable ASCII without colon (RFC 5322 2.2), at most
 * 76 bytes. */
bool mime_header_name_valid(const char *name);

/* True if the value can be in a header field: UTF-8 without CR, LF, NUL and other control
 * characters, except tab. */
bool mime_header_value_valid(const char *value);

/* Removes each CRLF or LF before a blank from the value, in place (RFC 5322 2.2.3): some programs
 * pass values on as they would stand in a message. All other line breaks stay. */
void mime_header_unfold(char *value);

/* True if the text is one Message-ID in angle brackets (RFC 5322 3.6.4, without obsolete
 * forms), short enough for its line. */
bool mime_header_msg_id_valid(const char *text);

/* True if a custom field of this name is ignored, because the request or Postern sets it: the
 * reserved names of the API, X-Postern-* and Postern-Nonce. */
bool mime_header_reserved(const char *name);

/* Appends the text as a quoted string (RFC 5322 3.2.4). */
void mime_quoted_add(struct buf *out, const char *text);

enum {
	/* Characters per line: the preferred limit (RFC 2047 2) and the hard one (RFC 5322
	 * 2.1.1). */
	MIME_FOLD_WANTED = 76,
	MIME_FOLD_MAX = 998
};

/* Writes one header field, folded (RFC 5322 2.2.3).
 *
 * Words are added one after the other, each with the blanks before it. Lines break before these
 * blanks, so that unfolding gives back the original text. */
struct mime_fold {
	struct buf *out;
	size_t column;
	bool first; /* the line has only the field name so far */
};

/* Starts the field with `Name:`. */
void mime_fold_start(struct mime_fold *fold, struct buf *out, const char *name);

/* Adds len bytes, the first `blanks` of which are blanks. Breaks the line before them if it
 * would exceed MIME_FOLD_WANTED. The first word stays on the line of the name up to
 * MIME_FOLD_MAX. */
void mime_fold_add(struct mime_fold *fold, const char *text, size_t blanks, size_t len);

/* Adds a blank and the word. */
void mime_fold_word(struct mime_fold *fold, const char *word);

/* Breaks the line. The next text must begin with a blank. */
void mime_fold_break(struct mime_fold *fold);

/* Adds text without a blank and without a line break before it. */
void mime_fold_attach(struct mime_fold *fold, const char *text);

void mime_fold_end(struct mime_fold *fold);

#endif
