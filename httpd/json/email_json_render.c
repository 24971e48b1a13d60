/*
 * email_json_render: the email as GET /emails/{id} and GET /emails show it.
 *
 * Threads: any; holds no state.
 */
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_long.h"

/* The interface wants the addresses; their names are in the message. */
static json_t *addresses(const struct email *email, enum recipient_kind kind)
{
	const struct recipients *recipients = &email->recipients;
	json_t *array = json_array();

	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].kind == kind)
			json_array_append_new(array,
				json_string(recipients->items[i].address));
	return array;
}

/* Null when there is none. */
static json_t *mailboxes_or_null(const struct strv *list)
{
	json_t *array;

	if (list->n == 0)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, json_string(list->items[i]));
	return array;
}

static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* Kept as JSON; what cannot be read shows as none. */
static json_t *tags(const char *text)
{
	json_t *array = text ? json_loads(text, 0, NULL) : NULL;

	return array ? array : json_array();
}

json_t *email_json_render_item(const struct email *email)
{
	char created_at[CLOCK_TEXT_SIZE];

	clock_iso8601(email->created_us, created_at);
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:o, "
			 "s:o, s:n}",
		"object", "email", "id", email->id, "from", email->from, "to",
		addresses(email, RECIPIENT_TO), "cc",
		addresses(email, RECIPIENT_CC), "bcc",
		addresses(email, RECIPIENT_BCC), "reply_to",
		mailboxes_or_null(&email->reply_to), "subject", email->subject,
		"created_at", created_at, "last_event",
		string_or_null(email->last_event), "message_id",
		string_or_null(email->message_id), "scheduled_at");
}

char *email_json_print(const struct email *email)
{
	const struct json_long_member content[] = {
		{"html", email->html},
		{"text", email->text},
	};
	json_t *object = email_json_render_item(email);
	char *printed = NULL;

	if (json_object_set_new(object, "tags", tags(email->tags)) == 0)
		printed = json_long_dump(object, content, ARRAY_SIZE(content));
	json_decref(object);
	return printed;
}
