/*
 * mime_multipart: a part made of parts (RFC 2046 5.1): begin, then next before
 * each part, then end.
 *
 * What begin writes ends the header; no line break follows the last boundary.
 */
#ifndef POSTERN_MAIL_MIME_MULTIPART_H
#define POSTERN_MAIL_MIME_MULTIPART_H

#include "core/base/buf.h"
#include "core/base/id.h"

struct mime_multipart {
	struct buf *out;
	char boundary[2 + ID_SIZE];
};

/* param follows the boundary: "" or `; name=value`. */
void mime_multipart_begin(struct mime_multipart *multipart, struct buf *out,
	const char *subtype, const char *param);
void mime_multipart_next(struct mime_multipart *multipart);
void mime_multipart_end(struct mime_multipart *multipart);

#endif
