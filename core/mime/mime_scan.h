/*
 * mime_scan: walks over the bytes of a message or a form, without a copy.
 *
 * Takes time linear in the number of bytes, and no memory. A line ends with an
 * LF; CRs right before it belong to the line end.
 */
#ifndef POSTERN_MIME_MIME_SCAN_H
#define POSTERN_MIME_MIME_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/span.h"

/* Takes the next line off rest: its content, and with it its end in *raw_r
 * (which may be NULL). False when rest is empty. */
bool mime_scan_line(struct span *rest, struct span *line_r, struct span *raw_r);

/* Drops a leading line `From ...` or `>From ...` of a mailbox file, if there is
 * one. */
void mime_scan_drop_from_line(struct span *message);

struct mime_scan_field {
	struct span name;  /* without blanks before the colon */
	struct span value; /* from behind the colon on, with folds and the
			    * last line end */
	struct span raw;   /* all of it, with its last line end */
};

/* Takes the next header field with its folded lines off rest. False at the end
 * of the header; rest is then empty or begins with the line that is no field
 * (most often an empty one). What a field is, is what Postfix takes for one: a
 * name of printable ASCII, blanks allowed before the colon. */
bool mime_scan_field(struct span *rest, struct mime_scan_field *field_r);

/* Takes one empty line off rest, if it begins with one. */
bool mime_scan_empty_line(struct span *rest);

/* Whether the name of the field is this one, in any letter case. */
bool mime_scan_is(const struct mime_scan_field *field, const char *name);

/* The value on one line (RFC 5322 2.2.3) without blanks at its ends; a new
 * string. CRs, LFs and NULs inside become blanks. */
char *mime_scan_value(const struct mime_scan_field *field);

enum { MIME_SCAN_BOUNDARY_MAX = 250 }; /* RFC 2046 has 70; clients exceed it */

/* Where the walk over a multipart body is. */
struct mime_scan_parts {
	struct span rest;
	char delimiter[2 + MIME_SCAN_BOUNDARY_MAX + 1];
	bool open;   /* a part begins at rest */
	bool closed; /* the closing delimiter was there */
};

enum mime_scan_result {
	MIME_SCAN_PART,
	MIME_SCAN_END, /* the closing delimiter was there */
	MIME_SCAN_EOF, /* it was not; part_r is what the last part has, or of
			* length 0 */
};

/* Skips what stands before the first delimiter line (RFC 2046 5.1.1). Blanks at
 * the end of the boundary are ignored. -1 when it is empty or too long. */
int mime_scan_parts_begin(struct mime_scan_parts *parts, struct span body, const char *boundary);

/* The next part: header, empty line, content. The line end before a delimiter
 * belongs to the delimiter. */
enum mime_scan_result mime_scan_parts_next(struct mime_scan_parts *parts, struct span *part_r);

#endif
