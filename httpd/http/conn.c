/*
 * conn: the bytes of one connection, looked at before evhttp parses them.
 *
 * A callback on the input buffer sees what the socket gave; evhttp's own read
 * callback runs after it. A conn begins with its bufferevent, learns evhttp's
 * connection before any byte can arrive, and ends in evhttp's close callback.
 *
 * evhttp drops a connection when it hears of the end of the input, with every
 * request that it has not looked at, and every answer that is not written yet.
 * So the input is read only while a request is still to come: not from the end
 * of a request to the end of its answer, and not while the next one lies in the
 * input already. Where a request is cut off by the end, it is refused.
 *
 * Threads: the worker's.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "httpd/base/worker.h"
#include "httpd/http/acceptor.h"
#include "httpd/http/conn_private.h"

/* A refused request whose body is at most this long is read to its end and
 * answered on a connection that stays open. */
enum { SMALL_BODY = 16 * 1024 };

/* The kernel takes an answer of this size at once from a client that reads, in
 * one write; its place is free for the next request before the client has it. */
enum { SMALL_ANSWER = 16 * 1024 };

void conn_forget_head(struct conn *conn)
{
	if (conn->head.data)
		secret_wipe(conn->head.data, conn->head.len);
	buf_free(&conn->head);
}

void conn_enter(struct conn *conn, enum conn_phase phase)
{
	conn->phase = phase;
	conn->since_us = clock_monotonic_us();
}

static void conn_free(struct conn *conn)
{
	conn_table_remove(conn->worker->conns, conn);
	event_free(conn->resume);
	admission_clear(&conn->admission);
	budget_give_back(&conn->share);
	conn_forget_head(conn);
	free(conn);
}

static int refuse_fault(struct conn *conn, const struct http_fault *fault)
{
	struct problem problem = PROBLEM_INIT;

	problem_set(&problem, problem_kind_of_status(fault->status), "%s",
		fault->text);
	conn_refuse(conn, &problem);
	return -1;
}

