/*
 * request: one HTTP request while it is handled.
 *
 * Threads: the worker's.
 */
#include "httpd/http/request.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include "core/base/mem.h"
#include "httpd/base/worker.h"
#include "httpd/http/idempotency.h"

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

struct evbuffer *request_take_body(struct request *request)
{
	struct evbuffer *body = evbuffer_new();

	evbuffer_add_buffer(body, evhttp_request_get_input_buffer(request->http));
	return body;
}

void request_free(struct request *request)
{
	request->worker->requests--;
	admission_clear(&request->admission);
	idempotency_end(request->claim);
	free(request->answer_id);
	free(request);
}
