/*
 * listener: the listening socket that all workers share, and which of them
 * accepts.
 *
 * Owns the worker's evconnlistener and the count of its connections. evhttp
 * makes its connections from what is accepted.
 *
 * Threads: listener_bind() and listener_bind_path() from any. A listener is
 * made and freed on the main thread, and otherwise used on the worker's.
 */
#include "httpd/transport/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/conf/conf.h"
#include "httpd/worker/worker.h"

/* How many connections may wait to be accepted; net.core.somaxconn may make it fewer. When there
 * are more, a client's SYN is dropped, and it tries again after one second, and after three. */
enum { BACKLOG = 4096 };

/* How many connections above its share a worker takes. */
enum { SHARE_AHEAD_MAX = 4 };

/* When a worker that is ahead looks whether the others have caught up: soon, while they accept, and
 * then half as often each time. */
enum { AHEAD_FIRST_MS = 2, AHEAD_MOST_MS = 100 };

/* The minimum interval between two log lines about failures of accept(). */
enum { ERROR_LOG_US = 10 * 1000000 };

struct listener {
	struct worker *worker;
	struct evhttp_bound_socket *socket; /* NULL once stopped */
	size_t connections;
	bool accepting;
	bool accepted_one;   /* in this iteration of the loop */
	struct event *round; /* runs on_round_end() */
	int ahead_ms;        /* how long the worker waits for the others, being ahead */
	size_t seen;         /* connections of all when it began to wait */
	int64_t error_us;    /* monotonic, when one was last logged */
};

/* The listener of this thread. Thread-local because the argument of a
 * listener's callbacks belongs to evhttp. */
static _Thread_local struct listener *of_thread;

/* Accepted connections inherit the socket's options. TCP_NODELAY: an answer
 * goes out in several writes. With Nagle's algorithm (RFC 9293 3.7.4) the last
 * one would wait for the client's delayed ACK of the first, up to 40 ms. */
