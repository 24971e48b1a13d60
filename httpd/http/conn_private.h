/*
 * conn_private: what conn.c, conn_table.c and conn_refuse.c share.
 */
#ifndef POSTERN_HTTPD_CONN_PRIVATE_H
#define POSTERN_HTTPD_CONN_PRIVATE_H

#include <event2/bufferevent.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "core/base/buf.h"
#include "httpd/http/conn.h"
#include "httpd/http/http_chunks.h"

struct event;
struct evhttp_connection;

/*
 *  IDLE ──> HEAD ──> BODY ──> WHOLE ──> BUSY ──> ANSWERED ──> IDLE
 *             └────────┴──> REFUSED ──> gone
 */
enum conn_phase {
	CONN_IDLE,     /* between requests */
	CONN_HEAD,     /* some bytes of a head are there */
	CONN_BODY,     /* the head is good; the body is coming */
	CONN_WHOLE,    /* all is there; evhttp is about to say so */
	CONN_BUSY,     /* the request is being handled */
	CONN_ANSWERED, /* the answer is being written */
	CONN_REFUSED,  /* answered; what still comes is thrown away */
};

struct conn {
	struct worker *worker;
	struct bufferevent *bev;
	struct evhttp_connection *http; /* NULL until adopted */
	int fd;                         /* once adopted */
	LIST_ENTRY(conn) link;          /* in the table */
	struct event *resume;           /* after evhttp has set itself up */
	bufferevent_data_cb on_read;    /* evhttp's */
	bufferevent_event_cb on_event;
	enum conn_phase phase;
	int64_t since_us;          /* monotonic, when the phase began */
	size_t unread;             /* of answers, when the table last looked */
	size_t unread_most;        /* of answers, since this one began */
	struct budget_share share; /* of the answer, if it is large */
	struct buf head;
	size_t scanned; /* of head, without an end */
	enum http_framing framing;
	uint64_t body_left; /* with HTTP_LENGTH */
	uint64_t body_seen; /* bytes that have come, framing included */
	struct http_chunks chunks;
	struct admission admission;
	bool is_head_method;
};

void conn_enter(struct conn *conn, enum conn_phase phase);

/* Wipes it: it has the key. */
void conn_forget_head(struct conn *conn);

/* Takes the connection from evhttp, answers with the problem, shuts down
 * writing, and reads on until the client closes or a bound is reached: closing
 * at once would make most clients see a reset instead of the answer. */
void conn_refuse(struct conn *conn, const struct problem *problem);

/* Adds the connection to its worker's table; notes its descriptor, by which
 * conn_of() finds it; takes it out. */
void conn_table_add(struct conn_table *table, struct conn *conn);
void conn_table_adopt(struct conn_table *table, struct conn *conn);
/* On the worker's thread. */
struct conn *conn_of_bufferevent(struct bufferevent *bev);
void conn_table_remove(struct conn_table *table, struct conn *conn);

#endif
