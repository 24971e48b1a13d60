/*
 * mime_type: media types of attachments (RFC 2045 5.1).
 */
#ifndef POSTERN_MAIL_MIME_TYPE_H
#define POSTERN_MAIL_MIME_TYPE_H

#include "core/base/err.h"
#include "core/base/strv.h"

struct mime_type {
	char *name;         /* `type/subtype`, lower case */
	struct strv params; /* each `name=value`, as it goes into a header */
};

/* Reads `type/subtype` with or without parameters. ERR_INVALID for all that
 * RFC 2045 does not have, comments too. The caller clears. */
int mime_type_parse(const char *text, struct mime_type *type_r, struct err *err);

void mime_type_clear(struct mime_type *type);
#define _cleanup_mime_type_ __attribute__((cleanup(mime_type_clear)))

/* The type for a file of this name by its ending; application/octet-stream
 * when it is not known. A constant. */
const char *mime_type_guess(const char *filename);

#endif
