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
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/base/worker.h"
#include "httpd/http/answer_fields.h"
#include "httpd/http/conn_private.h"

/* How long a refused client may go on sending without reading the answer. */
enum { LINGER_S = 2 };

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
	evhttp_connection_free(conn->http);
}

/* Writes a head that closes the connection; takes the fields. */
static void write_head(struct evbuffer *output, int status, const char *reason,
	struct evkeyvalq *fields)
{
	struct evkeyval *field;

	evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\n", status, reason);
	TAILQ_FOREACH(field, fields, next)
	evbuffer_add_printf(output, "%s: %s\r\n", field->key, field->value);
	evbuffer_add_printf(output, "Connection: close\r\n\r\n");
	evhttp_clear_headers(fields);
}

/* A whole answer that closes the connection, with what the admission knows of
 * the request; without its body when the method was HEAD. */
static void write_answer(const struct conn *conn, const struct problem *problem)
{
	struct evbuffer *output = bufferevent_get_output(conn->bev);
	const struct admission *admission = &conn->admission;
	struct dialect_answer answer;
	struct evkeyvalq fields;
	char id[ID_SIZE];

	dialect_problem(admission->route, problem, &answer);
	id_new(id);
	TAILQ_INIT(&fields);
	evhttp_add_header(&fields, "Content-Type", answer.content_type);
	answer_fields_number(
		&fields, "Content-Length", (int64_t)strlen(answer.body));
	answer_fields_common(&fields, id, admission);
	answer_fields_problem(&fields, problem, &answer);
	write_head(output, answer.status, problem_name(problem), &fields);
	if (!conn->is_head_method)
		evbuffer_add(output, answer.body, strlen(answer.body));
	free(answer.body);
	log_info(conn->worker->log, "request_refused", "request", id, "status",
		LOG_INT(answer.status), "reason", problem->text);
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
	write_answer(conn, problem);
	bufferevent_disable(conn->bev, EV_READ); /* its end is not ours */
	bufferevent_setwatermark(conn->bev, EV_READ, 0, 0);
	bufferevent_enable(conn->bev, EV_WRITE);
}
