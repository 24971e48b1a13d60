/*
 * conn_table: all connections of a worker, their number and their deadlines.
 *
 * At the limit the worker stops accepting: new clients wait in the kernel's
 * queue, or go to another worker.
 *
 * Threads: the worker's.
 */
#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/base/worker.h"
#include "httpd/http/acceptor.h"
#include "httpd/http/conn_private.h"

/* The slowest client that is waited for, to send a body or to read an answer,
 * once the request timeout is over. */
enum { BYTES_PER_MS = 16 };

/* While draining, an idle client may have a request on its way: it gets this
 * long to arrive. */
enum { DRAIN_GRACE_MS = 300, REFUSED_MS = 5000 };

struct conn_table {
	struct worker *worker;
	LIST_HEAD(, conn) conns;
	size_t n;
	struct conn **by_fd;
	size_t by_fd_n;
};

/* That of this thread: the argument of a bufferevent's callbacks is evhttp's. */
static _Thread_local struct conn_table *of_thread;

struct conn_table *conn_table_new(struct worker *worker)
{
	struct conn_table *table = mem_new(struct conn_table);

	table->worker = worker;
	LIST_INIT(&table->conns);
	return table;
}

void conn_table_free(struct conn_table *table)
{
	if (table)
		free(table->by_fd);
	free(table);
}

size_t conn_table_count(const struct conn_table *table)
{
	return table->n;
}

void conn_table_add(struct conn_table *table, struct conn *conn)
{
	of_thread = table;
	LIST_INSERT_HEAD(&table->conns, conn, link);
	table->n++;
	(*table->worker->shared->connections)++;
	acceptor_check(table->worker->acceptor);
}

void conn_table_adopt(struct conn_table *table, struct conn *conn)
{
	size_t fd = (size_t)conn->fd, n = table->by_fd_n;

	if (fd >= n) {
		table->by_fd_n = fd * 2 + 64;
		table->by_fd = mem_grow(
			table->by_fd, table->by_fd_n, sizeof(*table->by_fd));
		memset(table->by_fd + n, 0,
			(table->by_fd_n - n) * sizeof(*table->by_fd));
	}
	table->by_fd[fd] = conn;
}

struct conn *conn_of_bufferevent(struct bufferevent *bev)
{
	size_t fd = (size_t)bufferevent_getfd(bev);

	assert(fd < of_thread->by_fd_n && of_thread->by_fd[fd] &&
		of_thread->by_fd[fd]->bev == bev);
	return of_thread->by_fd[fd];
}

struct conn *conn_of(struct worker *worker, struct evhttp_request *http)
{
	assert(worker->conns == of_thread);
	return conn_of_bufferevent(evhttp_connection_get_bufferevent(
		evhttp_request_get_connection(http)));
}

void conn_table_remove(struct conn_table *table, struct conn *conn)
{
	if (conn->http)
		table->by_fd[conn->fd] = NULL;
	LIST_REMOVE(conn, link);
	table->n--;
	(*table->worker->shared->connections)--;
	acceptor_check(table->worker->acceptor);
}

/* How long the connection may stay in its phase; -1: as long as it likes. */
static int64_t allowed_ms(const struct conn *conn)
{
	const struct worker *worker = conn->worker;

	switch (conn->phase) {
	case CONN_IDLE:
		return worker->draining ? DRAIN_GRACE_MS
					: worker->conf->http.idle_timeout_ms;
	case CONN_HEAD:
		return worker->conf->http.request_timeout_ms;
	case CONN_BODY:
		return worker->conf->http.request_timeout_ms +
		       (int64_t)conn->body_seen / BYTES_PER_MS;
	case CONN_ANSWERED:
		return worker->conf->http.request_timeout_ms +
		       (int64_t)(conn->unread_most - conn->unread) / BYTES_PER_MS;
	case CONN_WHOLE:
	case CONN_REFUSED:
		return REFUSED_MS;
	default:
		return -1;
	}
}

static void expire(struct conn *conn)
{
	struct problem problem = PROBLEM_INIT;

	if (conn->phase == CONN_ANSWERED)
		log_info(conn->worker->log, "answer_not_read", "bytes",
			LOG_INT((int64_t)conn->unread));
	if (conn->phase == CONN_IDLE || conn->phase == CONN_ANSWERED ||
		conn->phase == CONN_REFUSED) {
		evhttp_connection_free(conn->http);
		return;
	}
	problem_fixed(&problem, PROBLEM_TIMEOUT);
	conn_refuse(conn, &problem);
}

/* The kernel holds megabytes, and takes more only when a third of that is read:
 * what it has counts, too. */
static void note_reading(struct conn *conn)
{
	size_t unread = evbuffer_get_length(bufferevent_get_output(conn->bev));
	int in_kernel = 0;

	if (ioctl(conn->fd, SIOCOUTQ, &in_kernel) == 0)
		unread += (size_t)in_kernel;
	conn->unread = unread;
	if (unread > conn->unread_most)
		conn->unread_most = unread;
}

void conn_table_expire(struct conn_table *table)
{
	int64_t now_us = clock_monotonic_us();
	struct conn *conn = LIST_FIRST(&table->conns);

	while (conn != NULL) {
		struct conn *next = LIST_NEXT(conn, link);
		int64_t ms;

		if (conn->phase == CONN_ANSWERED)
			note_reading(conn);
		ms = allowed_ms(conn);
		if (ms >= 0 && conn->http && now_us - conn->since_us > ms * 1000)
			expire(conn);
		conn = next;
	}
}
