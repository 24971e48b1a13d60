/*
 * request: one HTTP request while it is handled.
 */
#include "httpd/admission/request.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "httpd/worker/worker.h"

const char *request_path(const struct request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request->evreq);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	return path ? path : "";
}

const char *request_query(const struct request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request->evreq);
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;

	return query ? query : "";
}

const char *request_header(const struct request *request, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(request->evreq), name);
}

char *request_own_url(const struct request *request)
{
	const char *host = request_header(request, "Host");
	const char *scheme = request_header(request, "X-Forwarded-Proto");

	if (str_empty(host))
		host = "localhost";
	return mem_printf(
		"%s://%s", scheme && str_eq_nocase(scheme, "https") ? "https" : "http", host);
}

const char *request_body(struct request *request, size_t *len_r)
{
	struct evbuffer *input = evhttp_request_get_input_buffer(request->evreq);

	*len_r = evbuffer_get_length(input);
	return *len_r == 0 ? "" : (const char *)evbuffer_pullup(input, -1);
}

struct evbuffer *request_take_body(struct request *request)
{
	struct evbuffer *body = evbuffer_new();

	evbuffer_add_buffer(body, evhttp_request_get_input_buffer(request->evreq));
	return body;
}

void request_free(struct request *request)
{
	request->worker->requests--;
	admission_clear(&request->admission);
	free(request->answer_id);
	conf_free(request->conf);
	free(request);
}

int request_failed(const struct request *request, const char *event, const struct err *err,
	struct problem *problem)
{
	log_error(request->worker->log, event, "request", request->id, "error", err->text);
	return problem_from_err(problem, err);
}