/* Whether evhttp knows the method, and reads a body with it. */
static bool is_common_method(struct http_text method)
{
	static const char *const common[] = {
		"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (http_text_is(method, common[i]))
			return true;
	return false;
}

/* Whether evhttp takes the path for a host name, which it may find malformed. */
static bool looks_like_authority(struct http_text path)
{
	return path.len > 1 && path.data[1] == '/';
}

/* Whether a problem can wait until the body is there, and evhttp may see the
 * request. */
static bool can_wait(const struct http_head *head)
{
	if (looks_like_authority(head->path))
		return false;
	if (!is_common_method(head->method))
		return http_text_is(head->method, "HEAD") &&
		       head->framing == HTTP_NO_BODY;
	return head->framing == HTTP_NO_BODY ||
	       (head->framing == HTTP_LENGTH && head->length <= SMALL_BODY &&
		       !head->expects_continue);
}

/* Instead of evhttp's, which has the same argument. */
static void on_conn_event(struct bufferevent *bev, short what, void *http)
{
	struct conn *conn = conn_of_bufferevent(bev);

	if ((what & BEV_EVENT_EOF) &&
		(conn->phase == CONN_HEAD || conn->phase == CONN_BODY))
		refuse_fault(conn,
			&(struct http_fault){400,
				"The connection ended within the request."});
	else
		conn->on_event(bev, what, http);
}

/* Puts itself before evhttp, which sets its callbacks anew for each request and
 * must not see a head before it is known to be good. */
static void stand_before(struct conn *conn)
{
	bool in_head = conn->phase == CONN_IDLE || conn->phase == CONN_HEAD;
	bufferevent_data_cb on_read, on_write;
	bufferevent_event_cb on_event;
	void *http;

	bufferevent_getcb(conn->bev, &on_read, &on_write, &on_event, &http);
	if (on_event != on_conn_event) {
		conn->on_read = on_read;
		conn->on_event = on_event;
	}
	bufferevent_setcb(conn->bev, in_head ? NULL : conn->on_read, on_write,
		on_conn_event, http);
}

static void begin_body(struct conn *conn, const struct http_head *head)
{
	conn->framing = head->framing;
	conn->body_left = head->length;
	conn->body_seen = 0;
	conn->chunks = (struct http_chunks){0};
	if (head->expects_continue)
		event_active(conn->resume, EV_READ, 0);
	conn_enter(conn, head->framing == HTTP_NO_BODY ? CONN_WHOLE : CONN_BODY);
	stand_before(conn);
}

/* The head is complete. */
static int take_head(struct conn *conn, size_t len)
{
	struct http_head head;
	struct http_fault fault;

	if (http_head_parse(conn->head.data, len, &head, &fault) < 0)
		return refuse_fault(conn, &fault);
	conn->is_head_method = http_text_is(head.method, "HEAD");
	admission_clear(&conn->admission);
	admission_decide(conn->worker, &head, &conn->admission);
	if (conn->admission.problem.kind != PROBLEM_NONE && !can_wait(&head)) {
		conn_refuse(conn, &conn->admission.problem);
		return -1;
	}
	begin_body(conn, &head);
	return 0;
}

/* Takes bytes of a head: returns how many belong to it, -1 when refused. */
static ssize_t feed_head(struct conn *conn, const char *data, size_t len)
{
	struct http_fault fault = {0, NULL};
	size_t before = conn->head.len, end;

	if (len > HTTP_HEAD_MAX - before)
		len = HTTP_HEAD_MAX - before;
	buf_add(&conn->head, data, len);
	end = http_head_end(
		conn->head.data, conn->head.len, conn->scanned, &fault);
	if (fault.status != 0)
		return refuse_fault(conn, &fault);
	conn->scanned = conn->head.len;
	if (end == 0) {
		if (conn->phase == CONN_IDLE)
			conn_enter(conn, CONN_HEAD);
		return (ssize_t)len;
	}
	if (take_head(conn, end) < 0)
		return -1;
	conn_forget_head(conn);
	conn->scanned = 0;
	return (ssize_t)(end - before);
}

static ssize_t feed_chunks(struct conn *conn, char *data, size_t len)
{
	size_t used = 0;

	switch (http_chunks_scan(&conn->chunks, data, len, &used)) {
	case CHUNKS_END:
		conn_enter(conn, CONN_WHOLE);
		break;
	case CHUNKS_BAD:
		return refuse_fault(conn,
			&(struct http_fault){
				400, "The chunked request body is malformed."});
	case CHUNKS_MORE:
		break;
	}
	conn->body_seen += used;
	if (conn->admission.problem.kind == PROBLEM_NONE &&
		admission_grow(conn->worker, &conn->admission,
			conn->chunks.size, &conn->admission.problem) < 0) {
		conn_refuse(conn, &conn->admission.problem);
		return -1;
	}
	return (ssize_t)used;
}

static ssize_t feed_length(struct conn *conn, size_t len)
{
	size_t n = conn->body_left < len ? (size_t)conn->body_left : len;

	conn->body_seen += n;
	conn->body_left -= n;
	if (conn->body_left == 0)
		conn_enter(conn, CONN_WHOLE);
	return (ssize_t)n;
}

/* Takes new bytes, as far as they belong to the request that is coming. False
 * when there is nothing more to look at. */
static bool feed(struct conn *conn, char *data, size_t len)
{
	while (len > 0) {
		ssize_t used;

		if (conn->phase == CONN_IDLE || conn->phase == CONN_HEAD)
			used = feed_head(conn, data, len);
		else if (conn->phase != CONN_BODY)
			return false;
		else if (conn->framing == HTTP_CHUNKED)
			used = feed_chunks(conn, data, len);
		else
			used = feed_length(conn, len);
		if (used < 0)
			return false;
		data += used;
		len -= (size_t)used;
	}
	return true;
}

/* Looks at the last n bytes of the input. */
static void look(struct conn *conn, struct evbuffer *input, size_t n)
{
	struct evbuffer_ptr at;
	struct evbuffer_iovec parts[16];
	size_t left = n;

	while (left > 0) {
		int used;

		evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - left,
			EVBUFFER_PTR_SET);
		used = evbuffer_peek(
			input, (ev_ssize_t)left, &at, parts, ARRAY_SIZE(parts));
		for (int i = 0; i < used && i < (int)ARRAY_SIZE(parts); i++) {
			size_t len = parts[i].iov_len < left ? parts[i].iov_len
							     : left;

			if (!feed(conn, parts[i].iov_base, len))
				return;
			left -= len;
		}
	}
}

