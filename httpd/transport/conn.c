/*
 * conn: the bytes of one connection, checked before evhttp parses them.
 *
 * A callback on the input buffer sees what the socket delivered; evhttp's own
 * read callback runs after it. A conn is made with its bufferevent, learns
 * evhttp's connection before any byte can arrive, and is freed in evhttp's
 * close callback.
 *
 * When evhttp sees the end of the input (EOF), it drops the connection, with
 * every request that it has not parsed and every answer that is not written. So
 * the input is read only while a request is still to come: not between the end
 * of a request and the end of its answer, and not while the next request is
 * already in the input. A request that EOF cuts off is refused.
 *
 * While a decision waits for rows of a database server, or for room (a slot,
 * and memory for the body), struct deciding keeps all input from evhttp, which
 * would parse pipelined bytes as soon as the request before is answered.
 *
 * After a refusal evhttp's read and write callbacks are no longer set on the
 * bufferevent: its state machine stays where it is until
 * evhttp_connection_free().
 *
 * Threads: the worker's.
 */
#include "httpd/transport/conn.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/conf/conf.h"
#include "httpd/admission/answer.h"
#include "httpd/admission/credentials.h"
#include "httpd/admission/dialect.h"
#include "httpd/admission/request.h"
#include "httpd/http/http1.h"
#include "httpd/transport/listener.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"

/* The minimum transfer rate, for sending a body and for reading an answer, once
 * the request timeout is over. */
enum { BYTES_PER_MS = 16 };

/* Deadlines are checked ten times a second. If a check is so late, the process was stopped or got
 * no CPU, and that time does not count against clients. */
enum { STILL_US = 1000 * 1000 };

/* While the worker drains, an idle client may have a request on its way. It has
 * this long to arrive. */
enum { DRAIN_GRACE_MS = 300 };

/* Lingering close after a refusal: how long the client may be silent, and how
 * long it takes in all. */
enum { LINGER_S = 2, REFUSED_MS = 5000 };

/* A refused request whose body is at most this long is read to its end and
 * answered on a connection that stays open. */
enum { REFUSED_BODY_MAX = 16 * 1024 };

/* An answer of at most this size does not stay charged to the memory quota
 * until the client has read it: one write hands it to the kernel, if the client
 * reads at all. */
enum { UNCOUNTED_ANSWER_MAX = 16 * 1024 };

/* When a request ends, at most this many waiting requests are checked for room. The others are
 * checked together with the deadlines. */
enum { SERVED_AT_ONCE = 16 };

/*
 *  IDLE ──> HEAD ──> (DECIDING ──>) BODY ──> WHOLE ──> BUSY ──> ANSWERED ──> IDLE
 *             └─────────────┴─────────┴──> REFUSED ──> gone └──> STREAM ──> ANSWERED
 */
enum conn_phase {
	CONN_IDLE,     /* between requests */
	CONN_HEAD,     /* a part of a head has arrived */
	CONN_DECIDING, /* the head is complete; it waits for rows or for room */
	CONN_BODY,     /* the head is accepted; the body is coming */
	CONN_WHOLE,    /* all has arrived; evhttp is about to report it */
	CONN_BUSY,     /* the request is being handled */
	CONN_STREAM,   /* a streamed answer is being sent */
	CONN_ANSWERED, /* the answer is being written */
	CONN_REFUSED,  /* answered; further input is discarded */
};

struct conn {
	struct worker *worker;
	struct bufferevent *bev;
	struct evhttp_connection *evcon; /* NULL until adopted */
	int fd;                          /* once adopted */
	LIST_ENTRY(conn) link;           /* in the table */
	struct event *resume;            /* runs on_conn_resume() */
	bufferevent_data_cb on_read;     /* evhttp's callback, behind ours */
	bufferevent_event_cb on_event;
	enum conn_phase phase;
	int64_t since_us;   /* monotonic, when the phase began */
	size_t unread;      /* bytes of the answer not read by the client, as last measured */
	size_t unread_most; /* the maximum since this answer began */
	struct budget_share share; /* memory of a large answer */
	struct buf head;           /* as received; it has the API key */
	size_t scanned;            /* bytes of head that were searched for its end */
	enum http_framing framing;
	uint64_t body_left; /* with HTTP_LENGTH */
	uint64_t body_seen; /* bytes that have come, framing included */
	struct http_chunks chunks;
	struct admission admission;
	char peer[REQUEST_CLIENT_SIZE];   /* the address of the connected peer */
	char client[REQUEST_CLIENT_SIZE]; /* client of this request: the peer, or the address that a
					     trusted proxy reports */
	bool is_head_method;
	struct deciding *deciding; /* with CONN_DECIDING */
};

