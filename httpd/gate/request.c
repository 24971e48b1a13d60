/*
 * request: one HTTP request while it is handled, and the write that it makes.
 *
 * Threads: the worker's; on_change_committed() is called on the committer's.
 */
#include "httpd/gate/request.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/worker/worker.h"

const char *request_query(const struct request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(
		request->http);
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;

	return query ? query : "";
}

const char *request_client(const struct request *request)
{
	struct evhttp_connection *http = evhttp_request_get_connection(
		request->http);
	char *address = NULL;
	uint16_t port;

	if (http)
		evhttp_connection_get_peer(http, &address, &port);
	return address;
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
	free(request->answer_id);
	free(request);
}

static void on_change_done(struct task *task)
{
	struct change *change = (struct change *)task;

	change->done(change);
}

static void on_change_committed(void *arg, int result, const struct err *err)
{
	struct change *change = arg;

	change->result = result;
	if (result < 0)
		change->err = *err;
	task_queue_post(change->request->worker->tasks, &change->task);
}

void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*done)(struct change *change))
{
	const char *client = request_client(request);
	const struct key *key = &request->admission.key;

	/* The client may leave before the write is made. */
	snprintf(change->client, sizeof(change->client), "%s",
		client ? client : "");
	change->actor = (struct db_actor){
		"key", key->id, key->name ? key->name : "", change->client};
	change->job.actor = &change->actor;
	change->task.run = on_change_done;
	change->request = request;
	change->done = done;
	change->job.run = run;
	change->job.done = on_change_committed;
	change->job.arg = change;
	committer_submit(request->worker->shared->committer, &change->job);
}

int change_failed(
	const struct change *change, const char *event, struct problem *problem)
{
	log_error(change->request->worker->log, event, "request",
		change->request->id, "error", change->err.text);
	return problem_from_err(problem, &change->err);
}
