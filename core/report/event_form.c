/*
 * event_form: renders an event for the form API and its webhooks.
 *
 * Threads: any.
 */
#include "core/report/event_form.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/company/store_suppression.h"

/* Returns the SMTP code that the text begins with or quotes; otherwise one derived from the
 * status code, so that there always is one. */
static int smtp_code_of(const struct email_event *event)
{
	const char *said = event->text ? strstr(event->text, " said: ") : NULL;
	const char *text = said ? said + 7 : event->text;
	int code = 0;

	if (text && strspn(text, "0123456789") == 3 && sscanf(text, "%3d", &code) == 1 &&
		code >= 200 && code < 600)
		return code;
	if (event->dsn && event->dsn[0] >= '2' && event->dsn[0] <= '5')
		return (event->dsn[0] - '0') * 100 + 50;
	return event->kind == EVENT_DELIVERED || event->kind == EVENT_ACCEPTED ? 250 : 550;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* For a suppressed recipient: Mailgun's own code, by which clients know not to send to the
 * address again, and the reason. */
static const struct {
	int code;
	const char *reason;
} suppressed_as[SUPPRESSION_REASONS] = {
	[SUPPRESSION_BOUNCE] = {605, "suppress-bounce"},
	[SUPPRESSION_COMPLAINT] = {607, "suppress-complaint"},
	[SUPPRESSION_UNSUBSCRIBE] = {606, "suppress-unsubscribe"},
	[SUPPRESSION_MANUAL] = {605, "suppress-bounce"},
};

static json_t *render_status(const struct email_event *event)
{
	const char *text = text_or_empty(event->text), *relay = text_or_empty(event->relay);

	if (event->kind == EVENT_SUPPRESSED)
		return json_pack("{s:i, s:i, s:s, s:s, s:s, s:s}", "attempt-no", 1, "code",
			suppressed_as[store_suppression_reason_of(text)].code, "message", "",
			"description", text, "enhanced-code", "", "mx-host", "");
	return json_pack("{s:I, s:i, s:s, s:s, s:s, s:o}", "attempt-no", (json_int_t)event->attempt,
		"code", smtp_code_of(event), "message", text, "description", "", "enhanced-code",
		text_or_empty(event->dsn), "mx-host",
		json_stringn(relay, strcspn(relay, "[:"))); /* without address and port */
}

static json_t *render_message(const struct email_event *event)
{
	const char *id = text_or_empty(event->message_id);
	size_t len = strlen(id);
	bool brackets = len > 2 && id[0] == '<' && id[len - 1] == '>';

	return json_pack("{s:{s:s, s:o, s:s, s:s}, s:[], s:i}", "headers", "to",
		text_or_empty(event->to), "message-id",
		brackets ? json_stringn(id + 1, len - 2) : json_string(id), "from",
		text_or_empty(event->from), "subject", text_or_empty(event->subject), "attachments",
		"size", 0);
}

static json_t *render_tags(const struct email_event *event)
{
	json_t *given = event->tags ? json_loads(event->tags, 0, NULL) : NULL;
	json_t *tags = json_array(), *one;
	size_t i;

	json_array_foreach(given, i, one) {
		json_t *name = json_object_get(one, "name");
		bool is_form = str_eq(text_or_empty(json_string_value(name)), "tag");

		json_array_append(tags, is_form ? json_object_get(one, "value") : name);
	}
	json_decref(given);
	return tags;
}

json_t *event_form_render(const struct email_event *event)
{
	static const struct {
		const char *name;
		const char *level;
		const char *severity;
		const char *reason;
	} words[EVENT_KINDS] = {
		[EVENT_ACCEPTED] = {"accepted", "info", NULL, NULL},
		[EVENT_DELIVERED] = {"delivered", "info", NULL, NULL},
		[EVENT_DEFERRED] = {"failed", "warn", "temporary", "generic"},
		[EVENT_BOUNCED] = {"failed", "error", "permanent", "bounce"},
		[EVENT_EXPIRED] = {"failed", "error", "permanent", "old"},
		[EVENT_DISCARDED] = {"failed", "error", "permanent", "generic"},
		[EVENT_REMOVED] = {"failed", "error", "permanent", "generic"},
		[EVENT_COMPLAINED] = {"complained", "warn", NULL, NULL},
		[EVENT_SUPPRESSED] = {"failed", "error", "permanent", NULL},
		/* Clients take `failed` for a failure of the recipient. */
		[EVENT_CANCELED] = {"rejected", "warn", NULL, NULL},
		[EVENT_FAILED] = {"failed", "error", "permanent", "generic"},
		[EVENT_UNSUBSCRIBED] = {"unsubscribed", "info", NULL, NULL},
	};
	const char *at = strrchr(event->recipient, '@');
	const char *reason =
		event->kind == EVENT_SUPPRESSED
			? suppressed_as[store_suppression_reason_of(event->text)].reason
			: words[event->kind].reason;
	json_t *variables = event->variables ? json_loads(event->variables, 0, NULL) : NULL;
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:f, s:s, s:s, s:o, s:o, s:o, s:o, s:[], s:{s:s, s:s, s:s}, "
		"s:{s:b, s:b, s:b, s:b}}",
		"id", event->id, "event", words[event->kind].name, "log-level",
		words[event->kind].level, "timestamp", (double)event->recorded_us / 1e6,
		"recipient", event->recipient, "recipient-domain", at ? at + 1 : "", "message",
		render_message(event), "delivery-status", render_status(event), "user-variables",
		variables ? variables : json_object(), "tags", render_tags(event), "campaigns",
		"envelope", "sender", text_or_empty(event->sender), "targets", event->recipient,
		"transport", "smtp", "flags", "is-routed", 0, "is-authenticated", 1,
		"is-system-test", 0, "is-test-mode", 0);

	if (words[event->kind].severity) {
		json_object_set_new(object, "severity", json_string(words[event->kind].severity));
		json_object_set_new(object, "reason", json_string(reason));
	}
	/* These two are not about a delivery. */
	if (event->kind == EVENT_COMPLAINED || event->kind == EVENT_UNSUBSCRIBED)
		json_object_del(object, "delivery-status");
	/* Only the address is kept of a recipient who unsubscribed. */
	if (event->kind == EVENT_UNSUBSCRIBED) {
		json_object_update_new(object,
			json_pack("{s:s, s:{}, s:{}}", "ip", "", "client-info", "geolocation"));
	}
	if (event->kind == EVENT_CANCELED)
		json_object_set_new(object, "reject",
			json_pack("{s:s, s:s}", "reason", "canceled", "description",
				text_or_empty(event->text)));
	return object;
}

const char *event_form_type(const struct email_event *event)
{
	static const char *const types[EVENT_KINDS] = {
		[EVENT_ACCEPTED] = "accepted",
		[EVENT_DELIVERED] = "delivered",
		[EVENT_DEFERRED] = "temporary_fail",
		[EVENT_BOUNCED] = "permanent_fail",
		[EVENT_EXPIRED] = "permanent_fail",
		[EVENT_DISCARDED] = "permanent_fail",
		[EVENT_REMOVED] = "permanent_fail",
		[EVENT_COMPLAINED] = "complained",
		[EVENT_SUPPRESSED] = "permanent_fail",
		[EVENT_FAILED] = "permanent_fail",
		[EVENT_UNSUBSCRIBED] = "unsubscribed",
	};

	return types[event->kind];
}
