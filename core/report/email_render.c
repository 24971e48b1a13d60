/*
 * email_render: emails and their events as JSON objects.
 */
#include "core/report/email_render.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/report/delivery_report.h"

/* The interface has addresses without display names; those are in the message. */
static json_t *addresses(const struct email *email, enum recipient_kind kind)
{
	const struct recipients *recipients = &email->recipients;
	json_t *array = json_array();

	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].kind == kind)
			json_array_append_new(array, row_json_string(recipients->items[i].address));
	return array;
}

/* The stored JSON; an empty array if it cannot be parsed. */
static json_t *tags(const char *text)
{
	json_t *array = text ? json_loads(text, 0, NULL) : NULL;

	return array ? array : json_array();
}

static const char *last_event_of(const struct email *email)
{
	return store_email_last_event(email, clock_now_us(&clock_system));
}

static bool is_canceled(const struct email *email)
{
	return email->state == EMAIL_REFUSED && str_eq(last_event_of(email), "canceled");
}

json_t *email_render_item(const struct email *email)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}", "object",
		"email", "id", email->id, "from", row_json_string(email->from), "to",
		addresses(email, RECIPIENT_TO), "cc", addresses(email, RECIPIENT_CC), "bcc",
		addresses(email, RECIPIENT_BCC), "reply_to",
		email->reply_to.n ? row_json_lines(&email->reply_to) : json_null(), "subject",
		row_json_string(email->subject), "created_at", row_json_time(email->created_us),
		"last_event", last_event_of(email), "message_id",
		row_json_string(email->message_id), "scheduled_at",
		row_json_time(email->scheduled_us));
}

/* This dialect has no name for mail that was handed on within this host. */
static json_t *recipients(const struct email *email)
{
	static const char *const states[DELIVERY_STATUSES] = {
		[DELIVERY_QUEUED] = "queued",
		[DELIVERY_DEFERRED] = "deferred",
		[DELIVERY_HANDED_ON] = "queued",
		[DELIVERY_DELIVERED] = "delivered",
		[DELIVERY_BOUNCED] = "bounced",
		[DELIVERY_EXPIRED] = "expired",
		[DELIVERY_DISCARDED] = "failed",
		[DELIVERY_REMOVED] = "failed",
		[DELIVERY_UNKNOWN] = "unknown",
		[DELIVERY_COMPLAINED] = "complained",
		[DELIVERY_SUPPRESSED] = "suppressed",
	};
	const char *refused = is_canceled(email) ? "canceled" : "failed";
	json_t *array = json_array();

	for (size_t i = 0; i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];

		if (!one->enveloped)
			continue;
		json_array_append_new(array,
			json_pack("{s:s, s:s, s:s, s:I, s:s?, s:s?, s:s?, s:o}", "address",
				one->address, "kind", recipient_kind_name(one->kind), "state",
				email->state == EMAIL_REFUSED ? refused : states[one->status],
				"attempts", (json_int_t)one->attempts, "remote", one->relay, "dsn",
				one->dsn, "message", one->text, "updated_at",
				row_json_time(one->changed_us)));
	}
	return array;
}

json_t *email_render(const struct email *email, bool with_state)
{
	static const char *const states[] = {
		[EMAIL_STAGED] = "waiting",
		[EMAIL_SENT] = "sent",
		[EMAIL_REFUSED] = "refused",
	};
	json_t *object = email_render_item(email);
	int result = json_object_update_new(
		object, json_pack("{s:o, s:o}", "tags", tags(email->tags), "recipients",
				recipients(email)));

	if (result == 0 && with_state)
		result = json_object_update_new(
			object, json_pack("{s:s, s:s?}", "state",
					is_canceled(email) ? "canceled" : states[email->state],
					"reason", email->refusal));
	if (result == 0)
		return object;
	json_decref(object);
	return NULL;
}

void email_render_for_admins(json_t *object, const struct email *email)
{
	const char *state = store_email_state_shown(email, clock_now_us(&clock_system));

	json_object_update_new(object,
		json_pack("{s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "company_id",
			email->company_id, "key_id", email->key_id, "domain",
			row_json_string(email->domain), "state", state, "via",
			store_email_via(email), "refusal", row_json_given(email->refusal),
			"queue_id", row_json_given(email->queue_id), "host",
			row_json_given(email->host), "sender", row_json_string(email->sender),
			"decided_at", row_json_time(email->decided_us)));
}

json_t *email_render_event(const struct email_event *event)
{
	static const char *const types[EVENT_KINDS] = {
		[EVENT_ACCEPTED] = "sent",
		[EVENT_DEFERRED] = "delivery_delayed",
		[EVENT_HANDED_ON] = "handed_on",
		[EVENT_DELIVERED] = "delivered",
		[EVENT_BOUNCED] = "bounced",
		[EVENT_EXPIRED] = "bounced",
		[EVENT_DISCARDED] = "failed",
		[EVENT_REMOVED] = "failed",
		[EVENT_LOST] = "unknown",
		[EVENT_COMPLAINED] = "complained",
		[EVENT_SUPPRESSED] = "suppressed",
		[EVENT_CANCELED] = "canceled",
		[EVENT_FAILED] = "failed",
		[EVENT_UNSUBSCRIBED] = "unsubscribed",
	};

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:s?, s:s?, s:s?, s:s?}", "id", event->id,
		"type", types[event->kind], "recipient", event->recipient, "created_at",
		row_json_time(event->recorded_us), "occurred_at", row_json_time(event->occurred_us),
		"attempt", (json_int_t)event->attempt, "address", event->address, "remote",
		event->relay, "dsn", event->dsn, "message", event->text);
}

void email_render_event_for_admins(json_t *object, const struct email_event *event)
{
	json_object_set_new(object, "kind", json_string(event_kind_name(event->kind)));
	json_object_set_new(
		object, "kind_text", json_string(delivery_report_event_words(event->kind)));
}
