/*
 * mime_gmime: what GMime reads: mailboxes and dates, as strangers write them.
 * Postern's own messages are written without it.
 */
#ifndef POSTERN_MIME_MIME_GMIME_H
#define POSTERN_MIME_MIME_GMIME_H

#include <stdbool.h>
#include <stdint.h>

/* Makes GMime ready, once for the process, which it stays: any thread, any
 * number of times. The functions here call it; a server does it before its
 * threads. */
void mime_init(void);

/* Reads `Sat, 21 Nov 2026 02:43:18 +0100` (RFC 5322 3.3), and dates that are
 * less well written: 0 and microseconds since 1970, or -1 for what is no
 * date. */
int mime_date_parse(const char *text, int64_t *time_us_r);

/* Calls on_mailbox with the address and the display name of each mailbox in the
 * value of a field like To, also of those in groups; encoded words are not
 * decoded; a name that is missing is "". Nothing is found in a value with
 * very many colons. */
void mime_mailboxes(const char *value,
	void (*on_mailbox)(void *user, const char *spec, const char *name), void *user);

#endif
