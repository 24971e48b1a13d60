/*
 * mime_part: the leaves of a message's body.
 *
 * Both functions append header, empty line and content, and no line break
 * behind the content: that one belongs to the boundary.
 */
#ifndef POSTERN_COMPOSE_MIME_PART_H
#define POSTERN_COMPOSE_MIME_PART_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/id.h"
#include "core/compose/mime_message.h"

/* A text of the subtype (plain, html) in UTF-8. */
void mime_part_text(struct buf *out, const char *subtype, const char *text);

/* An attachment; as_inline is for one that the html shows. The error names
 * what is wrong with it, but not which one it is. */
int mime_part_attachment(struct buf *out, const struct attachment *attachment,
	bool as_inline, struct err *err);

/*
 * mime_multipart: a part made of parts (RFC 2046 5.1): begin, then next before
 * each part, then end.
 *
 * What begin writes ends the header; no line break follows the last boundary.
 */

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
