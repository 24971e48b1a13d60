/*
 * smtp_ehlo: what a server offers in its reply to EHLO (RFC 5321 4.1.1.1).
 */
#ifndef POSTERN_HTTPD_SMTP_EHLO_H
#define POSTERN_HTTPD_SMTP_EHLO_H

#include <stdbool.h>

struct smtp_extensions {
	bool pipelining; /* RFC 2920 */
	bool size;       /* RFC 1870 */
	bool eight_bit;  /* 8BITMIME, RFC 6152 */
	bool utf8;       /* SMTPUTF8, RFC 6531 */
};

/* text: of the reply, its lines separated by LF; the first one is a greeting. */
struct smtp_extensions smtp_ehlo_read(const char *text);

#endif
