/*
 * send_read: from the body of a request to its emails.
 *
 *   send_request ─> read ─(pool)─> on_read ─> send_emails
 *
 * Threads: read() is for any, the rest is the worker's.
 */
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"
#include "httpd/send/idempotency.h"
#include "httpd/transport/reply.h"
#include "httpd/gate/request.h"
#include "httpd/send/send.h"

/* A body that is read on the worker's loop. Nothing in so few bytes takes a
 * millisecond, and to hand them over would take as long as they do. */
enum { SMALL_BODY = 8 * 1024 };

struct reading {
	struct work work; /* first */
	const struct send_dialect *dialect;
	struct send_body body;
	char *type, *encoding;
	bool has_key; /* an Idempotency-Key that counts: */
	uint8_t payload[SECRET_HASH_LEN];
	struct send_parsed parsed;
	struct problem problem;
};

void send_body_drop(struct send_body *body)
{
	if (body->held)
		evbuffer_free(body->held);
	body->held = NULL;
	body->data = NULL;
}

void send_parsed_clear(struct send_parsed *parsed)
{
	size_t n = parsed->personal ? 1 : parsed->n;

	for (size_t i = 0; parsed->emails && i < n; i++)
		outgoing_clear(&parsed->emails[i]);
	if (parsed->personal)
		parsed->personal->free(parsed->personal);
	free(parsed->emails);
	free(parsed->problems);
	free(parsed->answer_id);
	*parsed = (struct send_parsed){0};
}

static bool read_body(struct work *work)
{
	struct reading *reading = (struct reading *)work;
	const struct send_dialect *dialect = reading->dialect;
	struct send_body *body = &reading->body;

	if (body->len > 0)
		body->data = (const char *)evbuffer_pullup(body->held, -1);
	if (reading->has_key)
		idempotency_hash(dialect->action, body->data, body->len,
			reading->payload);
	if (dialect->parse(body, &reading->parsed, &reading->problem) < 0)
		send_parsed_clear(&reading->parsed);
	send_body_drop(body);
	return true;
}

static void on_read(struct task *task)
{
	struct reading *reading = (struct reading *)task;
	struct request *request = reading->body.request;
	struct send_parsed *parsed = &reading->parsed;

	if (reading->problem.kind != PROBLEM_NONE) {
		reply_problem(request, &reading->problem);
	} else {
		request->answer_id = TAKE_PTR(parsed->answer_id);
		send_emails(request,
			&(const struct send_spec){
				.outgoing = parsed->emails,
				.personal = TAKE_PTR(parsed->personal),
				.problems = parsed->problems,
				.n = parsed->n,
				.permissive = reading->dialect->permissive,
				.payload = reading->has_key ? reading->payload
							    : NULL,
				.done = reading->dialect->done,
			});
		/* They were taken over, or cleared. */
		parsed->n = 0;
	}
	send_parsed_clear(parsed);
	free(reading->type);
	free(reading->encoding);
	free(reading);
}

static char *field(struct request *request, const char *name)
{
	const char *value = evhttp_find_header(
		evhttp_request_get_input_headers(request->http), name);

	return mem_strdup(value ? value : "");
}

void send_request(struct request *request, const struct send_dialect *dialect)
{
	struct reading *reading = mem_new(struct reading);
	struct send_body *body = &reading->body;

	reading->dialect = dialect;
	reading->type = field(request, "Content-Type");
	reading->encoding = field(request, "Content-Encoding");
	reading->has_key = request->admission.has_idempotency_key &&
			   dialect->action;
	reading->problem = PROBLEM_INIT;
	*body = (struct send_body){
		.request = request,
		.data = "",
		.held = request_take_body(request),
		.type = reading->type,
		.encoding = reading->encoding,
	};
	body->len = evbuffer_get_length(body->held);
	reading->work = (struct work){
		.done = {.run = on_read},
		.tasks = request->worker->tasks,
		.company_id = request->admission.key.company_id,
		.run = read_body,
	};
	if (body->len > SMALL_BODY || *body->encoding) {
		work_pool_submit(request->worker->shared->pool, &reading->work);
	} else {
		read_body(&reading->work);
		on_read(&reading->work.done);
	}
}
