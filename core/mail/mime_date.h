/*
 * mime_date: dates as mail writes them (RFC 5322 3.3).
 */
#ifndef POSTERN_MAIL_MIME_DATE_H
#define POSTERN_MAIL_MIME_DATE_H

#include <stdint.h>

/* Reads `Sat, 21 Nov 2026 02:43:18 +0100`: 0 and microseconds since 1970, or
 * -1 for what is no date. */
int mime_date_parse(const char *text, int64_t *time_us_r);

#endif
