/*
 * reply: the answer to a request, and handlers that run in the pool.
 *
 * Threads: the worker's, except for handle_in_pool(), which runs on a thread of
 * the pool. A reply made there is kept until the worker sends it.
 */
#include "httpd/transport/reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_pool.h"
#include "httpd/admission/answer.h"
#include "httpd/admission/credentials.h"
#include "httpd/admission/request.h"
#include "httpd/transport/conn.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

/* problem is NULL when there is none. */
static void log_reply(const struct request *request, int status, const struct problem *problem)
{
	const struct admission *admission = &request->admission;

	answer_note(request->worker, admission,
		&(const struct answer_note){
			.request_id = request->id,
			.status = status,
			.problem = problem,
			.client = request->client,
			.took_us = clock_monotonic_us() - request->began_us,
			/* Without the query, into which people paste secrets by mistake. */
			.target = admission->route ? NULL : request_path(request),
			.email_id = request->email_id,
		});
}

/* Wipes the text, which may contain the token of a new key. */
static void free_text(const void *data, size_t len, void *arg)
{
	(void)data;
	secret_wipe(arg, len);
	free(arg);
}

/* Sends the body and ends the request. A NULL type means that the answer has no
 * content, not even an empty one. */
static void send_body(struct request *request, int status, const char *type, struct evbuffer *body)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(request->evreq);

	if (type) {
		answer_fields_number(fields, "Content-Length", (int64_t)evbuffer_get_length(body));
		evhttp_add_header(fields, "Content-Type", type);
	}
	answer_fields_common(fields, request->id, &request->admission);
	if (request->worker->draining)
		evhttp_add_header(fields, "Connection", "close");
	if (evhttp_request_get_command(request->evreq) == EVHTTP_REQ_HEAD)
		evbuffer_drain(body, evbuffer_get_length(body));
	conn_send_answer(request->worker, request->evreq, status, body, &request->admission.share);
	evbuffer_free(body);
	request_free(request);
}

/* Takes ownership of data. */
static void send_data(struct request *request, int status, const char *type, char *data, size_t len)
{
	struct evbuffer *body = evbuffer_new();

	evbuffer_add_reference(body, data, len, free_text, data);
	send_body(request, status, type, body);
}

static void send_text(struct request *request, int status, const char *type, char *text)
{
	send_data(request, status, type, text, strlen(text));
}

void reply_field(struct request *request, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(request->evreq), name, value);
}

void reply_bytes(struct request *request, int status, const char *type, struct span bytes)
{
	struct evbuffer *body = evbuffer_new();

	if (bytes.len > 0)
		evbuffer_add_reference(body, bytes.data, bytes.len, NULL, NULL);
	log_reply(request, status, NULL);
	send_body(request, status, type, body);
}

void reply_cookie(struct request *request, const char *token, int64_t max_age_s)
{
	const char *url = request->worker->conf->admin.url;
	const char *host = request_header(request, "Host");
	char name[SESSION_COOKIE_SIZE];
	char *cookie;

	credentials_cookie_name((struct span){host, host ? strlen(host) : 0}, url, name);
	cookie = mem_printf("%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", name, token,
		(long long)max_age_s, str_starts(url, "https://") ? "; Secure" : "");
	reply_field(request, "Set-Cookie", cookie);
	secret_text_free(cookie);
}

void reply_text(struct request *request, int status, char *text)
{
	log_reply(request, status, NULL);
	send_text(request, status, "text/plain; charset=utf-8", text);
}

void reply_stream(struct request *request, const char *type)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(request->evreq);

	evhttp_add_header(fields, "Content-Type", type);
	answer_fields_common(fields, request->id, &request->admission);
	evhttp_add_header(fields, "Connection", "close");
	budget_give_back(&request->admission.share);
	log_reply(request, 200, NULL);
	conn_start_stream(request->worker, request->evreq, 200);
}

ssize_t reply_stream_unsent(const struct request *request)
{
	return conn_stream_unsent(request->evreq);
}

void reply_stream_send(struct request *request, const char *text)
{
	struct evbuffer *chunk = evbuffer_new();

	evbuffer_add(chunk, text, strlen(text));
	evhttp_send_reply_chunk(request->evreq, chunk);
	evbuffer_free(chunk);
}

void reply_stream_end(struct request *request)
{
	conn_end_stream(request->worker, request->evreq);
	request_free(request);
}

/* A request that is handled in the pool, and its reply: the problem, or the
 * text if there is none. */
struct pooled_reply {
	struct work work;
	struct request *request;
	void (*handle)(struct request *request);
	struct problem problem;
	int status;
	const struct reply_kind *kind; /* NULL: JSON */
	char *text;
	size_t len;        /* with kind */
	char *disposition; /* the same; may be NULL */
};

