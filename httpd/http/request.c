/*
 * request: one HTTP request while it is handled.
 *
 * Threads: the worker's.
 */
#include "httpd/http/request.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/base/worker.h"
#include "httpd/http/conn.h"
#include "httpd/http/idempotency.h"
#include "httpd/http/reply.h"

static struct request *request_begin(
	struct worker *worker, struct evhttp_request *http)
{
	struct request *request = mem_new(struct request);

	request->worker = worker;
	request->http = http;
	request->began_us = clock_monotonic_us();
	id_new(request->id);
	conn_begin(conn_of(worker, http), http, &request->admission);
	worker->requests++;
	return request;
}

void request_on_arrival(struct evhttp_request *http, void *arg)
{
	struct request *request = request_begin(arg, http);

	struct problem *problem = &request->admission.problem;

	/* Not reached; if evhttp saw a request that conn did not, it ends. */
	if (request->admission.route == NULL && problem->kind == PROBLEM_NONE)
		problem_fixed(problem, PROBLEM_INTERNAL);
	if (problem->kind != PROBLEM_NONE)
		reply_problem(request, problem);
	else
		request->admission.route->handle(request);
}

const char *request_query(const struct request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(
		request->http);
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;

	return query ? query : "";
}

const char *request_body(struct request *request, size_t *len_r)
{
	struct evbuffer *input = evhttp_request_get_input_buffer(request->http);

	*len_r = evbuffer_get_length(input);
	return *len_r == 0 ? "" : (const char *)evbuffer_pullup(input, -1);
}

void request_drop_body(struct request *request)
{
	struct evbuffer *input = evhttp_request_get_input_buffer(request->http);

	evbuffer_drain(input, evbuffer_get_length(input));
}

void request_free(struct request *request)
{
	request->worker->requests--;
	admission_clear(&request->admission);
	idempotency_end(request->claim);
	free(request->answer_id);
	free(request);
}