/* A head whose admission waits for rows, or for room. The conn outlives it. */
struct deciding {
	struct store_read read; /* first */
	struct conn *conn;
	struct http_head head; /* its spans point into conn->head */
	bool needs_rows;
	struct admission_rows rows;
	TAILQ_ENTRY(deciding) link; /* in the table, while it waits for room */
	struct evbuffer *input;     /* all that the connection has received */
	size_t after;               /* bytes at its end, behind the head */
};

struct conn_table {
	LIST_HEAD(, conn) conns;
	struct conn **by_fd; /* adopted connections, by their descriptor */
	size_t by_fd_n;
	TAILQ_HEAD(, deciding) waiting; /* for room, the longest first */
	struct event *room;             /* runs on_room() */
	int64_t looked_us;              /* monotonic, when deadlines were checked last */
};

/* The table of this thread. Thread-local because the argument of a
 * bufferevent's callbacks belongs to evhttp. */
static _Thread_local struct conn_table *of_thread;

static void on_room(evutil_socket_t fd, short what, void *arg);

struct conn_table *conn_table_new(struct event_base *base)
{
	struct conn_table *table = mem_new(struct conn_table);

	LIST_INIT(&table->conns);
	TAILQ_INIT(&table->waiting);
	table->room = event_new(base, -1, 0, on_room, table);
	table->looked_us = clock_monotonic_us();
	return table;
}

void conn_table_free(struct conn_table *table)
{
	if (table == NULL)
		return;
	event_free(table->room);
	free(table->by_fd);
	free(table);
}

static struct conn *of_bufferevent(struct bufferevent *bev)
{
	size_t fd = (size_t)bufferevent_getfd(bev);

	assert(fd < of_thread->by_fd_n && of_thread->by_fd[fd] && of_thread->by_fd[fd]->bev == bev);
	return of_thread->by_fd[fd];
}

static struct conn *of_request(struct worker *worker, struct evhttp_request *evreq)
{
	assert(worker->conns == of_thread);
	return of_bufferevent(
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(evreq)));
}

static void enter(struct conn *conn, enum conn_phase phase)
{
	conn->phase = phase;
	conn->since_us = clock_monotonic_us();
	conn->unread = 0;
	conn->unread_most = 0;
}

static void on_refusal_written(struct bufferevent *bev, void *arg)
{
	const struct timeval linger = {.tv_sec = LINGER_S};

	(void)arg;
	shutdown(bufferevent_getfd(bev), SHUT_WR);
	bufferevent_disable(bev, EV_WRITE);
	bufferevent_set_timeouts(bev, &linger, NULL);
	bufferevent_enable(bev, EV_READ);
}

static void on_refusal_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *conn = arg;

	(void)bev;
	(void)what;
	evhttp_connection_free(conn->evcon);
}

/* Writes a complete answer with `Connection: close` and counts and logs it.
 * Omits the body when the method was HEAD. */
static void write_refusal(const struct conn *conn, const struct problem *problem)
{
	struct evbuffer *output = bufferevent_get_output(conn->bev);
	const struct admission *admission = &conn->admission;
	struct dialect_answer answer;
	struct evkeyvalq fields;
	struct evkeyval *field;
	char id[ID_SIZE];

	dialect_problem(admission->route, problem, &answer);
	id_new(id);
	TAILQ_INIT(&fields);
	evhttp_add_header(&fields, "Content-Type", answer.content_type);
	answer_fields_number(&fields, "Content-Length", (int64_t)strlen(answer.body));
	answer_fields_common(&fields, id, admission);
	answer_fields_problem(&fields, problem, &answer);
	evbuffer_add_printf(
		output, "HTTP/1.1 %d %s\r\n", answer.status, http_reason(answer.status));
	TAILQ_FOREACH(field, &fields, next)
		evbuffer_add_printf(output, "%s: %s\r\n", field->key, field->value);
	evbuffer_add_printf(output, "Connection: close\r\n\r\n");
	evhttp_clear_headers(&fields);
	if (!conn->is_head_method)
		evbuffer_add(output, answer.body, strlen(answer.body));
	free(answer.body);
	answer_note(conn->worker, admission,
		&(const struct answer_note){
			.request_id = id,
			.status = answer.status,
			.problem = problem,
			.client = conn->client,
			.took_us = -1,
		});
}

