/*
 * listen_socket: the socket that all workers accept from.
 */
#include "httpd/transport/listen_socket.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

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
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	char host[64] = "?", port[16] = "?";

	getsockname(fd, (struct sockaddr *)&address, &len);
	getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port,
		sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(name_r, LISTEN_SOCKET_NAME_SIZE,
		address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* Splits `host:port` or `[host]:port` in place. */
static bool split(char *address, char **host_r, char **port_r)
{
	char *colon = strrchr(address, ':');

	if (colon == NULL || colon[1] == '\0')
		return false;
	*colon = '\0';
	*host_r = address;
	*port_r = colon + 1;
	if (address[0] != '[')
		return strchr(address, ':') == NULL;
	*host_r = address + 1;
	if (colon[-1] != ']')
		return false;
	colon[-1] = '\0';
	return true;
}

static struct addrinfo *parse(const char *address)
{
	const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	_cleanup_free_ char *copy = mem_strdup(address);
	struct addrinfo *parsed = NULL;
	char *host, *port;
	int64_t number;

	if (!split(copy, &host, &port) ||
		str_int(port, 0, UINT16_MAX, &number) < 0 ||
		getaddrinfo(host, port, &hints, &parsed) != 0)
		return NULL;
	return parsed;
}

int listen_socket_open(const char *address, int *fd_r,
	char name_r[static LISTEN_SOCKET_NAME_SIZE], struct err *err)
{
	struct addrinfo *parsed = parse(address);
	int fd, fault;

	if (parsed == NULL)
		return err_set(err, ERR_CONFIG,
			"http.listen: %s is not an address:port", address);
	fd = open_bound(parsed->ai_addr, parsed->ai_addrlen);
	fault = errno;
	freeaddrinfo(parsed);
	if (fd < 0)
		return err_set(err,
			fault == EADDRINUSE ? ERR_TEMPORARY : ERR_CONFIG,
			"cannot listen on %s: %s", address, strerror(fault));
	describe(fd, name_r);
	*fd_r = fd;
	return 0;
}
