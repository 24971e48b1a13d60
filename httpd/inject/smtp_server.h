/*
 * smtp_server: where Postfix's smtpd waits, `unix:PATH` or `inet:ADDRESS:PORT`.
 */
#ifndef POSTERN_HTTPD_SMTP_SERVER_H
#define POSTERN_HTTPD_SMTP_SERVER_H

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

#endif