/* Takes the connection away from evhttp, answers with the problem, shuts down
 * writing, and reads on until the client closes or a bound is reached
 * (lingering close): with an immediate close most clients would see a reset
 * instead of the answer. Returns -1. */
static int refuse_request(struct conn *conn, const struct problem *problem)
{
	const struct timeval linger = {.tv_sec = LINGER_S};
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	enter(conn, CONN_REFUSED);
	bufferevent_setcb(conn->bev, NULL, on_refusal_written, on_refusal_event, conn);
	bufferevent_set_timeouts(conn->bev, &linger, &linger);
	evbuffer_drain(input, evbuffer_get_length(input));
	secret_buf_free(&conn->head);
	write_refusal(conn, problem);
	/* Reads nothing until the answer is written, so that EOF does not end
	 * the connection before. */
	bufferevent_disable(conn->bev, EV_READ);
	bufferevent_setwatermark(conn->bev, EV_READ, 0, 0);
	bufferevent_enable(conn->bev, EV_WRITE);
	return -1;
}

static int refuse_fault(struct conn *conn, const struct http_fault *fault)
{
	struct problem problem = PROBLEM_INIT;

	problem_set(&problem, problem_kind_of_status(fault->status), "%s", fault->text);
	return refuse_request(conn, &problem);
}

/* How long the connection may stay in its phase; -1 means without limit. */
static int64_t allowed_ms(const struct conn *conn)
{
	const struct worker *worker = conn->worker;

	switch (conn->phase) {
	case CONN_IDLE:
		return worker->draining ? DRAIN_GRACE_MS : worker->conf->http.idle_timeout_ms;
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
		evhttp_connection_free(conn->evcon);
		return;
	}
	problem_fixed(&problem, PROBLEM_TIMEOUT);
	refuse_request(conn, &problem);
}

static void serve_waiting(struct conn_table *table, bool all);

void conn_table_expire(struct conn_table *table)
{
	int64_t now_us = clock_monotonic_us(), still_us = now_us - table->looked_us;
	struct conn *conn = LIST_FIRST(&table->conns);

	/* What clients have sent meanwhile is not read yet. */
	if (still_us < STILL_US)
		still_us = 0;
	table->looked_us = now_us;
	while (conn != NULL) {
		struct conn *next = LIST_NEXT(conn, link);
		int in_kernel = 0;
		int64_t ms;

		if (still_us > 0)
			conn->since_us = conn->since_us + still_us < now_us
						 ? conn->since_us + still_us
						 : now_us;
		/* The kernel's send buffer holds megabytes, and takes more only when a third of
		 * them is read. */
		if (conn->phase == CONN_ANSWERED) {
			conn->unread = evbuffer_get_length(bufferevent_get_output(conn->bev));
			if (ioctl(conn->fd, SIOCOUTQ, &in_kernel) == 0)
				conn->unread += (size_t)in_kernel;
			if (conn->unread > conn->unread_most)
				conn->unread_most = conn->unread;
		}
		ms = allowed_ms(conn);
		if (ms >= 0 && conn->evcon && now_us - conn->since_us > ms * 1000)
			expire(conn);
		conn = next;
	}
	serve_waiting(table, true);
}

/* Input, as it arrives. */

/* True if a problem can wait until the body is read, and evhttp may see the
 * request. */
