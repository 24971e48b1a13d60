/*
 * about_email: the routes that read emails.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct field_about item_fields[] = {
	{
		.name = "object",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"email", NULL},
		.required = true,
	},
	{.name = "id", .shape = SHAPE_UUID, .required = true},
	{
		.name = "from",
		.shape = SHAPE_ADDRESS,
		.required = true,
		.help = "As `Name <address>`, or the address when there is no "
			"name.",
	},
	{
		.name = "to",
		.shape = SHAPE_STRINGS,
		.required = true,
		.help = "Addresses, without names.",
	},
	{.name = "cc", .shape = SHAPE_STRINGS, .required = true},
	{.name = "bcc", .shape = SHAPE_STRINGS, .required = true},
	{
		.name = "reply_to",
		.shape = SHAPE_STRINGS_OR_NULL,
		.required = true,
		.help = "`null` when none was given.",
	},
	{.name = "subject", .shape = SHAPE_STRING, .required = true},
	{.name = "created_at", .shape = SHAPE_TIME, .required = true},
	{
		.name = "last_event",
		.shape = SHAPE_STRING_OR_NULL,
		.required = true,
		.help = "`sent`.",
	},
	{
		.name = "message_id",
		.shape = SHAPE_STRING_OR_NULL,
		.required = true,
		.help = "With its angle brackets.",
	},
	{.name = "scheduled_at", .shape = SHAPE_NULL, .required = true},
	{0},
};

static const struct schema_about item = {
	.name = "EmailItem",
	.help = "An email in a list.",
	.fields = item_fields,
};

static const struct field_about email_fields[] = {
	{.name = "html", .shape = SHAPE_STRING, .required = true},
	{
		.name = "text",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "As given, or as made of html.",
	},
	{
		.name = "tags",
		.shape = SHAPE_OBJECTS,
		.schema = &about_tag,
		.required = true,
	},
	{0},
};

static const struct schema_about email = {
	.name = "Email",
	.help = "An email that was sent.",
	.base = &item,
	.fields = email_fields,
};

static const struct field_about email_id = {
	.name = "id",
	.shape = SHAPE_STRING,
	.required = true,
	.help = "The id of the email: a UUID, or as the form dialect gives it, "
		"`<UUID@domain>`.",
};

static const enum problem_kind get_problems[] = {
	PROBLEM_NOT_FOUND,
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

const struct route_about about_email_get = {
	.name = "getEmail",
	.summary = "Read a sent email back",
	.text = "Any key of the company may, one that is bound to a domain "
		"only emails of that domain. All others are not found.",
	.param = &email_id,
	.status = 200,
	.answer = &email,
	.problems = get_problems,
	.example_param = "$EMAIL_ID",
	.example_answer =
		"{\"object\": \"email\", "
		"\"id\": \"7be9a1ee-4b29-4b8a-9f3c-52b0f3e0a6d1\", "
		"\"from\": \"Acme <hello@example.com>\", "
		"\"to\": [\"ann@dst.test\"], \"cc\": [], \"bcc\": [], "
		"\"reply_to\": null, \"subject\": \"Hello\", "
		"\"html\": \"<p>It works.</p>\", \"text\": \"It works.\\n\", "
		"\"created_at\": \"2026-11-21T02:43:18.123456+00:00\", "
		"\"last_event\": \"sent\", "
		"\"message_id\": "
		"\"<7be9a1ee-4b29-4b8a-9f3c-52b0f3e0a6d1@example.com>\", "
		"\"tags\": [], \"scheduled_at\": null}",
};

static const struct field_about list_fields[] = {
	{
		.name = "data",
		.shape = SHAPE_OBJECTS,
		.schema = &item,
		.required = true,
	},
	{0},
};

static const struct schema_about list = {
	.name = "EmailList",
	.help = "Emails, the newest first.",
	.base = &about_list,
	.fields = list_fields,
};

static const enum problem_kind list_problems[] = {
	PROBLEM_PARAMETER,
	PROBLEM_NONE,
};

const struct route_about about_email_list = {
	.name = "listEmails",
	.summary = "List the sent emails",
	.text = "The newest first, a page at a time. A key that is bound to a "
		"domain sees the emails of that domain. The order is that in "
		"which requests came in; an email is in the list once it is "
		"sent. So one that took longer appears behind newer ones, and "
		"who only ever follows the list with `before` may miss it.",
	.query = about_page_query,
	.status = 200,
	.answer = &list,
	.problems = list_problems,
};
