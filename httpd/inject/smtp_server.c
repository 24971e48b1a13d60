/*
 * smtp_server: connects to smtpd.
 */
#include "httpd/inject/smtp_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/socket.h"
#include "core/base/str.h"

static bool read_server_address(const char *server, union socket_address *address, socklen_t *len_r)
{
	static const char un[] = "unix:", in[] = "inet:";
	const char *path;

	/* The port is at the same place in both families. */
	if (str_starts(server, in))
		return socket_parse(server + strlen(in), address, len_r) &&
		       address->in.sin_port != 0;
	if (!str_starts(server, un))
		return false;
	memset(address, 0, sizeof(*address));
	path = server + strlen(un);
	if (*path == '\0' || strlen(path) >= sizeof(address->un.sun_path))
		return false;
	address->un.sun_family = AF_UNIX;
	memcpy(address->un.sun_path, path, strlen(path) + 1);
	*len_r = sizeof(address->un);
	return true;
}

static int cannot_connect(const char *server, int number, struct err *err)
{
	return err_set(err, number == EACCES ? ERR_CONFIG : ERR_TEMPORARY,
		"cannot connect to %s: %s", server, strerror(number));
}

int smtp_server_connect(const char *server, int *fd_r, struct err *err)
{
	const int one = 1;
	union socket_address address;
	socklen_t len;
	int fd;

	if (!read_server_address(server, &address, &len))
		return err_set(err, ERR_CONFIG, "\"%s\" is no server", server);
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Turns Nagle's algorithm off: a small segment must not wait for an ACK. */
	if (fd >= 0 && address.any.sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd >= 0 && (connect(fd, &address.any, len) == 0 || errno == EINPROGRESS)) {
		*fd_r = fd;
		return 0;
	}
	cannot_connect(server, errno, err);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Waits for the connection. Returns its errno, or 0 when connected. */
static int await_connection(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
	int number = 0;
	socklen_t len = sizeof(number);

	if (poll(&poll_fd, 1, timeout_ms) < 1)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &len) < 0 ? errno : number;
}

int smtp_server_check(const char *server, int timeout_ms, struct err *err)
{
	union socket_address address;
	socklen_t len;
	int fd, number;

	if (read_server_address(server, &address, &len) && address.any.sa_family == AF_UNIX) {
		number = socket_look(address.un.sun_path);
	} else {
		if (smtp_server_connect(server, &fd, err) < 0)
			return -1;
		number = await_connection(fd, timeout_ms);
		close(fd);
	}
	return number == 0 ? 0 : cannot_connect(server, number, err);
}

/*
 * smtp_watch: checks for smtpd until it can be reached.
 *
 * Threads: a watch is used by one thread at a time.
 */

enum { LOOK_US = 10 * 1000 * 1000, ANSWER_MS = 1000 };

void smtp_watch_begin(struct smtp_watch *watch, const char *server, struct log *log)
{
	*watch = (struct smtp_watch){.server = server, .log = log};
}

void smtp_watch_look(struct smtp_watch *watch, int64_t now_us)
{
	struct err err = ERR_INIT;

	if (watch->server == NULL || now_us < watch->next_us)
		return;
	watch->next_us = now_us + LOOK_US;
	if (smtp_server_check(watch->server, ANSWER_MS, &err) < 0) {
		if (!watch->told)
			log_warn(watch->log, "smtp_server_unreachable", "error", err.text, "effect",
				"emails wait in the outbox", "hint",
				str_starts(watch->server, "unix:")
					? "start Postfix; postfix-conf/enable --submission smtp "
					  "adds the service, which the group postdrop can reach"
					: "see submission.smtp_server");
		watch->told = true;
		return;
	}
	if (watch->told)
		log_info(watch->log, "smtp_server_reached", "server", watch->server);
	watch->server = NULL;
}
