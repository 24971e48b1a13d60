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

#include <sys/types.h>

struct budget_share;
struct bufferevent;
struct conn_table;
struct evbuffer;
struct event_base;
struct evhttp_request;
struct worker;

/* All connections of a worker. Free it after its evhttp. */
struct conn_table *conn_table_new(void);
void conn_table_free(struct conn_table *table);
/* Ends connections that take too long, and when draining the idle ones. */
void conn_table_expire(struct conn_table *table);

/* For evhttp_set_bevcb(): a new connection; arg is the worker. */
struct bufferevent *conn_on_accept(struct event_base *base, void *arg);

/* For evhttp_set_gencb(): a request that evhttp has read to its end; arg is the
 * worker. It goes to the handler of its route, or is answered with its problem;
 * until it is answered the connection looks at nothing. */
void conn_on_request(struct evhttp_request *evreq, void *arg);

/* Has evhttp send the answer, if the client is still there. Of a large answer
 * the connection keeps the share until all is written, or it ends itself. */
void conn_send_answer(struct worker *worker, struct evhttp_request *evreq, int status,
	struct evbuffer *body, struct budget_share *share);

/* The same for an answer that goes on, a chunk at a time, until it is ended,
 * which ends the connection as well: it may take as long as it likes. Nothing
 * that the client sends meanwhile is read. */
void conn_start_stream(struct worker *worker, struct evhttp_request *evreq, int status);
/* How many bytes of it the kernel has not taken yet; -1: the client is gone. */
ssize_t conn_stream_unsent(const struct evhttp_request *evreq);
void conn_end_stream(struct worker *worker, struct evhttp_request *evreq);

#endif
