/*
 * smtp_server: where Postfix's smtpd waits, `unix:PATH` or `inet:ADDRESS:PORT`.
 */
#ifndef POSTERN_HTTPD_INJECT_SMTP_SERVER_H
#define POSTERN_HTTPD_INJECT_SMTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/* The service that postfix-conf/enable puts into master.cf: below the queue
 * folder. */
#define SMTP_SERVER_SOCKET "public/postern"

/* A new connected, or connecting, socket that does not block; the caller closes
 * it. That nobody listens shows now or at the first read. ERR_CONFIG when it
 * may not connect, or when the name is no server. */
int smtp_server_connect(const char *server, int *fd_r, struct err *err);

/* Whether somebody waits there, with the errors of connecting. A Unix-domain
 * socket is looked at without being connected to; from a host an answer is
 * waited for, no longer than this. */
int smtp_server_check(const char *server, int timeout_ms, struct err *err);

/*
 * smtp_watch: says in the log when Postfix's smtpd cannot be reached, once, and
 * when it can be reached after that.
 *
 * An admin is to hear of a missing service at the start, not from the first
 * client. Once smtpd was reached it is looked at no more: from then on each
 * email that fails says so itself.
 */

struct log;

/* Zeroed: not begun, and looks at nothing. */
struct smtp_watch {
	const char *server; /* NULL: reached, or not begun */
	struct log *log;
	int64_t next_us; /* monotonic: no look before */
	bool told;       /* that it cannot be reached */
};

/* From now on looks at this server; a new one is told of anew. Both must live
 * until the next begin, or the last look. */
void smtp_watch_begin(struct smtp_watch *watch, const char *server, struct log *log);

/* Looks, as long as nobody was reached, every ten seconds. Blocks for a second
 * at most, and that only when a host does not answer. */
void smtp_watch_look(struct smtp_watch *watch, int64_t now_us);

#endif
