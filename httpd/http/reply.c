/*
 * reply: answers, their header fields, and their log lines.
 *
 * Threads: the worker's.
 */
#include "httpd/http/reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/http/dialect.h"
#include "httpd/http/request.h"
#include "httpd/worker.h"

/* Without the query, where secrets are pasted by mistake. */
static const char *path_of(const struct request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(
		request->http);

	return uri ? evhttp_uri_get_path(uri) : NULL;
}

static void log_reply(const struct request *request, int status)
{
	int64_t took_us = clock_monotonic_us() - request->began_us;
	const struct route *route = request->admission.route;
	const struct key *key = &request->admission.key;

	log_info(request->worker->log, "request", "request", request->id,
		"status", LOG_INT(status), "method", route ? route->method : NULL,
		"route", route ? route->pattern : NULL, "target",
		route ? NULL : path_of(request), "key",
		key->name ? key->id : NULL, "took_us", LOG_INT(took_us));
}

static void free_json(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	free(arg);
}

/* Sends the text, which is given away, and ends the request. */
static void send_text(
	struct request *request, int status, const char *type, char *text)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(
		request->http);
	struct evbuffer *body = evbuffer_new();
	char len[24];

	snprintf(len, sizeof(len), "%zu", strlen(text));
	evhttp_add_header(fields, "Content-Length", len);
	evhttp_add_header(fields, "Content-Type", type);
	evhttp_add_header(fields, "X-Request-Id", request->id);
	if (request->worker->draining)
		evhttp_add_header(fields, "Connection", "close");
	evbuffer_add_reference(body, text, strlen(text), free_json, text);
	log_reply(request, status);
	if (evhttp_request_get_command(request->http) == EVHTTP_REQ_HEAD)
		evbuffer_drain(body, evbuffer_get_length(body));
	evhttp_send_reply(request->http, status, NULL, body);
	evbuffer_free(body);
	request_free(request);
}

void reply_json(struct request *request, int status, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);
	struct problem problem = PROBLEM_INIT;

	json_decref(object);
	if (text) {
		send_text(request, status, "application/json; charset=utf-8",
			text);
		return;
	}
	log_error(request->worker->log, "answer_unprintable", "request",
		request->id);
	problem_fixed(&problem, PROBLEM_INTERNAL);
	reply_problem(request, &problem);
}

void reply_problem(struct request *request, const struct problem *problem)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(
		request->http);
	int retry_after_s = problem_retry_after_s(problem);
	struct dialect_answer answer;
	char number[16];

	dialect_problem(request->admission.route, problem, &answer);
	if (problem->allow[0])
		evhttp_add_header(fields, "Allow", problem->allow);
	if (answer.authenticate)
		evhttp_add_header(
			fields, "WWW-Authenticate", answer.authenticate);
	if (retry_after_s > 0) {
		snprintf(number, sizeof(number), "%d", retry_after_s);
		evhttp_add_header(fields, "Retry-After", number);
	}
	send_text(request, answer.status, answer.content_type, answer.body);
}

void reply_raw_problem(struct worker *worker, const struct route *route,
	struct evbuffer *output, const struct problem *problem, bool is_head)
{
	int retry_after_s = problem_retry_after_s(problem);
	struct dialect_answer answer;
	char id[ID_SIZE];

	dialect_problem(route, problem, &answer);
	id_new(id);
	evbuffer_add_printf(output,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Connection: close\r\nX-Request-Id: %s\r\n",
		answer.status, problem_name(problem), answer.content_type,
		strlen(answer.body), id);
	if (problem->allow[0])
		evbuffer_add_printf(output, "Allow: %s\r\n", problem->allow);
	if (answer.authenticate)
		evbuffer_add_printf(output, "WWW-Authenticate: %s\r\n",
			answer.authenticate);
	if (retry_after_s > 0)
		evbuffer_add_printf(output, "Retry-After: %d\r\n", retry_after_s);
	evbuffer_add_printf(output, "\r\n%s", is_head ? "" : answer.body);
	free(answer.body);
	log_info(worker->log, "request_refused", "request", id, "status",
		LOG_INT(answer.status), "reason", problem->text);
}