static bool can_wait(const struct http_head *head)
{
	/* evhttp knows these methods, and reads a body with them. */
	static const char *const common[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
	bool is_common = false;

	/* evhttp takes //path for a host name, which it may find malformed. */
	if (head->path.len > 1 && head->path.data[1] == '/')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		is_common |= span_is(head->method, common[i]);
	if (!is_common)
		return span_is(head->method, "HEAD") && head->framing == HTTP_NO_BODY;
	return head->framing == HTTP_NO_BODY ||
	       (head->framing == HTTP_LENGTH && head->length <= REFUSED_BODY_MAX &&
		       !head->expects_continue);
}

/* Replaces evhttp's event callback; the argument stays evhttp's. */
static void on_conn_event(struct bufferevent *bev, short what, void *evcon)
{
	struct conn *conn = of_bufferevent(bev);

	if ((what & BEV_EVENT_EOF) && (conn->phase == CONN_HEAD || conn->phase == CONN_BODY))
		refuse_fault(conn,
			&(struct http_fault){400, "The connection ended within the request."});
	else
		conn->on_event(bev, what, evcon);
}

/* Sets our callbacks in front of evhttp's. evhttp sets its own again for each
 * request, and must not see a head before it is accepted. */
static void intercept(struct conn *conn)
{
	bool in_head = conn->phase < CONN_BODY;
	bufferevent_data_cb on_read, on_write;
	bufferevent_event_cb on_event;
	void *evcon;

	bufferevent_getcb(conn->bev, &on_read, &on_write, &on_event, &evcon);
	if (on_event != on_conn_event) {
		conn->on_read = on_read;
		conn->on_event = on_event;
	}
	bufferevent_setcb(
		conn->bev, in_head ? NULL : conn->on_read, on_write, on_conn_event, evcon);
}

/* Before the head is read, the client is the connected peer, even behind a
 * proxy. */
static void find_client(struct conn *conn, const struct http_head *head)
{
	const struct cidr_list *proxies = &conn->worker->proxies;

	memcpy(conn->client, conn->peer, sizeof(conn->client));
	if (head && proxies->n > 0)
		forwarded_client(head, proxies, conn->peer, conn->client);
}

/* The admission of the head is decided. Returns 0, or -1 when the request is refused here. */
static int on_head_decided(struct conn *conn, const struct http_head *head)
{
	if (conn->admission.problem.kind != PROBLEM_NONE && !can_wait(head))
		return refuse_request(conn, &conn->admission.problem);
	conn->framing = head->framing;
	conn->body_left = head->length;
	conn->body_seen = 0;
	conn->chunks = (struct http_chunks){0};
	if (head->expects_continue)
		event_active(conn->resume, EV_READ, 0);
	enter(conn, head->framing == HTTP_NO_BODY ? CONN_WHOLE : CONN_BODY);
	intercept(conn);
	secret_buf_free(&conn->head);
	conn->scanned = 0;
	return 0;
}

/* Until the decision nothing is read from the client, not even the end of its input. rows: NULL if
 * none are needed. */
static void decide_later(
	struct conn *conn, const struct http_head *head, const struct admission_rows *rows)
{
	struct deciding *deciding = mem_new(struct deciding);

	deciding->conn = conn;
	deciding->head = *head;
	deciding->needs_rows = rows != NULL;
	if (rows)
		deciding->rows = *rows;
	deciding->input = evbuffer_new();
	conn->deciding = deciding;
	conn->worker->requests++;
	enter(conn, CONN_DECIDING);
	bufferevent_disable(conn->bev, EV_READ);
}

/* Handles a complete head. Returns 0, or -1 when it is refused. */
static int on_head_complete(struct conn *conn, size_t len)
{
	struct worker *worker = conn->worker;
	struct err err = ERR_INIT;
	struct admission_rows rows;
	struct http_head head;
	struct http_fault fault;
	bool needs_rows;
	int result;

	if (http_head_parse(conn->head.data, len, &head, &fault) < 0)
		return refuse_fault(conn, &fault);
	conn->is_head_method = span_is(head.method, "HEAD");
	find_client(conn, &head);
	admission_clear(&conn->admission);
	needs_rows = admission_begin(worker, &head,
		cidr_list_has_text(&worker->proxies, conn->peer), &conn->admission, &rows);
	if (needs_rows && worker->shared->lookups == NULL) {
		result = admission_read(worker->db, &rows, &err);
		admission_end(worker, &head, &conn->admission, &rows, result, &err);
		needs_rows = false;
	}
	if (needs_rows || !admission_has_room(worker, &conn->admission)) {
		decide_later(conn, &head, needs_rows ? &rows : NULL);
		return 0;
	}
	return on_head_decided(conn, &head);
}

/* The feed_ functions consume bytes of a request. They return how many belong
 * to it, or -1 when the request is refused. */
static ssize_t feed_head(struct conn *conn, const char *data, size_t len)
{
	struct http_fault fault = {0, NULL};
	size_t before = conn->head.len, end;

	if (len > HTTP_HEAD_MAX - before)
		len = HTTP_HEAD_MAX - before;
	buf_add(&conn->head, data, len);
	end = http_head_end(conn->head.data, conn->head.len, conn->scanned, &fault);
	if (fault.status != 0)
		return refuse_fault(conn, &fault);
	conn->scanned = conn->head.len;
	if (end == 0) {
		if (conn->phase == CONN_IDLE)
			enter(conn, CONN_HEAD);
		return (ssize_t)len;
	}
	return on_head_complete(conn, end) < 0 ? -1 : (ssize_t)(end - before);
}

static ssize_t feed_chunks(struct conn *conn, char *data, size_t len)
{
	size_t used = 0;

	switch (http_chunks_scan(&conn->chunks, data, len, &used)) {
	case CHUNKS_END:
		enter(conn, CONN_WHOLE);
		break;
	case CHUNKS_BAD:
		return refuse_fault(
			conn, &(struct http_fault){400, "The chunked request body is malformed."});
	case CHUNKS_MORE:
		break;
	}
	conn->body_seen += used;
	if (conn->admission.problem.kind == PROBLEM_NONE &&
		admission_grow(conn->worker, &conn->admission, conn->chunks.size,
			&conn->admission.problem) < 0)
		return refuse_request(conn, &conn->admission.problem);
	return (ssize_t)used;
}

static ssize_t feed_length(struct conn *conn, size_t len)
{
	size_t n = conn->body_left < len ? (size_t)conn->body_left : len;

	conn->body_seen += n;
	conn->body_left -= n;
	if (conn->body_left == 0)
		enter(conn, CONN_WHOLE);
	return (ssize_t)n;
}

/* Consumes new bytes, as far as they belong to the current request and it is decided. Returns the
 * number of bytes that are left for later. */
static size_t feed(struct conn *conn, char *data, size_t len)
{
	while (len > 0) {
		ssize_t used;

		if (conn->phase == CONN_IDLE || conn->phase == CONN_HEAD)
			used = feed_head(conn, data, len);
		else if (conn->phase != CONN_BODY)
			break;
		else if (conn->framing == HTTP_CHUNKED)
			used = feed_chunks(conn, data, len);
		else
			used = feed_length(conn, len);
		if (used < 0)
			break;
		data += used;
		len -= (size_t)used;
	}
	return len;
}

static void hold_input(struct deciding *deciding, size_t after);

/* Feeds the last n bytes of the input. */
static void feed_input(struct conn *conn, struct evbuffer *input, size_t n)
{
	struct evbuffer_ptr at;
	struct evbuffer_iovec parts[16];
	size_t left = n, rest = 0;

	while (left > 0 && rest == 0) {
		int used;

		evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - left, EVBUFFER_PTR_SET);
		used = evbuffer_peek(input, (ev_ssize_t)left, &at, parts, ARRAY_SIZE(parts));
		for (int i = 0; i < used && i < (int)ARRAY_SIZE(parts) && rest == 0; i++) {
			size_t len = parts[i].iov_len < left ? parts[i].iov_len : left;

			rest = feed(conn, parts[i].iov_base, len);
			left -= len - rest;
		}
	}
	if (conn->phase == CONN_DECIDING)
		hold_input(conn->deciding, left);
}

