/*
 * conn: one client connection, beside what evhttp knows of it.
 *
 * It looks at the bytes before evhttp does: reads each head strictly, has the
 * admission decide, counts the body, and keeps the time. A request that may
 * not go on is answered and the connection ended gracefully, before its body
 * is held in memory. A client that is too slow to read its answer is dropped.
 */
#ifndef POSTERN_HTTPD_TRANSPORT_CONN_H
#define POSTERN_HTTPD_TRANSPORT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "httpd/gate/admission.h"

struct bufferevent;
struct conn;
struct conn_table;
struct event_base;
struct evhttp_request;
struct worker;

/* All connections of a worker. Free it after its evhttp. */
struct conn_table *conn_table_new(struct worker *worker);
void conn_table_free(struct conn_table *table);
size_t conn_table_count(const struct conn_table *table);
/* Ends connections that take too long, and when draining the idle ones. */
void conn_table_expire(struct conn_table *table);

/* For evhttp_set_bevcb(): a new connection; arg is the worker. */
struct bufferevent *conn_on_accept(struct event_base *base, void *arg);

/* The connection of a request that evhttp has read to its end. */
struct conn *conn_of(struct worker *worker, struct evhttp_request *http);

/* Hands over what was decided of that request. Until it is answered the
 * connection looks at nothing. */
void conn_begin(struct conn *conn, struct evhttp_request *http,
	struct admission *admission_r);

/* The request is about to be answered with so many bytes. Of a large answer the
 * connection keeps the share until all is written, or it ends itself. */
void conn_answer(struct conn *conn, size_t bytes, struct budget_share *share);

/* evhttp has the answer now, and begins to write it. */
void conn_answering(struct conn *conn);

/*
 * acceptor: when a worker takes new connections.
 *
 * All workers accept from one listening socket, each through a descriptor of
 * its own. A worker takes one connection in a round of its loop, and none
 * while it is at the limit or has more than its share: else whoever wakes
 * first has them all.
 */

struct acceptor;
struct worker;

/* For the worker's evhttp; accepts once its loop runs. */
int acceptor_new(
	struct worker *worker, struct acceptor **acceptor_r, struct err *err);
/* After the worker's evhttp. NULL is fine. */
void acceptor_free(struct acceptor *acceptor);

/* Called on the worker's thread, before its loop. */
void acceptor_enter_thread(struct acceptor *acceptor);

/* The number of connections or the limit has changed: accepts, or does not. */
void acceptor_check(struct acceptor *acceptor);

/* Accepts no more, for good. NULL is fine. */
void acceptor_stop(struct acceptor *acceptor);
bool acceptor_is_stopped(const struct acceptor *acceptor);

#endif
