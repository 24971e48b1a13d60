/*
 * listen_socket: the socket that all workers accept from.
 */
#ifndef POSTERN_HTTPD_TRANSPORT_LISTEN_SOCKET_H
#define POSTERN_HTTPD_TRANSPORT_LISTEN_SOCKET_H

#include "core/base/err.h"

enum { LISTEN_SOCKET_NAME_SIZE = 80 };

/* Binds `address:port` or `[v6]:port` and listens; numeric addresses only. The
 * descriptor is the caller's and does not block. name_r is what was bound,
 * with the real port when 0 was asked for. */
int listen_socket_open(const char *address, int *fd_r,
	char name_r[static LISTEN_SOCKET_NAME_SIZE], struct err *err);

#endif
