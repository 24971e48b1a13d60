/*
 * acceptor: when a worker takes new connections.
 *
 * Owns the worker's listener; its evhttp makes connections of what that
 * accepts.
 *
 * Threads: made and freed on the main one, else the worker's.
 */
#include "httpd/http/acceptor.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/base/worker.h"
#include "httpd/http/conn.h"

/* So many connections more than its share a worker takes. */
enum { AHEAD_MAX = 4 };

/* Between two lines about clients that cannot be accepted. */
enum { ERROR_LOG_US = 10 * 1000000 };

struct acceptor {
	struct worker *worker;
	struct evhttp_bound_socket *socket; /* NULL once it accepts no more */
	bool accepting;
	bool took_one;       /* in this round of the loop */
	struct event *round; /* ends it */
	int64_t error_us;    /* monotonic, when one was last logged */
};

/* Whether this worker has more connections than its share. The one that has
 * fewest never does, so somebody always accepts. */
static bool is_ahead(const struct worker *worker)
{
	const struct worker_shared *shared = worker->shared;

	return conn_table_count(worker->conns) >
	       *shared->connections / shared->workers + AHEAD_MAX;
}

void acceptor_check(struct acceptor *acceptor)
{
	const struct worker *worker = acceptor->worker;
	struct evconnlistener *listener;
	bool accept = !acceptor->took_one && !is_ahead(worker) &&
		      conn_table_count(worker->conns) <
			      (size_t)worker->conf->http.max_connections;

	if (acceptor->socket == NULL || accept == acceptor->accepting)
		return;
	listener = evhttp_bound_socket_get_listener(acceptor->socket);
	if (accept)
		evconnlistener_enable(listener);
	else
		evconnlistener_disable(listener);
	acceptor->accepting = accept;
}

static void on_round_end(evutil_socket_t fd, short what, void *arg)
{
	struct acceptor *acceptor = arg;

	(void)fd;
	(void)what;
	acceptor->took_one = false;
	acceptor_check(acceptor);
}

void acceptor_took_one(struct acceptor *acceptor)
{
	acceptor->took_one = true;
	acceptor_check(acceptor);
	event_active(acceptor->round, EV_TIMEOUT, 0);
}

/* That of this thread: the argument of a listener's callback is evhttp's. */
static _Thread_local struct acceptor *of_thread;

void acceptor_enter_thread(struct acceptor *acceptor)
{
	of_thread = acceptor;
}

/* No descriptor is left, most likely: pause until the next check, and say so
 * now and then. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	int64_t now_us = clock_monotonic_us();
	int error = errno;

	(void)arg;
	evconnlistener_disable(listener);
	of_thread->accepting = false;
	if (now_us - of_thread->error_us < ERROR_LOG_US)
		return;
	of_thread->error_us = now_us;
	log_error(of_thread->worker->log, "accept_failed", "error",
		strerror(error));
}

/* Each worker listens on a descriptor of its own for the same socket. */
static struct evhttp_bound_socket *listen_too(const struct worker *worker)
{
	int fd = fcntl(worker->shared->listen_fd, F_DUPFD_CLOEXEC, 0);
	struct evhttp_bound_socket *socket = NULL;
	int error;

	if (fd < 0)
		return NULL;
	socket = evhttp_accept_socket_with_handle(worker->http, fd);
	error = errno;
	if (socket == NULL)
		close(fd);
	errno = error;
	return socket;
}

int acceptor_new(
	struct worker *worker, struct acceptor **acceptor_r, struct err *err)
{
	struct evhttp_bound_socket *socket = listen_too(worker);
	struct acceptor *acceptor;

	if (socket == NULL)
		return err_set(err, ERR_TEMPORARY, "cannot accept: %s",
			strerror(errno));
	acceptor = mem_new(struct acceptor);
	acceptor->worker = worker;
	acceptor->socket = socket;
	acceptor->accepting = true;
	acceptor->round = event_new(worker->base, -1, 0, on_round_end, acceptor);
	evconnlistener_set_error_cb(
		evhttp_bound_socket_get_listener(socket), on_accept_error);
	*acceptor_r = acceptor;
	return 0;
}

void acceptor_free(struct acceptor *acceptor)
{
	if (acceptor == NULL)
		return;
	event_free(acceptor->round);
	free(acceptor);
}

void acceptor_stop(struct acceptor *acceptor)
{
	if (acceptor == NULL || acceptor->socket == NULL)
		return;
	evhttp_del_accept_socket(acceptor->worker->http, acceptor->socket);
	acceptor->socket = NULL;
}

bool acceptor_is_stopped(const struct acceptor *acceptor)
{
	return acceptor->socket == NULL;
}