/* Feeds the input between requests, all of which is new: the client may pipeline. Empty lines in
 * front of a request are dropped (RFC 9112 2.2), once they are complete: evhttp refuses them. */
static void feed_request(struct conn *conn, struct evbuffer *input)
{
	char start[2];
	ev_ssize_t n;

	while ((n = evbuffer_copyout(input, start, sizeof(start))) == 2 &&
		memcmp(start, "\r\n", 2) == 0)
		evbuffer_drain(input, 2);
	if (n != 1 || *start != '\r')
		feed_input(conn, input, evbuffer_get_length(input));
}

/* Continues where feed_input() has stopped: feeds the rest of the input, and has evhttp read all of
 * it. */
static void on_decided(struct deciding *deciding)
{
	struct conn *conn = TAKE_PTR(deciding->conn);
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	conn->deciding = NULL;
	conn->worker->requests--;
	evbuffer_prepend_buffer(input, deciding->input);
	bufferevent_enable(conn->bev, EV_READ);
	if (on_head_decided(conn, &deciding->head) == 0)
		feed_input(conn, input, deciding->after);
	evbuffer_free(deciding->input);
	free(deciding);
	if (conn->phase != CONN_REFUSED)
		bufferevent_trigger(conn->bev, EV_READ, BEV_TRIG_IGNORE_WATERMARKS);
}

