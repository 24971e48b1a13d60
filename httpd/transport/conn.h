/*
 * conn: one client connection, in front of evhttp.
 *
 * A conn sees the bytes before evhttp does. It parses each head strictly, has
 * the admission decide, counts the body, and enforces the timeouts. A request
 * that may not go on is answered, and the connection is closed gracefully,
 * before the body is held in memory. A client that reads its answer too slowly
 * is disconnected.
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
struct conn_table *conn_table_new(struct event_base *base);
void conn_table_free(struct conn_table *table);
/* Ends the connections whose phase has lasted too long, and serves those that wait for room.
 * While the worker drains, idle ones get a short grace period only. */
void conn_table_expire(struct conn_table *table);

/* For evhttp_set_bevcb(): returns the bufferevent of a new connection. arg is
 * the worker. */
struct bufferevent *conn_on_accept(struct event_base *base, void *arg);

/* For evhttp_set_gencb(): evhttp has read a request to its end; arg is the
 * worker. The request goes to the handler of its route or is answered with its
 * problem. Until then the connection reads no further request. */
void conn_on_request(struct evhttp_request *evreq, void *arg);

/* Has evhttp send the answer, if the client is still connected. The connection
 * keeps the memory share of a large answer until all of it is written or the
 * connection ends. */
void conn_send_answer(struct worker *worker, struct evhttp_request *evreq, int status,
	struct evbuffer *body, struct budget_share *share);

/* Starts a streamed answer, sent a chunk at a time. It has no timeout. Ending
 * it also closes the connection; what the client sends meanwhile is not read. */
void conn_start_stream(struct worker *worker, struct evhttp_request *evreq, int status);
/* The bytes of the stream that the kernel has not taken yet, or -1 when the
 * client is gone. */
ssize_t conn_stream_unsent(const struct evhttp_request *evreq);
void conn_end_stream(struct worker *worker, struct evhttp_request *evreq);

#endif
