/*
 * mime_param: parameters of Content-Type and Content-Disposition.
 */
#ifndef POSTERN_MAIL_MIME_PARAM_H
#define POSTERN_MAIL_MIME_PARAM_H

#include "core/mail/mime_fold.h"

/* Adds `; name="value"`. What does not fit so is written in the way of
 * RFC 2231: other characters than ASCII, and long values, in pieces. */
void mime_param_add(struct mime_fold *fold, const char *name, const char *value);

/* The same, but with encoded words inside the quotes instead of RFC 2231: no
 * standard has it, but programs that know no `filename*` read it. */
void mime_param_add_words(
	struct mime_fold *fold, const char *name, const char *value);

#endif