/* A burst of requests may need more slots or memory than there are, for as long as it takes to
 * serve the first of them. */
static void wait_for_room(struct deciding *deciding)
{
	enter(deciding->conn, CONN_DECIDING);
	TAILQ_INSERT_TAIL(&of_thread->waiting, deciding, link);
}

/* Serves the waiting requests that have room now, in their order, and refuses those that have
 * waited too long. all: checks all of them, not only the first ones. */
static void serve_waiting(struct conn_table *table, bool all)
{
	struct deciding *deciding = TAILQ_FIRST(&table->waiting);
	int64_t now_us = clock_monotonic_us();

	for (int unserved = 0; deciding && (all || unserved < SERVED_AT_ONCE);) {
		struct deciding *next = TAILQ_NEXT(deciding, link);
		struct conn *conn = deciding->conn;
		struct worker *worker = conn->worker;
		int64_t wait_us = worker->cut_short ? 0 : worker->conf->http.max_wait_ms * 1000;
		bool served = admission_has_room(worker, &conn->admission);

		if (!served && now_us - conn->since_us >= wait_us) {
			admission_insist_on_room(worker, &conn->admission);
			served = true;
		}
		if (served) {
			TAILQ_REMOVE(&table->waiting, deciding, link);
			on_decided(deciding);
		} else {
			unserved++;
		}
		deciding = next;
	}
}

static void on_room(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	serve_waiting(arg, false);
}

static void announce_rows(struct store_read *read, struct db *db)
{
	admission_announce(db, &((struct deciding *)read)->rows);
}

static int read_rows(struct store_read *read, struct db *db, struct err *err)
{
	return admission_read(db, &((struct deciding *)read)->rows, err);
}

static void on_rows_read(struct store_read *read)
{
	struct deciding *deciding = (struct deciding *)read;
	struct conn *conn = deciding->conn;

	admission_end(conn->worker, &deciding->head, &conn->admission, &deciding->rows,
		read->result, &read->err);
	if (admission_has_room(conn->worker, &conn->admission))
		on_decided(deciding);
	else
		wait_for_room(deciding);
}

/* Moves the input to the deciding, and starts what it waits for. after: the number of bytes behind
 * the head. */
static void hold_input(struct deciding *deciding, size_t after)
{
	struct conn *conn = deciding->conn;

	deciding->after = after;
	evbuffer_add_buffer(deciding->input, bufferevent_get_input(conn->bev));
	deciding->read.announce = admission_announces(&deciding->rows) ? announce_rows : NULL;
	deciding->read.read = read_rows;
	deciding->read.done = on_rows_read;
	if (deciding->needs_rows)
		store_read_start(conn->worker, &deciding->read, "");
	else
		wait_for_room(deciding);
}

static void on_conn_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct conn *conn = arg;
	size_t n = info->n_added;

	if (n == 0 || conn->phase == CONN_DECIDING)
		return;
	if (conn->phase == CONN_REFUSED)
		evbuffer_drain(input, evbuffer_get_length(input));
	/* In a body of known length the bytes do not matter, and finding the
	 * new ones in the buffer costs more the longer it is. */
	else if (conn->phase == CONN_BODY && conn->framing == HTTP_LENGTH && n <= conn->body_left)
		feed_length(conn, n);
	else if (conn->phase == CONN_IDLE)
		feed_request(conn, input);
	else
		feed_input(conn, input, n);
}

