/*
 * mime_header: rules for header fields that a caller names.
 */
#ifndef POSTERN_MAIL_MIME_HEADER_H
#define POSTERN_MAIL_MIME_HEADER_H

#include <stdbool.h>

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
 * Postern makes the field: the reserved names of the API, and X-Postern-*. */
bool mime_header_reserved(const char *name);

#endif
