/*
 * smtp_reply: one reply of an SMTP server (RFC 5321 4.2).
 */
#ifndef POSTERN_HTTPD_SMTP_REPLY_H
#define POSTERN_HTTPD_SMTP_REPLY_H

#include <stddef.h>

enum {
	SMTP_REPLY_MAX = 8192,       /* bytes of a whole reply */
	SMTP_REPLY_TEXT_MAX = 2048,  /* of its text; the rest is cut */
	SMTP_REPLY_STATUS_SIZE = 12, /* as 5.7.1, with the NUL */
};

struct smtp_reply {
	int code;                            /* 200 to 599 */
	char status[SMTP_REPLY_STATUS_SIZE]; /* RFC 2034, of the last line; ""
					      * without */
	/* UTF-8 without control characters but the LF between its lines;
	 * statuses are left out. */
	char text[SMTP_REPLY_TEXT_MAX];
};

/* Reads the reply that the bytes begin with: 1 and how many bytes it has; 0
 * when it is not there to its end; -1 when this is no SMTP, or too long. */
int smtp_reply_read(const char *data, size_t len, struct smtp_reply *reply_r,
	size_t *used_r);

#endif
