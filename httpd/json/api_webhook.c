/*
 * api_webhook: the routes /webhooks: parses the bodies and renders the answers.
 *
 * Some clients fail on event names that they did not send, so the names are
 * returned as they were given.
 */
#include "httpd/json/api_json.h"

#include <event2/http.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_webhook.h"
#include "core/report/event_json.h"
#include "core/store/webhook/store_webhook_event.h"
#include "httpd/admission/request.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

/* Converts an array of names to the comma-separated text of the operation. The
 * body owns the text. */
static int read_events(const json_t *body, struct op_webhook *webhook, struct problem *problem)
{
	const json_t *events = json_object_get(body, "events"), *event;
	struct buf words = BUF_INIT;
	size_t i;

	if (events == NULL || json_is_null(events))
		return 0;
	if (!json_is_array(events) || json_array_size(events) == 0 ||
		json_array_size(events) > OP_WEBHOOK_EVENTS_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `events` field must be an array of 1 to %d types of events.",
			OP_WEBHOOK_EVENTS_MAX);
	json_array_foreach(events, i, event) {
		const char *name = json_string_value(event);

		if (name == NULL || strlen(name) != json_string_length(event) ||
			strchr(name, ',')) {
			buf_free(&words);
			return problem_set(problem, PROBLEM_VALIDATION,
				"The `events[%zu]` field must be a type of events.", i);
		}
		buf_printf(&words, "%s%s", i ? "," : "", name);
	}
	json_object_set_new((json_t *)body, " events", json_string(buf_str(&words)));
	webhook->events = json_string_value(json_object_get(body, " events"));
	buf_free(&words);
	return 0;
}

static int read_status(const json_t *body, struct op_webhook *webhook, struct problem *problem)
{
	const json_t *status = json_field_get(body, "status");
	const char *text = json_string_value(status);

	if (status == NULL)
		return 0;
	if (!str_eq(text ? text : "", "enabled") && !str_eq(text ? text : "", "disabled"))
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `status` field must be `enabled` or `disabled`.");
	webhook->enabled = *text == 'e' ? OP_YES : OP_NO;
	return 0;
}

static int parse_changes(const json_t *body, void *input, struct problem *problem)
{
	struct op_webhook *webhook = input;

	if (json_field_line(body, "endpoint", "endpoint", &webhook->endpoint, problem) < 0 ||
		json_field_line(body, "domain", "domain", &webhook->domain, problem) < 0 ||
		read_events(body, webhook, problem) < 0)
		return -1;
	return read_status(body, webhook, problem);
}

static int parse_webhook(const json_t *body, void *input, struct problem *problem)
{
	const struct op_webhook *webhook = input;

	if (parse_changes(body, input, problem) < 0)
		return -1;
	if (webhook->endpoint == NULL || webhook->events == NULL)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `%s` field.",
			webhook->endpoint ? "events" : "endpoint");
	return 0;
}

static json_t *render_item(const void *item)
{
	const struct webhook *webhook = item;
	json_t *events = webhook->events ? json_loads(webhook->events, 0, NULL) : NULL;
	json_t *object = json_pack("{s:s, s:s, s:o, s:s, s:o}", "id", webhook->id, "endpoint",
		webhook->endpoint, "created_at", row_json_time(webhook->created_us), "status",
		webhook->enabled ? "enabled" : "disabled", "events",
		events ? events : json_array());

	if (webhook->domain)
		json_object_set_new(object, "domain", json_string(webhook->domain));
	return object;
}

static json_t *render_id(const struct op *op)
{
	const struct webhook *webhook = op->result.rows.items;

	return json_pack("{s:s, s:s}", "object", "webhook", "id", webhook->id);
}

static json_t *render_secret(const struct op *op)
{
	json_t *answer = render_id(op);

	json_object_update(answer, op->result.more);
	return answer;
}

static json_t *render_whole(const struct op *op)
{
	json_t *answer = render_secret(op);

	json_object_update_new(answer, render_item(op->result.rows.items));
	return answer;
}

