/*
 * conn_refuse: the answer to a request that may not go on.
 *
 * From here on evhttp's read and write callbacks are off the bufferevent: its
 * state machine stays where it is until evhttp_connection_free().
 *
 * Threads: the worker's.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <sys/socket.h>

#include "httpd/base/worker.h"
#include "httpd/http/conn_private.h"
#include "httpd/http/reply.h"

/* How long a refused client may go on sending without reading the answer. */
enum { LINGER_S = 2 };

static void on_refusal_written(struct bufferevent *bev, void *arg)
{
	const struct timeval linger = {.tv_sec = LINGER_S};

	(void)arg;
	shutdown(bufferevent_getfd(bev), SHUT_WR);
	bufferevent_disable(bev, EV_WRITE);
	bufferevent_set_timeouts(bev, &linger, NULL);
}

static void on_refusal_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *conn = arg;

	(void)bev;
	(void)what;
	evhttp_connection_free(conn->http);
}

void conn_refuse(struct conn *conn, const struct problem *problem)
{
	const struct timeval linger = {.tv_sec = LINGER_S};
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	conn_enter(conn, CONN_REFUSED);
	bufferevent_setcb(
		conn->bev, NULL, on_refusal_written, on_refusal_event, conn);
	bufferevent_set_timeouts(conn->bev, &linger, &linger);
	evbuffer_drain(input, evbuffer_get_length(input));
	conn_forget_head(conn);
	reply_raw_problem(conn->worker, &conn->admission,
		bufferevent_get_output(conn->bev), problem, conn->is_head_method);
	bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
}
