/*
 * mime_param: parameters of Content-Type and Content-Disposition, written, and
 * read as clients and mail programs write them.
 */
#ifndef POSTERN_MIME_MIME_PARAM_H
#define POSTERN_MIME_MIME_PARAM_H

#include <stdbool.h>

#include "core/mime/mime_header.h"

/* Adds `; name="value"`. What does not fit so is written in the way of
 * RFC 2231: other characters than ASCII, and long values, in pieces. */
void mime_param_add(struct mime_fold *fold, const char *name, const char *value);

/* The same, but with encoded words inside the quotes instead of RFC 2231: no
 * standard has it, but programs that know no `filename*` read it. */
void mime_param_add_words(struct mime_fold *fold, const char *name, const char *value);

/* Whether the value before all parameters, on one line, is this word, in any letter case. */
bool param_read_is(const char *header, const char *word);

/* The value of the first parameter of the name, in any letter case, given in
 * quotes or without: 1 and a new string, 0 when it is missing, -1 when the
 * header is malformed. */
int param_read(const char *header, const char *name, char **value_r);

/* The same for the names in forms (HTML 4.10.22.8): %22, %0D and %0A stand for
 * what HTML has them for, and `name*` (RFC 8187) comes before `name`. */
int param_read_name(const char *header, const char *name, char **value_r);

#endif