static json_t *render_removed(const struct op *op)
{
	json_t *answer = render_id(op);

	json_object_set_new(answer, "deleted", json_true());
	return answer;
}

static json_t *render_event(const struct webhook_event *event, bool whole)
{
	bool waits = event->status == WEBHOOK_PENDING || event->status == WEBHOOK_ATTEMPTING;
	int64_t due_us = event->due_us == WEBHOOK_REPLAY_DUE ? event->then_us : event->due_us;
	json_t *object = json_pack("{s:s, s:s, s:o, s:s}", "id", event->id, "type", event->type,
		"created_at", event_json_time(event->created_us), "status",
		store_webhook_statuses.names[event->status]);

	if (!whole)
		return object;
	json_object_set_new(object, "object", json_string("webhook_event"));
	json_object_set_new(object, "next_attempt_at", event_json_time(waits ? due_us : 0));
	json_object_set_new(object, "payload", json_loads(event->body, 0, NULL));
	return object;
}

static json_t *render_event_item(const void *item)
{
	return render_event(item, false);
}

static json_t *render_attempt(const void *item)
{
	const struct webhook_attempt *attempt = item;
	json_t *object = json_pack("{s:s, s:I, s:s, s:o}", "id", attempt->id, "http_status_code",
		(json_int_t)attempt->http_status, "response", attempt->response, "sent_at",
		event_json_time(attempt->sent_us));

	if (attempt->error)
		json_object_set_new(object, "error", json_string(attempt->error));
	return object;
}

static json_t *render_event_id(const struct op *op)
{
	const struct webhook_event *event = op->result.rows.items;

	return json_pack("{s:s, s:s}", "object", "webhook_event", "id", event->id);
}

static json_t *render_event_whole(const struct op *op)
{
	return render_event(op->result.rows.items, true);
}

#define MISSING "Webhook not found"
#define DENIED  PROBLEM_RESTRICTED_KEY

const struct manage api_webhook_create = {parse_webhook, render_secret, NULL, MISSING, DENIED};
const struct manage api_webhook_get = {NULL, render_whole, NULL, MISSING, DENIED};
const struct manage api_webhook_update = {parse_changes, render_id, NULL, MISSING, DENIED};
const struct manage api_webhook_remove = {NULL, render_removed, NULL, MISSING, DENIED};
const struct manage api_webhook_rotate = {NULL, render_secret, NULL, MISSING, DENIED};
const struct manage api_webhook_list = {NULL, NULL, render_item, MISSING, DENIED};
const struct manage api_webhook_events = {NULL, NULL, render_event_item, MISSING, DENIED};
const struct manage api_webhook_attempts = {
	NULL, NULL, render_attempt, "Webhook event not found", DENIED};
const struct manage api_webhook_event = {
	NULL, render_event_whole, NULL, "Webhook event not found", DENIED};
const struct manage api_webhook_replay = {
	NULL, render_event_id, NULL, "Webhook event not found", DENIED};

/* Reads the ids of the path: that of the webhook is checked; that of the event
 * is "" if there is none. */
