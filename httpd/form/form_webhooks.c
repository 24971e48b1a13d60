/*
 * form_webhooks: /v3/domains/{domain}/webhooks: for each name of event, the
 * URLs that are notified. Some clients compare the messages word for word.
 *
 * Threads: the worker's; for changes render_urls() runs on the committer's.
 */
#include "httpd/form/api_form.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_webhook.h"
#include "httpd/admission/change.h"
#include "httpd/form/form.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

enum { NAME_SIZE = 40, URLS_READ_MAX = OP_WEBHOOK_URLS_MAX + 1 };

struct webhook_change {
	struct change change; /* first */
	struct op op;
	struct op_webhook_urls input; /* form and name own its strings */
	char name[NAME_SIZE];
	const char *urls[URLS_READ_MAX];
	struct form form;
	struct conf *conf; /* a copy */
	json_t *answer;
};

/* Reads the name in the path, after `/webhooks/`; "" if there is none. One that does not fit is
 * cut: it is no name of an event either way. */
static void read_webhook_name(const struct request *request, char name[static NAME_SIZE])
{
	const char *from = strstr(request_path(request), "/webhooks/");

	from = from ? from + strlen("/webhooks/") : "";
	snprintf(name, NAME_SIZE, "%.*s", (int)strcspn(from, "/"), from);
}

static void init_op(struct request *request, const struct conf *conf, struct op *op)
{
	const struct key *key = &request->admission.key;

	*op = (struct op){.db = request->db,
		.conf = conf,
		.now_us = clock_now_us(request->worker->shared->clock),
		.actor = OP_KEY,
		.company_id = key->company_id,
		.domain = key->domain};
}

static void explain_webhook(
	const struct request *request, int result, const struct err *err, struct problem *problem)
{
	if (result == 0)
		problem_set(problem, PROBLEM_NOT_FOUND, "Webhook not found");
	else if (result < 0 &&
		 (err->code == ERR_INVALID || err->code == ERR_EXISTS || err->code == ERR_DENIED))
		problem_set(problem, PROBLEM_PARAMETER, "%s", err->text);
	else if (result < 0)
		request_failed(request, "operation_failed", err, problem);
}

/* Renders the URLs of one name as a webhook, or all without a name. */
static json_t *render_urls(const struct op *op, const char *name, const char *message)
{
	json_t *all = json_object_get(op->result.more, "webhooks");
	json_t *answer = str_empty(name)
				 ? json_pack("{s:O}", "webhooks", all)
				 : json_pack("{s:O}", "webhook", json_object_get(all, name));

	if (message)
		json_object_set_new(answer, "message", json_string(message));
	return answer;
}

void api_form_webhooks(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	char name[NAME_SIZE];
	struct op op;
	int found;

	read_webhook_name(request, name);
	init_op(request, request->conf, &op);
	found = request->admission.route->operation->run(&op,
		&(struct op_webhook_urls){
			.domain = request->admission.param, .name = *name ? name : NULL},
		&err);
	explain_webhook(request, found, &err, &problem);
	reply_either(request, &problem, 200, found > 0 ? render_urls(&op, name, NULL) : NULL);
	op_clear(&op);
}

static int read_form(struct webhook_change *change, struct problem *problem)
{
	struct request *request = change->change.request;
	const char *type = request_header(request, "Content-Type"), *id = NULL;
	const struct form_field *field = NULL;
	struct err err = ERR_INIT;
	size_t len;
	const char *body = request_body(request, &len);
	int result = 0;

	if (len > 64 * 1024)
		return problem_fixed(problem, PROBLEM_TOO_LARGE);
	if (len > 0 && type && str_starts_nocase(type, "multipart/form-data"))
		result = form_parse_multipart(type, body, len, &change->form, &err);
	else if (len > 0)
		result = form_parse_urlencoded(body, len, &change->form, &err);
	if (result < 0)
		return problem_set(problem, PROBLEM_BAD_REQUEST, "%s", err.text);
	while ((field = form_next(&change->form, "url", field)) != NULL &&
		change->input.n < URLS_READ_MAX) {
		if (form_text_check(field, problem) < 0)
			return -1;
		change->urls[change->input.n++] = buf_str(&((struct form_field *)field)->value);
	}
	if (form_text(&change->form, "id", &id, problem) < 0)
		return -1;
	if (*change->name == '\0') {
		if (id == NULL || strlen(id) >= NAME_SIZE)
			return problem_set(problem, PROBLEM_PARAMETER,
				"'id' parameter must be the name of a webhook");
		*stpncpy(change->name, id, NAME_SIZE - 1) = '\0';
	}
	return 0;
}

static int run_change(struct db *db, void *arg, struct err *err)
{
	struct webhook_change *change = arg;
	const struct operation *operation = change->change.request->admission.route->operation;
	int result;

	change->op.db = db;
	result = operation->run(&change->op, &change->input, err);
	if (result > 0)
		change->answer = operation == &op_webhook_urls_test
					 ? json_pack("{s:i, s:s}", "code", 200, "message",
						   "Test is queued")
					 : render_urls(&change->op, change->name,
						   operation == &op_webhook_urls_add
							   ? "Webhook has been created"
						   : operation == &op_webhook_urls_set
							   ? "Webhook has been updated"
							   : "Webhook has been deleted");
	return result;
}

static void free_change(struct webhook_change *change)
{
	op_clear(&change->op);
	form_clear(&change->form);
	conf_free(change->conf);
	free(change);
}

static void on_changed(struct change *done)
{
	struct webhook_change *change = (struct webhook_change *)done;
	struct problem problem = done->refused;

	if (problem.kind == PROBLEM_NONE)
		explain_webhook(done->request, done->result, &done->err, &problem);
	reply_changed(done->request, &problem, change->answer);
	free_change(change);
}

void api_form_webhook_change(struct request *request)
{
	struct webhook_change *change = mem_new(struct webhook_change);
	struct problem problem = PROBLEM_INIT;

	change->change.request = request;
	change->conf = conf_copy(request->worker->conf);
	init_op(request, change->conf, &change->op);
	read_webhook_name(request, change->name);
	change->input = (struct op_webhook_urls){
		.domain = request->admission.param, .name = change->name, .urls = change->urls};
	if (read_form(change, &problem) < 0) {
		reply_problem(request, &problem);
		free_change(change);
		return;
	}
	change_submit(request, &change->change, run_change, on_changed);
}
