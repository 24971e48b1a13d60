/*
 * mime_gmime: parses untrusted mailboxes and dates with GMime. Postern's own messages are
 * written without it.
 */
#ifndef POSTERN_MIME_MIME_GMIME_H
#define POSTERN_MIME_MIME_GMIME_H

#include <stdbool.h>
#include <stdint.h>

/* Initializes GMime once for the process. Thread-safe, may be called any number of times. The
 * functions below call it; a server calls it before it starts threads. */
void mime_init(void);

/* Parses `Sat, 21 Nov 2026 02:43:18 +0100` (RFC 5322 3.3) and malformed variants. Returns 0 and
 * microseconds since 1970, or -1 if it is not a date. */
int mime_date_parse(const char *text, int64_t *time_us_r);

/* Calls on_mailbox with address and display name of each mailbox in the value of a field like
 * To, also inside groups. Encoded words are not decoded. A missing name is "". A value with
 * more than 100 colons yields nothing. */
void mime_mailboxes(const char *value,
	void (*on_mailbox)(void *user, const char *spec, const char *name), void *user);

#endif