static int read_path(
	const struct request *request, char event_id[static ID_SIZE], struct problem *problem)
{
	const char *path = request_path(request);
	const char *from = strstr(path, "/events/");
	char id[ID_SIZE];

	*event_id = '\0';
	if (!id_parse(request->admission.param, id))
		return problem_set(problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	if (from) {
		size_t len = strcspn(from + strlen("/events/"), "/");

		if (len < ID_SIZE)
			*(char *)mempcpy(event_id, from + strlen("/events/"), len) = '\0';
		if (*event_id == '\0')
			return problem_set(problem, PROBLEM_NOT_FOUND, "%s",
				request->admission.route->manage->missing);
	}
	return 0;
}

/* Reads `limit`, `after` and `before`. Cursors of events and attempts are not
 * UUIDs. Without a limit a list of webhooks has up to 1,000. */
static int read_page(const struct request *request, struct page *page_r, struct problem *problem)
{
	static const char *const names[] = {"limit", "after", "before", NULL};
	const bool of_webhooks = *request->admission.param == '\0';
	struct json_query query;
	const char *after;
	int64_t limit;

	*page_r = (struct page){0};
	if (of_webhooks) {
		if (list_json_parse(request_query(request), page_r, problem) < 0)
			return -1;
		if (json_query_read_text(request_query(request), names, &query, problem) == 0 &&
			json_query_get(&query, "limit") == NULL)
			page_r->limit = 1000;
		return 0;
	}
	if (json_query_read_text(request_query(request), names, &query, problem) < 0 ||
		json_query_number(&query, "limit", 100, 20, &limit, problem) < 0)
		return -1;
	after = json_query_get(&query, "after");
	if (after && strlen(after) >= ID_SIZE)
		return problem_set(
			problem, PROBLEM_PARAMETER, "The `after` parameter is not an id.");
	page_r->limit = (int)limit;
	*stpcpy(page_r->after, after ? after : "") = '\0';
	return 0;
}

void api_webhook_page(struct request *request)
{
	const struct manage *manage = request->admission.route->manage;
	const struct operation *operation = request->admission.route->operation;
	char event_id[ID_SIZE] = "";
	union {
		struct op_webhook webhook;
		struct op_webhook_event event;
	} input = {0};
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if ((*request->admission.param == '\0' || read_path(request, event_id, &problem) == 0) &&
		read_page(request, &op.page, &problem) == 0) {
		if (*event_id)
			input.event.event_id = event_id;
		found = operation->run(&op, &input, &err);
		if (found < 0 && err.code == ERR_NOT_FOUND)
			problem_set(&problem, PROBLEM_NOT_FOUND, "%s", manage->missing);
		else if (list_json_check(
				 request, found, &op.page, "operation_failed", &err, &problem) == 0)
			answer = manage_list_render(&op, manage->item);
		op_clear(&op);
	}
	reply_either(request, &problem, 200, answer);
}

void api_webhook_show_event(struct request *request)
{
	const struct manage *manage = request->admission.route->manage;
	struct problem problem = PROBLEM_INIT;
	char event_id[ID_SIZE];
	const struct op_webhook_event input = {.event_id = event_id};
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if (read_path(request, event_id, &problem) == 0) {
		found = op_webhook_event.run(&op, &input, &err);
		if (found > 0)
			answer = manage->render(&op);
		else if (found == 0)
			problem_set(&problem, PROBLEM_NOT_FOUND, "%s", manage->missing);
		else
			request_failed(request, "operation_failed", &err, &problem);
	}
	op_clear(&op);
	reply_either(request, &problem, 200, answer);
}

/* A webhook event to send again, with its id from the path. */
struct replay {
	struct operate operate; /* first */
	char event_id[ID_SIZE];
};

static void on_replayed(struct change *change)
{
	struct replay *replay = (struct replay *)change;
	struct operate *operate = &replay->operate;
	struct problem problem = change->refused;

	if (problem.kind == PROBLEM_NONE && change->result == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND, "%s",
			change->request->admission.route->manage->missing);
	else if (problem.kind == PROBLEM_NONE && change->result < 0 &&
		 change->err.code == ERR_INVALID)
		problem_set(&problem, PROBLEM_VALIDATION, "%s.", change->err.text);
	else if (problem.kind == PROBLEM_NONE && change->result < 0)
		request_failed(change->request, "operation_failed", &change->err, &problem);
	reply_changed(change->request, &problem, operate->answer);
	operate_end(operate);
	free(replay);
}

void api_webhook_send_again(struct request *request)
{
	struct replay *replay = mem_new(struct replay);
	struct problem problem = PROBLEM_INIT;

	operate_begin(request, &replay->operate, &op_webhook_replay);
	replay->operate.render = request->admission.route->manage->render;
	if (read_path(request, replay->event_id, &problem) == 0) {
		((struct op_webhook_event *)replay->operate.input)->event_id = replay->event_id;
		operate_submit(&replay->operate, on_replayed);
		return;
	}
	reply_problem(request, &problem);
	operate_end(&replay->operate);
	free(replay);
}
