/*
 * listen_socket: the socket that all workers accept from.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/listen_socket.h"

#include <errno.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static int open_bound(const struct sockaddr *address, socklen_t len)
{
	const int on = 1;
	int fd = socket(address->sa_family,
		SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

static void describe(int fd, char name_r[static LISTEN_SOCKET_NAME_SIZE])
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char host[64] = "?", port[16] = "?";

	getsockname(fd, (struct sockaddr *)&address, &len);
	getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port,
		sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(name_r, LISTEN_SOCKET_NAME_SIZE,
		address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

int listen_socket_open(const char *address, int *fd_r,
	char name_r[static LISTEN_SOCKET_NAME_SIZE], struct err *err)
{
	struct sockaddr_storage parsed;
	int len = sizeof(parsed), fd;

	if (evutil_parse_sockaddr_port(
		    address, (struct sockaddr *)&parsed, &len) < 0)
		return err_set(err, ERR_CONFIG,
			"http.listen: %s is not an address:port", address);
	fd = open_bound((struct sockaddr *)&parsed, (socklen_t)len);
	if (fd < 0)
		return err_set(err,
			errno == EADDRINUSE ? ERR_TEMPORARY : ERR_CONFIG,
			"cannot listen on %s: %s", address, strerror(errno));
	describe(fd, name_r);
	*fd_r = fd;
	return 0;
}
