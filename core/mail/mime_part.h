/*
 * mime_part: the leaves of a message's body.
 *
 * Both functions append header, empty line and content, and no line break
 * behind the content: that one belongs to the boundary.
 */
#ifndef POSTERN_MAIL_MIME_PART_H
#define POSTERN_MAIL_MIME_PART_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/mail/mime_message.h"

/* A text of the subtype (plain, html) in UTF-8. */
void mime_part_text(struct buf *out, const char *subtype, const char *text);

/* An attachment; as_inline is for one that the html shows. The error names
 * what is wrong with it, but not which one it is. */
int mime_part_attachment(struct buf *out, const struct attachment *attachment,
	bool as_inline, struct err *err);

#endif