/* The life of a connection, and of its requests. */

static void on_conn_close(struct evhttp_connection *evcon, void *arg)
{
	struct conn *conn = arg;

	(void)evcon;
	assert(conn->deciding == NULL);
	evbuffer_remove_cb(bufferevent_get_input(conn->bev), on_conn_input, conn);
	if (conn->evcon)
		conn->worker->conns->by_fd[conn->fd] = NULL;
	LIST_REMOVE(conn, link);
	listener_closed(conn->worker->listener);
	event_free(conn->resume);
	admission_clear(&conn->admission);
	budget_give_back(&conn->share);
	secret_buf_free(&conn->head);
	free(conn);
}

/* By now evhttp has made its connection around the bufferevent and is the
 * argument of its callbacks. */
static void adopt(struct conn *conn)
{
	struct conn_table *table = conn->worker->conns;
	size_t fd = (size_t)bufferevent_getfd(conn->bev), n = table->by_fd_n;
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);
	char *address = NULL;
	void *evcon = NULL;
	uint16_t port;

	bufferevent_getcb(conn->bev, NULL, NULL, NULL, &evcon);
	conn->evcon = evcon;
	conn->fd = (int)fd;
	evhttp_connection_set_closecb(conn->evcon, on_conn_close, conn);
	if (fd >= n) {
		table->by_fd_n = fd * 2 + 64;
		table->by_fd = mem_grow(table->by_fd, table->by_fd_n, sizeof(*table->by_fd));
		memset(table->by_fd + n, 0, (table->by_fd_n - n) * sizeof(*table->by_fd));
	}
	table->by_fd[fd] = conn;
	evhttp_connection_get_peer(conn->evcon, &address, &port);
	/* The peer of a Unix-domain socket has no address. */
	if (getsockname(conn->fd, (struct sockaddr *)&own, &len) == 0 && own.ss_family == AF_UNIX)
		address = (char *)CIDR_UNIX;
	snprintf(conn->peer, sizeof(conn->peer), "%s", address ? address : "");
	find_client(conn, NULL);
}

/* Runs when the connection was just accepted; when a request was answered, as
 * pipelined bytes may hold the next one; and when evhttp has sent 100 Continue.
 * evhttp parses pipelined bytes later than this, and new bytes in the next
 * iteration of the loop at the earliest. */
static void on_conn_resume(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	(void)fd;
	(void)what;
	if (conn->evcon == NULL)
		adopt(conn);
	else if (conn->phase == CONN_IDLE && conn->head.len == 0)
		feed_request(conn, input);
	if (conn->phase > CONN_BODY)
		return;
	intercept(conn);
	bufferevent_setwatermark(conn->bev, EV_READ, 0, 0);
}

struct bufferevent *conn_on_accept(struct event_base *base, void *arg)
{
	struct worker *worker = arg;
	struct conn *conn = mem_new(struct conn);

	conn->worker = worker;
	conn->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	evbuffer_add_cb(bufferevent_get_input(conn->bev), on_conn_input, conn);
	conn->resume = event_new(base, -1, 0, on_conn_resume, conn);
	event_active(conn->resume, EV_READ, 0);
	enter(conn, CONN_IDLE);
	of_thread = worker->conns;
	LIST_INSERT_HEAD(&worker->conns->conns, conn, link);
	listener_opened(worker->listener);
	return conn->bev;
}

/* evhttp is about to read again. Pipelined bytes are checked first: until then
 * the high watermark keeps the bufferevent from reading more. */
static void on_request_complete(struct evhttp_request *evreq, void *arg)
{
	struct conn *conn = arg;
	size_t ahead = evbuffer_get_length(bufferevent_get_input(conn->bev));

	(void)evreq;
	budget_give_back(&conn->share);
	enter(conn, CONN_IDLE);
	find_client(conn, NULL);
	if (!TAILQ_EMPTY(&of_thread->waiting))
		event_active(of_thread->room, EV_READ, 0);
	conn->is_head_method = false;
	bufferevent_setwatermark(conn->bev, EV_READ, 0, ahead);
	event_active(conn->resume, EV_READ, 0);
}

