/*
 * smtp_server: the address of Postfix's smtpd, `unix:PATH` or
 * `inet:ADDRESS:PORT`.
 */
#ifndef POSTERN_HTTPD_INJECT_SMTP_SERVER_H
#define POSTERN_HTTPD_INJECT_SMTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/* The service that postfix-conf/enable adds to master.cf, relative to the queue
 * directory. */
#define SMTP_SERVER_SOCKET "public/postern"

/* Makes a non-blocking socket that is connected or connecting; the caller
 * closes it. A refused connection is an error now or at the first read.
 * ERR_CONFIG if this user may not connect, or the address is malformed. */
int smtp_server_connect(const char *server, int *fd_r, struct err *err);

/* Checks that a server listens there. Returns 0, or -1 with the errors of
 * smtp_server_connect(). A Unix-domain socket is checked without connecting; a
 * TCP connection is waited for at most timeout_ms. */
int smtp_server_check(const char *server, int timeout_ms, struct err *err);

/*
 * smtp_watch: logs once that Postfix's smtpd cannot be reached, and then when
 * it can.
 *
 * So an admin learns of a missing service at the start, not from the first
 * client. After smtpd was reached the watch ends: from then on each email that
 * fails reports it.
 */

struct log;

/* Zeroed, it has not begun and checks nothing. */
struct smtp_watch {
	const char *server; /* NULL when reached, or not begun */
	struct log *log;
	int64_t next_us; /* monotonic: no check before */
	bool told;       /* the log already says that it cannot be reached */
};

/* Watches this server from now on, and logs anew. server and log must live
 * until the next begin or the last look. */
void smtp_watch_begin(struct smtp_watch *watch, const char *server, struct log *log);

/* Checks every ten seconds until the server is reached. Blocks for a second at
 * most, and only if a TCP host does not answer. */
void smtp_watch_look(struct smtp_watch *watch, int64_t now_us);

#endif
