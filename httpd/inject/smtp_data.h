/*
 * smtp_data: a message in the form in which SMTP transfers it.
 *
 * Lines end in CRLF instead of LF, a dot at the beginning of a line is doubled
 * (RFC 5321 4.5.2), and a line with a single dot ends it all. A piece at a
 * time, so that a large message is not there twice.
 */
#ifndef POSTERN_HTTPD_SMTP_DATA_H
#define POSTERN_HTTPD_SMTP_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/* What MAIL says about a message. */
struct smtp_shape {
	size_t size;      /* with CRLF, as RFC 1870 counts */
	bool eight_bit;   /* has bytes above 127 */
	bool utf8_header; /* has them in its header */
};

/* Looks through the whole message, whose lines end in LF. */
void smtp_shape_read(const struct buf *message, struct smtp_shape *shape_r);

/* Where the transfer of a message stands. */
struct smtp_data {
	const char *at;
	const char *end;
	bool in_line; /* what comes next is not the beginning of a line */
	bool ended;   /* the final dot was handed out */
};

enum { SMTP_DATA_MIN = 8 }; /* room that a piece needs */

/* The message must last, unchanged, until the end. */
void smtp_data_init(struct smtp_data *data, const struct buf *message);

/* Writes the next piece, of at most size bytes (at least SMTP_DATA_MIN);
 * returns its length, 0 after the end. */
size_t smtp_data_next(struct smtp_data *data, char *out, size_t size);

#endif
