/*
 * about_batch: the route /emails/batch, and the Idempotency-Key of those that
 * send.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

#define KEY_FIELD                                                              \
	{                                                                      \
		.name = "Idempotency-Key", .shape = SHAPE_STRING,              \
		.help = "1 to 256 characters. For 24 hours a request of the "  \
			"company with the same key and payload gets the "      \
			"first answer again, if its API key may send these "   \
			"emails, and sends nothing twice, but "                \
			"after a loss of power, or when all of Postfix was "   \
			"killed, when a repeat may deliver again what got no " \
			"answer. A request that sent nothing leaves its key "  \
			"unused.",                                             \
	}

const struct field_about about_idempotency[] = {KEY_FIELD, {0}};

static const struct field_about headers[] = {
	KEY_FIELD,
	{
		.name = "x-batch-validation",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"strict", "permissive", NULL},
		.help = "When one of the emails may not be sent, `strict` (the "
			"default) sends none, `permissive` the others.",
	},
	{0},
};

static const struct schema_about request = {
	.name = "BatchRequest",
	.help = "An array of 1 to 100 emails, each as for `POST /emails`.",
	.base = &about_email_request,
	.open = true,
	.is_array = true,
};

static const struct field_about error_fields[] = {
	{
		.name = "index",
		.shape = SHAPE_INTEGER,
		.required = true,
		.help = "Which email of the request, from 0.",
	},
	{
		.name = "message",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "Why it is not sent.",
	},
	{0},
};

static const struct schema_about error = {
	.name = "BatchError",
	.help = "An email of a batch that is not sent.",
	.fields = error_fields,
};

static const struct field_about sent_fields[] = {
	{
		.name = "data",
		.shape = SHAPE_OBJECTS,
		.schema = &about_email_sent,
		.required = true,
		.help = "The emails that are sent, in the order of the "
			"request.",
	},
	{
		.name = "errors",
		.shape = SHAPE_OBJECTS,
		.schema = &error,
		.help = "The others, if any.",
	},
	{0},
};

static const struct schema_about sent = {
	.name = "BatchSent",
	.help = "What became of a batch.",
	.fields = sent_fields,
};

static const enum problem_kind problems[] = {
	PROBLEM_DOMAIN,
	PROBLEM_MISSING_FIELD,
	PROBLEM_ATTACHMENT,
	PROBLEM_NONE,
};

const struct route_about about_batch_send = {
	.name = "sendBatch",
	.summary = "Send up to 100 emails",
	.text = "A message about one of them names it, as `[3].to`. Once an "
		"email has gone out the answer is 200, and `errors` has those "
		"that failed, also with strict validation: an error would have "
		"clients send again what is sent. With an Idempotency-Key and "
		"strict validation it is 503 while the rest may still be sent: "
		"the same request again sends only that. A batch is one "
		"request: its body has the limit of a single email's, and so "
		"has the memory that it takes.",
	.headers = headers,
	.request = &request,
	.status = 200,
	.answer = &sent,
	.problems = problems,
	.example = "[{\"from\": \"Acme <hello@example.com>\", "
		   "\"to\": [\"ann@dst.test\"], \"subject\": \"Hello\", "
		   "\"text\": \"To Ann.\"}, "
		   "{\"from\": \"Acme <hello@example.com>\", "
		   "\"to\": [\"ben@dst.test\"], \"subject\": \"Hello\", "
		   "\"text\": \"To Ben.\"}]",
	.example_answer =
		"{\"data\": "
		"[{\"id\": \"7be9a1ee-4b29-4b8a-9f3c-52b0f3e0a6d1\"}, "
		"{\"id\": \"0d6f0c3e-8f55-4a39-8f0b-0e5a4c1f2b7a\"}]}",
};
