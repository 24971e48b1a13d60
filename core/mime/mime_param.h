/*
 * mime_param: reads and writes parameters of Content-Type and Content-Disposition.
 */
#ifndef POSTERN_MIME_MIME_PARAM_H
#define POSTERN_MIME_MIME_PARAM_H

#include <stdbool.h>

#include "core/mime/mime_header.h"

/* Adds `; name="value"`. Non-ASCII and long values are written as in RFC 2231, in pieces. */
void mime_param_add(struct mime_fold *fold, const char *name, const char *value);

/* The same, but with encoded words inside the quotes instead of RFC 2231. No standard allows
 * this, but programs that do not know `filename*` read it. */
void mime_param_add_words(struct mime_fold *fold, const char *name, const char *value);

/* True if the value before the parameters equals the word, ignoring case. The header is
 * unfolded. */
bool param_read_is(const char *header, const char *word);

/* Finds the first parameter of this name, ignoring case, with or without quotes. Returns 1 and
 * a string that the caller frees, 0 if it is missing, -1 if the header is malformed. */
int param_read(const char *header, const char *name, char **value_r);

/* The same for names in multipart/form-data (HTML 4.10.22.8): %22, %0D and %0A are decoded, and
 * `name*` (RFC 8187) takes precedence over `name`. */
int param_read_name(const char *header, const char *name, char **value_r);

/* The same for text in the header of a message, in UTF-8. It is encoded as in RFC 2231, also in
 * pieces, which are expected in order, or with encoded words. What cannot be decoded is returned
 * as it is. */
int param_read_text(const char *header, const char *name, char **value_r);

#endif