/* The host of a target in absolute form replaces the field Host (RFC 9112 3.2.2). evhttp takes such
 * a request for one to a proxy, after which it would close the connection. */
static void use_host_of_target(struct evhttp_request *evreq)
{
	struct evkeyvalq *fields = evhttp_request_get_input_headers(evreq);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(evreq);
	int port = evhttp_uri_get_port(uri);
	_cleanup_free_ char *host = NULL;

	/* evhttp finds a host in //path, too. */
	if (evhttp_uri_get_scheme(uri) == NULL)
		return;
	host = port > 0 ? mem_printf("%s:%d", evhttp_uri_get_host(uri), port)
			: mem_strdup(evhttp_uri_get_host(uri));
	evreq->flags &= ~EVHTTP_PROXY_REQUEST;
	evhttp_remove_header(fields, "Host");
	evhttp_add_header(fields, "Host", host);
}

void conn_on_request(struct evhttp_request *evreq, void *arg)
{
	struct worker *worker = arg;
	struct conn *conn = of_request(worker, evreq);
	struct request *request = mem_new(struct request);
	struct problem *problem = &request->admission.problem;

	enter(conn, CONN_BUSY);
	bufferevent_setwatermark(conn->bev, EV_READ, 0, 0);
	evhttp_request_set_on_complete_cb(evreq, on_request_complete, conn);
	use_host_of_target(evreq);
	request->worker = worker;
	request->evreq = evreq;
	request->began_us = clock_monotonic_us();
	id_new(request->id);
	request->admission = TAKE(conn->admission);
	memcpy(request->client, conn->client, sizeof(request->client));
	worker->requests++;
	/* Never reached. If evhttp saw a request that conn did not check, it is
	 * refused here. */
	if (request->admission.route == NULL && problem->kind == PROBLEM_NONE)
		problem_fixed(problem, PROBLEM_INTERNAL);
	if (problem->kind != PROBLEM_NONE)
		reply_problem(request, problem);
	else if (request->admission.route->pooled)
		reply_from_pool(request, request->admission.route->handle);
	else
		request->admission.route->handle(request);
}

void conn_send_answer(struct worker *worker, struct evhttp_request *evreq, int status,
	struct evbuffer *body, struct budget_share *share)
{
	struct conn *conn;

	if (evhttp_request_get_connection(evreq) == NULL) {
		evhttp_send_reply(evreq, status, http_reason(status), body);
		return;
	}
	conn = of_request(worker, evreq);
	enter(conn, CONN_ANSWERED);
	if (evbuffer_get_length(body) > UNCOUNTED_ANSWER_MAX)
		conn->share = TAKE(*share);
	evhttp_send_reply(evreq, status, http_reason(status), body);
	/* evhttp now reads, to notice EOF. But a client that has stopped
	 * sending may still be reading. */
	bufferevent_disable(conn->bev, EV_READ);
}

void conn_start_stream(struct worker *worker, struct evhttp_request *evreq, int status)
{
	if (evhttp_request_get_connection(evreq)) {
		struct conn *conn = of_request(worker, evreq);

		enter(conn, CONN_STREAM);
		/* evhttp reads, to notice EOF. */
		bufferevent_setwatermark(conn->bev, EV_READ, 0, 1);
	}
	evhttp_send_reply_start(evreq, status, http_reason(status));
}

ssize_t conn_stream_unsent(const struct evhttp_request *evreq)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(
		(struct evhttp_request *)evreq);

	if (connection == NULL)
		return -1;
	return (ssize_t)evbuffer_get_length(
		bufferevent_get_output(evhttp_connection_get_bufferevent(connection)));
}

void conn_end_stream(struct worker *worker, struct evhttp_request *evreq)
{
	if (evhttp_request_get_connection(evreq))
		enter(of_request(worker, evreq), CONN_ANSWERED);
	evhttp_send_reply_end(evreq); /* this may free the connection */
}
