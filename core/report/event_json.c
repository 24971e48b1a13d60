/*
 * event_json: renders an event for webhooks of the JSON API. Receivers are strict: some fail at
 * an unknown member or at null.
 *
 * Threads: any.
 */
#include "core/report/event_json.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"

const char *event_json_type(const struct email_event *event)
{
	static const char *const types[EVENT_KINDS] = {
		[EVENT_ACCEPTED] = "email.sent",
		[EVENT_DEFERRED] = "email.delivery_delayed",
		[EVENT_DELIVERED] = "email.delivered",
		[EVENT_BOUNCED] = "email.bounced",
		[EVENT_EXPIRED] = "email.bounced",
		[EVENT_DISCARDED] = "email.failed",
		[EVENT_REMOVED] = "email.failed",
		[EVENT_COMPLAINED] = "email.complained",
		[EVENT_SUPPRESSED] = "email.suppressed",
		[EVENT_FAILED] = "email.failed",
	};

	if ((event->kind == EVENT_ACCEPTED && !event->is_first) ||
		(event->kind == EVENT_DEFERRED && event->is_repeat))
		return NULL;
	return types[event->kind];
}

json_t *event_json_time(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	if (time_us == 0)
		return json_null();
	clock_iso8601(time_us, text);
	/* Replaces microseconds and time zone by milliseconds and Z. */
	strcpy(text + strlen("2026-11-21T02:43:18.123"), "Z");
	return json_string(text);
}

static json_t *json_of_text(const char *text)
{
	return row_json_string(text ? text : "");
}

static json_t *render_tags(const struct email_event *event)
{
	json_t *given = event->tags ? json_loads(event->tags, 0, NULL) : NULL;
	json_t *tags = json_object(), *one;
	size_t i;

	json_array_foreach(given, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name)
			json_object_set(tags, name, json_object_get(one, "value"));
	}
	json_decref(given);
	return tags;
}

/* The bounce type for a refusal. Some receivers stop sending to an address after a Permanent
 * bounce, so a full mailbox or a refused message must not be Permanent. */
static const struct bounce_type {
	const char *codes[3]; /* of RFC 3463, without the class */
	const char *type;
	const char *sub_type;
} bounce_types[] = {
	{{"2.2"}, "Transient", "MailboxFull"},
	{{"2.3", "3.4"}, "Transient", "MessageTooLarge"},
	{{"6.", "7."}, "Transient", "ContentRejected"},
};

static const struct bounce_type *bounce_type_of(const struct email_event *event)
{
	static const struct bounce_type given_up = {.type = "Transient", .sub_type = "General"};
	static const struct bounce_type permanent = {.type = "Permanent", .sub_type = "General"};
	const char *code = event->dsn && event->dsn[0] && event->dsn[1] == '.' ? event->dsn + 2
									       : "";

	if (event->kind != EVENT_BOUNCED)
		return &given_up;
	for (size_t i = 0; i < ARRAY_SIZE(bounce_types); i++)
		for (const char *const *one = bounce_types[i].codes; *one; one++)
			if ((*one)[2] ? str_eq(code, *one) : str_starts(code, *one))
				return &bounce_types[i];
	return &permanent;
}

/* Receivers look at the type or for the words "bounce message". */
static json_t *render_bounce(const struct email_event *event)
{
	const struct bounce_type *type = bounce_type_of(event);
	const char *relay = event->relay && !str_eq(event->relay, "none") ? event->relay
									  : "Postfix";
	const char *text = event->text ? event->text : "";
	_cleanup_free_ char *message = mem_printf("%.*s returned a %s bounce message: %s",
		(int)strcspn(relay, "[:"), relay, str_eq(type->type, "Permanent") ? "hard" : "soft",
		text);
	_cleanup_free_ char *code = mem_printf("smtp; %s", text);

	return json_pack("{s:o, s:s, s:s, s:[o]}", "message", json_of_text(message), "type",
		type->type, "subType", type->sub_type, "diagnosticCode", json_of_text(code));
}

json_t *event_json_render(const struct email_event *event)
{
	const char *type = event_json_type(event);
	json_t *to = event->kind == EVENT_ACCEPTED && event->to_all
			     ? json_loads(event->to_all, 0, NULL)
			     : NULL;
	json_t *data;

	if (json_array_size(to) == 0) {
		json_decref(to);
		to = json_pack("[o]", json_of_text(event->recipient));
	}
	data = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "email_id", event->email_id,
		"created_at", event_json_time(event->email_us), "message_id",
		json_of_text(event->message_id), "from", json_of_text(event->from), "to", to,
		"subject", json_of_text(event->subject), "tags", render_tags(event));
	if (str_eq(type, "email.bounced"))
		json_object_set_new(data, "bounce", render_bounce(event));
	if (str_eq(type, "email.failed"))
		json_object_set_new(data, "failed",
			json_pack("{s:o}", "reason",
				json_of_text(str_empty(event->text) ? event_kind_name(event->kind)
								    : event->text)));
	if (event->kind == EVENT_SUPPRESSED)
		json_object_set_new(data, "suppressed",
			json_pack("{s:o, s:s}", "message", json_of_text(event->text), "type",
				"OnAccountSuppressionList"));
	return json_pack("{s:s, s:o, s:o}", "type", type, "created_at",
		event_json_time(event->occurred_us), "data", data);
}
