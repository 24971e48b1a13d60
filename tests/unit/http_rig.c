/*
 * http_rig: a worker's HTTP side, and clients of it.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/transport/conn.h"
#include "httpd/transport/reply.h"
#include "httpd/http/http1.h"
#include "httpd/transport/listener.h"
#include "httpd/admission/counts.h"
#include "httpd/admission/request.h"
#include "httpd/admission/route.h"
#include "tests/unit/http_rig.h"

enum { GUARD_S = 180 };

static struct http_rig *current;

static void answer(struct request *request)
{
	size_t len;
	const char *body = request_body(request, &len);

	reply_json(request, 200, json_pack("{s:s%}", "body", body, len));
}

static void handle(struct request *request)
{
	if (!current->hold) {
		answer(request);
		return;
	}
	assert_null(current->held);
	current->held = request;
}

static void handle_large(struct request *request)
{
	char *text = mem_alloc(HTTP_RIG_LARGE, 1);

	memset(text, 'x', HTTP_RIG_LARGE);
	reply_json(request, 200, json_pack("[s%]", text, (size_t)HTTP_RIG_LARGE));
	free(text);
}

static const struct route routes[] = {
	{.method = "GET", .pattern = "/here", .handle = handle},
	{.method = "HEAD", .pattern = "/here", .handle = handle},
	{.method = "GET", .pattern = "/large", .handle = handle_large},
	{.method = "POST", .pattern = "/echo", .body = BODY_JSON, .handle = handle},
	{.method = NULL},
};

static void on_guard(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	fail_msg("nothing happens");
}

static void set_up_worker(struct http_rig *rig)
{
	struct worker *worker = &rig->worker;

	worker->shared = &rig->shared;
	worker->conf = conf_default();
	worker->base = event_base_new();
	worker->conns = conn_table_new(worker->base);
	worker->counts = counts_new(routes);
	worker->evhttp = evhttp_new(worker->base);
	evhttp_set_allowed_methods(
		worker->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_default_content_type(worker->evhttp, NULL);
	evhttp_set_max_headers_size(worker->evhttp, HTTP_HEAD_MAX + HTTP_TRAILER_MAX);
	evhttp_set_bevcb(worker->evhttp, conn_on_accept, worker);
	evhttp_set_gencb(worker->evhttp, conn_on_request, worker);
	assert_int_equal(listener_new(worker, &worker->listener, NULL), 0);
	listener_enter_thread(worker->listener);
}

/* What a test waits for next is to come within that time. */
static void set_guard(struct http_rig *rig)
{
	const struct timeval guard = {.tv_sec = GUARD_S};

	event_add(rig->guard, &guard);
}

int http_rig_setup(void **state)
{
	struct http_rig *rig = mem_new(struct http_rig);

	rig->shared.routes = routes;
	rig->shared.budget = &rig->budget;
	rig->shared.connections = &rig->connections;
	rig->shared.workers = 1;
	rig->shared.clock = &clock_system;
	assert_int_equal(
		listener_bind("127.0.0.1:0", &rig->shared.listen_fd, rig->address, NULL), 0);
	set_up_worker(rig);
	rig->guard = event_new(rig->worker.base, -1, 0, on_guard, NULL);
	set_guard(rig);
	*state = current = rig;
	return 0;
}

int http_rig_teardown(void **state)
{
	struct http_rig *rig = *state;
	struct worker *worker = &rig->worker;

	event_free(rig->guard);
	listener_stop(worker->listener);
	evhttp_free(worker->evhttp);
	conn_table_free(worker->conns);
	listener_free(worker->listener);
	event_base_free(worker->base);
	conf_free(worker->conf);
	free(worker->counts);
	close(rig->shared.listen_fd);
	free(rig);
	return 0;
}

void http_rig_release(struct http_rig *rig)
{
	assert_non_null(rig->held);
	answer(TAKE_PTR(rig->held));
}

void http_rig_settle(struct http_rig *rig)
{
	for (int i = 0; i < 100; i++)
		event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
}

void http_rig_wait(struct http_rig *rig)
{
	event_base_loop(rig->worker.base, EVLOOP_ONCE);
}

void http_rig_expire(struct http_rig *rig)
{
	int64_t before_us = clock_monotonic_us();

	while (clock_monotonic_us() <= before_us)
		continue;
	conn_table_expire(rig->worker.conns);
}

static void on_client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct http_client *client = arg;
	char bytes[16384];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void)what;
	if (n > 0) {
		buf_add(&client->got, bytes, (size_t)n);
	} else if (n == 0 || errno != EAGAIN) {
		client->closed = true;
		http_client_stop_reading(client);
	}
}

struct http_client *http_client_new(struct http_rig *rig)
{
	struct http_client *client = mem_new(struct http_client);
	struct sockaddr_in to = {.sin_family = AF_INET};

	set_guard(rig);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)atoi(strrchr(rig->address, ':') + 1));
	client->rig = rig;
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client->fd, (struct sockaddr *)&to, sizeof(to)), 0);
	client->readable = event_new(
		rig->worker.base, client->fd, EV_READ | EV_PERSIST, on_client_readable, client);
	event_add(client->readable, NULL);
	return client;
}

void http_client_stop_reading(struct http_client *client)
{
	if (client->readable)
		event_free(TAKE_PTR(client->readable));
}

void http_client_free(struct http_client *client)
{
	http_client_stop_reading(client);
	close(client->fd);
	buf_free(&client->got);
	free(client);
}

void http_client_say(struct http_client *client, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(client->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return; /* the server does not read on */
		if (n < 0)
			http_rig_settle(client->rig);
		else
			text += n, len -= (size_t)n;
	}
}

void http_client_end_saying(struct http_client *client)
{
	assert_int_equal(shutdown(client->fd, SHUT_WR), 0);
}

/* How often the text stands behind at, which moves behind what was searched:
 * large answers are searched once, not once for each piece that comes. */
static int count_on(const struct buf *buf, const char *text, size_t *at)
{
	const char *found;
	int n = 0;

	while ((found = strstr(buf_str(buf) + *at, text)) != NULL) {
		*at = (size_t)(found + 1 - buf->data);
		n++;
	}
	if (buf->len >= *at + strlen(text))
		*at = buf->len + 1 - strlen(text);
	return n;
}

void http_client_hear(struct http_client *client, const char *text, int n)
{
	size_t at = 0;
	int heard = count_on(&client->got, text, &at);

	while (!client->closed && heard < n) {
		http_rig_wait(client->rig);
		heard += count_on(&client->got, text, &at);
	}
	if (heard < n)
		fail_msg("not \"%s\" but \"%s\"", text, buf_str(&client->got));
}

void http_client_hear_end(struct http_client *client)
{
	while (!client->closed)
		http_rig_wait(client->rig);
}