static int open_bound(const struct sockaddr *address, socklen_t len)
{
	const int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
		bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

static void describe(int fd, char name_r[static LISTENER_NAME_SIZE])
{
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	char host[64] = "?", port[16] = "?";

	getsockname(fd, (struct sockaddr *)&address, &len);
	getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(name_r, LISTENER_NAME_SIZE, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
		host, port);
}

/* The code for an errno of bind() or listen(): temporary if a later try may
 * succeed. */
static enum err_code code_of(int fault)
{
	return fault == EADDRINUSE || fault == EMFILE || fault == ENFILE ? ERR_TEMPORARY
									 : ERR_CONFIG;
}

int listener_bind(
	const char *address, int *fd_r, char name_r[static LISTENER_NAME_SIZE], struct err *err)
{
	union socket_address parsed;
	socklen_t len;
	int fd;

	if (!socket_parse(address, &parsed, &len))
		return err_set(err, ERR_CONFIG, "%s is not an address:port", address);
	fd = open_bound(&parsed.any, len);
	if (fd < 0)
		return err_set(
			err, code_of(errno), "cannot listen on %s: %s", address, strerror(errno));
	describe(fd, name_r);
	*fd_r = fd;
	return 0;
}

/* bind() on Linux creates the file with the mode that fchmod() gave the socket. */
int listener_bind_path(const char *path, int *fd_r, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
		listen(fd, BACKLOG) == 0) {
		*fd_r = fd;
		return 0;
	}
	err_set(err, code_of(errno), "cannot listen on %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool listener_is_on_loopback(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return false;
	if (address.ss_family == AF_UNIX)
		return true;
	if (address.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

void listener_enter_thread(struct listener *listener)
{
	of_thread = listener;
}

static void wait_for_others(struct listener *listener, size_t all)
{
	struct timeval in = {0};

	if (event_pending(listener->round, EV_TIMEOUT, NULL))
		return;
	listener->ahead_ms = all != listener->seen ? AHEAD_FIRST_MS : 2 * listener->ahead_ms;
	if (listener->ahead_ms > AHEAD_MOST_MS)
		listener->ahead_ms = AHEAD_MOST_MS;
	listener->seen = all;
	in.tv_usec = listener->ahead_ms * 1000;
	event_add(listener->round, &in);
}

void listener_check(struct listener *listener)
{
	const struct worker *worker = listener->worker;
	const struct worker_shared *shared = worker->shared;
	struct evconnlistener *events;
	bool at_limit = listener->connections >= (size_t)worker->conf->http.max_connections;
	/* The worker with the fewest connections is never ahead, so at least
	 * one worker accepts. */
	size_t all = *shared->connections;
	bool ahead = listener->connections > all / shared->workers + SHARE_AHEAD_MAX;
	bool accept = !listener->accepted_one && !ahead && !at_limit;

	if (listener->socket == NULL)
		return;
	if (ahead)
		wait_for_others(listener, all);
	if (accept == listener->accepting)
		return;
	events = evhttp_bound_socket_get_listener(listener->socket);
	if (accept)
		evconnlistener_enable(events);
	else
		evconnlistener_disable(events);
	listener->accepting = accept;
}

/* The worker accepts no more in this iteration: the next connection goes to
 * whichever worker wakes first. */
void listener_opened(struct listener *listener)
{
	listener->connections++;
	(*listener->worker->shared->connections)++;
	listener->accepted_one = true;
	listener_check(listener);
	event_active(listener->round, EV_TIMEOUT, 0);
}

static void on_round_end(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)fd;
	(void)what;
	listener->accepted_one = false;
	listener_check(listener);
}

void listener_closed(struct listener *listener)
{
	listener->connections--;
	(*listener->worker->shared->connections)--;
	listener_check(listener);
}

size_t listener_connections(const struct listener *listener)
{
	return listener->connections;
}

/* Most likely there are no free descriptors. Pauses until the next
 * listener_check(), and logs at most one line per interval. */
static void on_accept_error(struct evconnlistener *events, void *arg)
{
	struct listener *listener = of_thread;
	int64_t now_us = clock_monotonic_us();
	int error = errno;

	(void)arg;
	evconnlistener_disable(events);
	listener->accepting = false;
	if (now_us - listener->error_us < ERROR_LOG_US)
		return;
	listener->error_us = now_us;
	log_error(listener->worker->log, "accept_failed", "error", strerror(error));
}

/* Accepts on the descriptor, and takes it, also on failure. On success the
 * former socket is closed. */
static int accept_on(struct listener *listener, int fd, struct err *err)
{
	struct evhttp_bound_socket *socket = NULL;
	int error;

	if (fd >= 0)
		socket = evhttp_accept_socket_with_handle(listener->worker->evhttp, fd);
	error = errno;
	if (socket == NULL && fd >= 0)
		close(fd);
	if (socket == NULL)
		return err_set(err, ERR_TEMPORARY, "cannot accept: %s", strerror(error));
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(socket), on_accept_error);
	listener_stop(listener);
	listener->socket = socket;
	listener->accepting = true;
	return 0;
}

int listener_new(struct worker *worker, struct listener **listener_r, struct err *err)
{
	int fd = fcntl(worker->shared->listen_fd, F_DUPFD_CLOEXEC, 0);
	struct listener *listener = mem_new(struct listener);

	listener->worker = worker;
	if (accept_on(listener, fd, err) < 0) {
		free(listener);
		return -1;
	}
	listener->round = event_new(worker->base, -1, 0, on_round_end, listener);
	*listener_r = listener;
	return 0;
}

int listener_move(struct listener *listener, int fd, struct err *err)
{
	if (listener->socket == NULL) {
		close(fd);
		return 0;
	}
	if (accept_on(listener, fd, err) < 0)
		return -1;
	listener_check(listener);
	return 0;
}

void listener_free(struct listener *listener)
{
	if (listener == NULL)
		return;
	event_free(listener->round);
	free(listener);
}

void listener_stop(struct listener *listener)
{
	if (listener == NULL || listener->socket == NULL)
		return;
	evhttp_del_accept_socket(listener->worker->evhttp, listener->socket);
	listener->socket = NULL;
}

bool listener_is_stopped(const struct listener *listener)
{
	return listener->socket == NULL;
}
