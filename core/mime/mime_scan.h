/*
 * mime_scan: iterates over the lines, fields and parts of a message or a form without copying.
 *
 * Takes linear time and no memory. A line ends with LF; CRs directly before it belong to the
 * line end.
 */
#ifndef POSTERN_MIME_MIME_SCAN_H
#define POSTERN_MIME_MIME_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/span.h"

/* Removes the next line from rest: *line_r is its content, *raw_r (may be NULL) includes the
 * line end. False if rest is empty. */
bool mime_scan_line(struct span *rest, struct span *line_r, struct span *raw_r);

/* Removes a leading `From ...` or `>From ...` line of an mbox file. */
void mime_scan_drop_from_line(struct span *message);

struct mime_scan_field {
	struct span name;  /* without blanks before the colon */
	struct span value; /* all that follows the colon, with folds and the last line end */
	struct span raw;   /* the whole field with its last line end */
};

/* Removes the next header field with its folded lines from rest. False at the end of the
 * header; then rest is empty or begins with a line that is not a field, usually the empty line.
 * As in Postfix, a field has a name of printable ASCII, and blanks before the colon are
 * allowed. */
bool mime_scan_field(struct span *rest, struct mime_scan_field *field_r);

/* If rest begins with an empty line, removes it. False if not. */
bool mime_scan_empty_line(struct span *rest);

/* True if the field has this name, ignoring case. */
bool mime_scan_is(const struct mime_scan_field *field, const char *name);

/* Returns the unfolded value (RFC 5322 2.2.3) without blanks at its ends. CR, LF and NUL inside
 * become blanks. The caller frees it. */
char *mime_scan_value(const struct mime_scan_field *field);

enum { MIME_SCAN_BOUNDARY_MAX = 250 }; /* RFC 2046 allows 70; clients exceed it */

/* The state of an iteration over a multipart body. */
struct mime_scan_parts {
	struct span rest;
	char delimiter[2 + MIME_SCAN_BOUNDARY_MAX + 1];
	bool open;   /* a part begins at rest */
	bool closed; /* the closing delimiter was found */
};

enum mime_scan_result {
	MIME_SCAN_PART,
	MIME_SCAN_END, /* the closing delimiter was found */
	MIME_SCAN_EOF, /* it is missing; part_r is the rest of the last part, or empty */
};

/* Skips the preamble (RFC 2046 5.1.1). Blanks at the end of the boundary are ignored. Returns
 * 0, or -1 if the boundary is empty or too long. */
int mime_scan_parts_begin(struct mime_scan_parts *parts, struct span body, const char *boundary);

/* Returns the next part: header, empty line, content. The line end before a delimiter belongs
 * to the delimiter. */
enum mime_scan_result mime_scan_parts_next(struct mime_scan_parts *parts, struct span *part_r);

#endif