/* Whether all n new bytes are of a body whose length is known: then there is
 * nothing to look at, and finding them would cost more the longer it is. */
static bool is_within_body(const struct conn *conn, size_t n)
{
	return conn->phase == CONN_BODY && conn->framing == HTTP_LENGTH &&
	       n <= conn->body_left;
}

static void on_conn_input(
	struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct conn *conn = arg;

	if (info->n_added == 0)
		return;
	/* Between requests nothing that is there was looked at before: a client
	 * may have sent ahead. */
	if (conn->phase == CONN_REFUSED)
		evbuffer_drain(input, evbuffer_get_length(input));
	else if (is_within_body(conn, info->n_added))
		feed_length(conn, info->n_added);
	else
		look(conn, input,
			conn->phase == CONN_IDLE ? evbuffer_get_length(input)
						 : info->n_added);
}

/* evhttp is about to read again. What the client sent ahead is looked at first:
 * until then the input is as full as it may be. */
static void on_request_complete(struct evhttp_request *http, void *arg)
{
	struct conn *conn = arg;
	size_t ahead = evbuffer_get_length(bufferevent_get_input(conn->bev));

	(void)http;
	budget_give_back(&conn->share);
	conn_enter(conn, CONN_IDLE);
	conn->is_head_method = false;
	bufferevent_setwatermark(conn->bev, EV_READ, 0, ahead);
	event_active(conn->resume, EV_READ, 0);
}

static void on_conn_close(struct evhttp_connection *http, void *arg)
{
	struct conn *conn = arg;

	(void)http;
	evbuffer_remove_cb(bufferevent_get_input(conn->bev), on_conn_input, conn);
	conn_free(conn);
}

/* evhttp has made its connection around the bufferevent by now, and stands
 * behind the bufferevent's callbacks. */
static void adopt(struct conn *conn)
{
	void *http = NULL;

	bufferevent_getcb(conn->bev, NULL, NULL, NULL, &http);
	conn->http = http;
	conn->fd = bufferevent_getfd(conn->bev);
	evhttp_connection_set_closecb(conn->http, on_conn_close, conn);
	conn_table_adopt(conn->worker->conns, conn);
}

/* Just accepted; or a request is answered, and what the client sent ahead is
 * the next one; or evhttp has told the client to go on. evhttp gets to what was
 * sent ahead later, and to new bytes not before the next round. */
static void on_conn_resume(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	(void)fd;
	(void)what;
	if (conn->http == NULL)
		adopt(conn);
	else if (conn->phase == CONN_IDLE && conn->head.len == 0)
		look(conn, input, evbuffer_get_length(input));
	if (conn->phase > CONN_BODY)
		return;
	stand_before(conn);
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
	conn_enter(conn, CONN_IDLE);
	conn_table_add(worker->conns, conn);
	acceptor_took_one(worker->acceptor);
	return conn->bev;
}

void conn_begin(struct conn *conn, struct evhttp_request *http,
	struct admission *admission_r)
{
	conn_enter(conn, CONN_BUSY);
	bufferevent_setwatermark(conn->bev, EV_READ, 0, 0);
	*admission_r = conn->admission;
	memset(&conn->admission, 0, sizeof(conn->admission));
	evhttp_request_set_on_complete_cb(http, on_request_complete, conn);
}

void conn_answer(struct conn *conn, size_t bytes, struct budget_share *share)
{
	conn_enter(conn, CONN_ANSWERED);
	conn->unread = 0;
	conn->unread_most = 0;
	if (bytes <= SMALL_ANSWER)
		return;
	conn->share = *share;
	*share = (struct budget_share){0};
}

/* evhttp reads from here on, to hear of the end of the input: but who has
 * stopped sending may still be reading. */
void conn_answering(struct conn *conn)
{
	bufferevent_disable(conn->bev, EV_READ);
}
