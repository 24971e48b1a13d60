/*
 * about_email_send: POST /emails.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct field_about attachment_fields[] = {
	{
		.name = "filename",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "The name of the file.",
	},
	{
		.name = "content",
		.shape = SHAPE_CONTENT,
		.required = true,
		.help = "The bytes of the file. Base64 may lack its padding "
			"and have line breaks; a Buffer as Node.js writes it "
			"into JSON will do too. A `path` to be fetched is "
			"refused.",
	},
	{
		.name = "content_type",
		.shape = SHAPE_STRING,
		.help = "The media type; else it follows from the name.",
	},
	{
		.name = "content_id",
		.shape = SHAPE_STRING,
		.help = "Makes the file an inline one, which html shows as "
			"`cid:` and this id.",
	},
	{0},
};

static const struct schema_about attachment = {
	.name = "Attachment",
	.help = "A file that goes with an email.",
	.fields = attachment_fields,
	.open = true,
};

static const struct field_about tag_fields[] = {
	{.name = "name", .shape = SHAPE_STRING, .required = true},
	{.name = "value", .shape = SHAPE_STRING, .required = true},
	{0},
};

const struct schema_about about_tag = {
	.name = "Tag",
	.help = "A word of the sender about an email; kept with it.",
	.fields = tag_fields,
};

static const struct field_about request_fields[] = {
	{
		.name = "from",
		.shape = SHAPE_ADDRESS,
		.required = true,
		.help = "The sender, `you@example.com` or `Name "
			"<you@example.com>`. Its domain must be the company's "
			"and active.",
	},
	{
		.name = "to",
		.shape = SHAPE_STRING_OR_STRINGS,
		.required = true,
		.help = "The recipients, at most 50; with those of `cc` and "
			"`bcc` at most 50 too, or what http.max_recipients "
			"says.",
	},
	{.name = "cc",
		.shape = SHAPE_STRING_OR_STRINGS,
		.help = "Further recipients."},
	{
		.name = "bcc",
		.shape = SHAPE_STRING_OR_STRINGS,
		.help = "Recipients that the others do not see.",
	},
	{
		.name = "reply_to",
		.shape = SHAPE_STRING_OR_STRINGS,
		.help = "Where answers go.",
	},
	{.name = "subject", .shape = SHAPE_STRING, .help = "The subject."},
	{
		.name = "html",
		.shape = SHAPE_STRING,
		.help = "The email as HTML. One of html and text is required.",
	},
	{
		.name = "text",
		.shape = SHAPE_STRING,
		.help = "The email as text; without it, it is made of html.",
	},
	{
		.name = "headers",
		.shape = SHAPE_STRING_MAP,
		.help = "Further header fields. Those that the service makes "
			"itself are ignored.",
	},
	{
		.name = "attachments",
		.shape = SHAPE_OBJECTS,
		.schema = &attachment,
		.help = "Files.",
	},
	{
		.name = "tags",
		.shape = SHAPE_OBJECTS,
		.schema = &about_tag,
		.help = "Words about the email, which are stored and shown "
			"again.",
	},
	{0},
};

const struct schema_about about_email_request = {
	.name = "EmailRequest",
	.help = "An email to be sent. Fields that are `null`, `\"\"`, `[]` or "
		"`{}` count as not given, fields that are not listed are "
		"ignored.",
	.fields = request_fields,
	.open = true,
};

static const struct field_about sent_fields[] = {
	{
		.name = "id",
		.shape = SHAPE_UUID,
		.required = true,
		.help = "By which the email can be read back.",
	},
	{0},
};

const struct schema_about about_email_sent = {
	.name = "EmailSent",
	.help = "An email that is in Postfix's queue.",
	.fields = sent_fields,
};

static const enum problem_kind send_problems[] = {
	PROBLEM_DOMAIN,
	PROBLEM_MISSING_FIELD,
	PROBLEM_ATTACHMENT,
	PROBLEM_NONE,
};

const struct route_about about_email_send = {
	.name = "sendEmail",
	.summary = "Send an email",
	.text = "Answers when the message is in Postfix's queue and the "
		"record in the database, both on disk. `scheduled_at`, "
		"`template` and `topic_id` are not supported and refused.",
	.headers = about_idempotency,
	.request = &about_email_request,
	.status = 200,
	.answer = &about_email_sent,
	.problems = send_problems,
	.example = "{\"from\": \"Acme <hello@example.com>\", "
		   "\"to\": [\"ann@dst.test\"], \"subject\": \"Hello\", "
		   "\"html\": \"<p>It works.</p>\"}",
	.example_answer = "{\"id\": \"7be9a1ee-4b29-4b8a-9f3c-52b0f3e0a6d1\"}",
};
