/*
 * send_request: reads emails out of the body of an HTTP request, and sends them.
 *
 *   send_request ─(pool, if it may take long)─> read_body ─> on_body_read ─> send_emails
 *     ─> on_sent: done() of the dialect answers
 *
 * Threads: the worker's, except for read_body(), which may be the pool's.
 */
#include "httpd/send/send_request.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/admission/request.h"
#include "httpd/send/idempotency.h"
#include "httpd/send/send.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

struct sending {
	struct request *request;
	void (*done)(struct request *request, const struct send_outcome *outcome);
};

static void on_sent(void *arg, const struct send_outcome *outcome)
{
	struct sending *sending = arg;
	struct request *request = sending->request;

	if (outcome->n == 1 && send_first_problem(outcome) == NULL)
		memcpy(request->email_id, outcome->results->id, ID_SIZE);
	sending->done(request, outcome);
	free(sending);
}

void send_request_emails(struct request *request, const struct send_spec *spec,
	void (*done)(struct request *request, const struct send_outcome *outcome))
{
	struct sending *sending = mem_new(struct sending);
	struct send_spec own = *spec;

	sending->request = request;
	sending->done = done;
	own.worker = request->worker;
	own.admission = &request->admission;
	own.request_id = request->id;
	own.done = on_sent;
	own.arg = sending;
	send_emails(&own);
}

/* Larger bodies are parsed in the pool. So few bytes never take a millisecond, and handing them to
 * another thread would take as long. */
enum { PARSE_ON_LOOP_MAX = 8 * 1024 };

struct reading {
	struct work work;
	struct request *request; /* the worker's */
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

static void clear_parsed(struct send_parsed *parsed)
{
	size_t n = parsed->personal ? 1 : parsed->n;

	for (size_t i = 0; parsed->emails && i < n; i++)
		draft_clear(&parsed->emails[i]);
	if (parsed->personal)
		parsed->personal->free(parsed->personal);
	free(parsed->emails);
	free(parsed->problems);
	free(parsed->answer_id);
	*parsed = (struct send_parsed){0};
}

static bool read_body(struct work *work)
{
	struct reading *reading = CONTAINER_OF(work, struct reading, work);
	const struct send_dialect *dialect = reading->dialect;
	struct send_body *body = &reading->body;

	if (body->len > 0)
		body->data = (const char *)evbuffer_pullup(body->held, -1);
	if (reading->has_key)
		idempotency_hash(dialect->action, body->data, body->len, reading->payload);
	if (dialect->parse(body, &reading->parsed, &reading->problem) < 0) {
		clear_parsed(&reading->parsed);
		if (reading->problem.kind == PROBLEM_NONE)
			problem_fixed(&reading->problem, PROBLEM_INTERNAL);
	}
	send_body_drop(body);
	return true;
}

static void on_body_read(struct task *task)
{
	struct reading *reading = CONTAINER_OF(task, struct reading, work.done);
	struct request *request = reading->request;
	struct send_parsed *parsed = &reading->parsed;

	if (reading->problem.kind != PROBLEM_NONE) {
		reply_problem(request, &reading->problem);
	} else {
		request->answer_id = TAKE_PTR(parsed->answer_id);
		send_request_emails(request,
			&(const struct send_spec){
				.draft = parsed->emails,
				.personal = TAKE_PTR(parsed->personal),
				.problems = parsed->problems,
				.n = parsed->n,
				.permissive = reading->dialect->permissive,
				.payload = reading->has_key ? reading->payload : NULL,
			},
			reading->dialect->done);
		/* The drafts were moved away or cleared. */
		parsed->n = 0;
	}
	clear_parsed(parsed);
	free(reading->type);
	free(reading->encoding);
	free(reading);
}

static char *field(struct request *request, const char *name)
{
	const char *value = request_header(request, name);

	return mem_strdup(value ? value : "");
}

void send_request(struct request *request, const struct send_dialect *dialect)
{
	struct reading *reading = mem_new(struct reading);
	struct send_body *body = &reading->body;

	reading->request = request;
	reading->dialect = dialect;
	reading->type = field(request, "Content-Type");
	reading->encoding = field(request, "Content-Encoding");
	reading->has_key = request->admission.has_idempotency_key && dialect->action;
	reading->problem = PROBLEM_INIT;
	*body = (struct send_body){
		.worker = request->worker,
		.admission = &request->admission,
		.data = "",
		.held = request_take_body(request),
		.type = reading->type,
		.encoding = reading->encoding,
	};
	body->len = evbuffer_get_length(body->held);
	reading->work = (struct work){
		.done = {.run = on_body_read},
		.tasks = request->worker->tasks,
		.company_id = request->admission.key.company_id,
		.run = read_body,
	};
	if (body->len > PARSE_ON_LOOP_MAX || *body->encoding) {
		work_pool_submit(request->worker->shared->pool, &reading->work);
	} else {
		read_body(&reading->work);
		on_body_read(&reading->work.done);
	}
}
