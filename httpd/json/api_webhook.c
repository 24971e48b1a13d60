/*
 * api_webhook: the routes /webhooks: parses the bodies and renders the answers.
 *
 * Some clients fail on event names that they did not send, so the names are
 * returned as they were given.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/ops/op_webhook.h"
#include "core/report/event_json.h"
#include "core/store/webhook/store_webhook_event.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/json_field.h"

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

static json_t *render_secret(const struct op *op)
{
	json_t *answer = manage_render_id(op);

	json_object_update(answer, op->result.more);
	return answer;
}

static json_t *render_whole(const struct op *op)
{
	json_t *answer = render_secret(op);

	json_object_update_new(answer, render_item(op->result.rows.items));
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

static json_t *render_event_whole(const struct op *op)
{
	return render_event(op->result.rows.items, true);
}

#define MISSING  "Webhook not found"
#define NO_EVENT "Webhook event not found"
#define DENIED   PROBLEM_RESTRICTED_KEY

const struct manage api_webhook_create = {parse_webhook, render_secret, NULL, MISSING, DENIED};
const struct manage api_webhook_get = {NULL, render_whole, NULL, MISSING, DENIED};
const struct manage api_webhook_update = {parse_changes, manage_render_id, NULL, MISSING, DENIED};
const struct manage api_webhook_remove = {NULL, manage_render_removed, NULL, MISSING, DENIED};
const struct manage api_webhook_rotate = {NULL, render_secret, NULL, MISSING, DENIED};
const struct manage api_webhook_list = {NULL, NULL, render_item, MISSING, DENIED};
const struct manage api_webhook_events = {NULL, NULL, render_event_item, MISSING, DENIED};
const struct manage api_webhook_attempts = {NULL, NULL, render_attempt, NO_EVENT, DENIED};
const struct manage api_webhook_event = {NULL, render_event_whole, NULL, NO_EVENT, DENIED};
const struct manage api_webhook_replay = {NULL, manage_render_id, NULL, NO_EVENT, DENIED};