static bool handle_in_pool(struct work *work)
{
	struct pooled_reply *reply = CONTAINER_OF(work, struct pooled_reply, work);
	struct request *request = reply->request;
	struct db_pool *readers = request->worker->shared->readers;
	struct err err = ERR_INIT;

	if (db_pool_take(readers, &request->db, &err) < 0) {
		request_failed(request, "store_failed", &err, &reply->problem);
		return true;
	}
	reply->handle(request);
	db_pool_give(readers, request->db,
		reply->problem.kind == PROBLEM_NONE || problem_status(&reply->problem) < 500);
	return true;
}

static void on_handled_in_pool(struct task *task)
{
	struct pooled_reply *reply = CONTAINER_OF(task, struct pooled_reply, work.done);
	struct request *request = reply->request;

	request->db = NULL;
	request->pooled = NULL;
	if (reply->problem.kind != PROBLEM_NONE)
		reply_problem(request, &reply->problem);
	else if (reply->kind)
		reply_file(request, reply->kind, reply->disposition, reply->text, reply->len);
	else
		reply_printed(request, reply->status, reply->text);
	free(reply);
}

void reply_from_pool(struct request *request, void (*handle)(struct request *request))
{
	struct pooled_reply *reply = mem_new(struct pooled_reply);

	reply->request = request;
	reply->handle = handle;
	reply->problem = PROBLEM_INIT;
	reply->work = (struct work){
		.done = {.run = on_handled_in_pool},
		.tasks = request->worker->tasks,
		.company_id = admission_whose(&request->admission),
		.run = handle_in_pool,
	};
	request->pooled = reply;
	/* A copy: the worker may reload its own meanwhile. */
	if (request->admission.is_admin || request->admission.route->reads_conf)
		request->conf = conf_copy(request->worker->conf);
	work_pool_submit(request->worker->shared->pool, &reply->work);
}

void reply_document(struct request *request, const struct reply_kind *kind, char *text)
{
	reply_file(request, kind, NULL, text, strlen(text));
}

void reply_file(struct request *request, const struct reply_kind *kind, char *disposition,
	char *data, size_t len)
{
	_cleanup_free_ char *own = disposition;
	struct problem problem = PROBLEM_INIT;

	if (request->pooled) {
		request->pooled->kind = kind;
		request->pooled->disposition = TAKE_PTR(own);
		request->pooled->text = data;
		request->pooled->len = len;
		return;
	}
	if (admission_reserve_answer(request->worker, &request->admission, len, &problem) < 0) {
		free(data);
		reply_problem(request, &problem);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kind->fields) && kind->fields[i].name; i++)
		reply_field(request, kind->fields[i].name, kind->fields[i].value);
	if (disposition)
		reply_field(request, "Content-Disposition", disposition);
	log_reply(request, 200, NULL);
	send_data(request, 200, kind->type, data, len);
}

void reply_printed(struct request *request, int status, char *text)
{
	struct problem problem = PROBLEM_INIT;

	if (request->pooled) {
		request->pooled->status = status;
		request->pooled->text = text;
		return;
	}
	if (text == NULL) {
		log_error(request->worker->log, "answer_unprintable", "request", request->id);
		problem_fixed(&problem, PROBLEM_INTERNAL);
	} else if (evhttp_request_get_command(request->evreq) == EVHTTP_REQ_GET) {
		/* Only for GET. The answer to a change is small, and must not
		 * be lost for lack of memory. */
		admission_reserve_answer(
			request->worker, &request->admission, strlen(text), &problem);
	}
	if (problem.kind != PROBLEM_NONE) {
		free(text);
		reply_problem(request, &problem);
		return;
	}
	log_reply(request, status, NULL);
	send_text(request, status, "application/json; charset=utf-8", text);
}

void reply_json(struct request *request, int status, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	reply_printed(request, status, text);
}

void reply_problem(struct request *request, const struct problem *problem)
{
	struct dialect_answer answer;
	struct evkeyvalq *fields;

	if (request->pooled) {
		request->pooled->problem = *problem;
		return;
	}
	fields = evhttp_request_get_output_headers(request->evreq);
	dialect_problem(request->admission.route, problem, &answer);
	answer_fields_problem(fields, problem, &answer);
	log_reply(request, answer.status, problem);
	send_text(request, answer.status, answer.content_type, answer.body);
}

void reply_either(
	struct request *request, const struct problem *problem, int status, json_t *object)
{
	if (problem->kind == PROBLEM_NONE) {
		reply_json(request, status, object);
		return;
	}
	json_decref(object);
	reply_problem(request, problem);
}

void reply_changed(struct request *request, const struct problem *problem, json_t *object)
{
	int status = request->admission.route->status;

	reply_either(request, problem, status ? status : 200, object);
}
