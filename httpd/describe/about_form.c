/*
 * about_form: the routes of the form dialect.
 *
 * Threads: any; the tables are constant.
 */
#include <stddef.h>

#include "httpd/describe/about.h"

static const struct field_about form_fields[] = {
	{
		.name = "from",
		.shape = SHAPE_ADDRESS,
		.required = true,
		.help = "The sender; of the domain in the path.",
	},
	{
		.name = "to",
		.shape = SHAPE_STRINGS,
		.required = true,
		.help = "The recipients: a list with commas, the field "
			"repeated, or both. With those of `cc` and `bcc` at "
			"most 1000, or what http.max_recipients says.",
	},
	{.name = "cc", .shape = SHAPE_STRINGS, .help = "Further recipients."},
	{
		.name = "bcc",
		.shape = SHAPE_STRINGS,
		.help = "Recipients that the others do not see.",
	},
	{.name = "subject", .shape = SHAPE_STRING, .help = "The subject."},
	{
		.name = "text",
		.shape = SHAPE_STRING,
		.help = "The email as text. One of text and html is required.",
	},
	{.name = "html", .shape = SHAPE_STRING, .help = "The email as HTML."},
	{.name = "attachment", .shape = SHAPE_FILES, .help = "Files."},
	{
		.name = "inline",
		.shape = SHAPE_FILES,
		.help = "Files that html shows as `cid:` and their name. One "
			"with blanks or other characters than ASCII in its "
			"name gets another Content-ID, in html too.",
	},
	{
		.name = "h:Reply-To",
		.shape = SHAPE_STRING,
		.help = "Where answers go; any other header field likewise, "
			"`h:` and its name. Those that the service makes "
			"itself are ignored.",
	},
	{
		.name = "v:my-var",
		.shape = SHAPE_STRING,
		.help = "Data to be kept with the email, under any name.",
	},
	{
		.name = "o:tag",
		.shape = SHAPE_STRINGS,
		.help = "Words about the email, kept with it.",
	},
	{
		.name = "o:testmode",
		.shape = SHAPE_STRING,
		.help = "`yes`: the email is taken and recorded, and delivered "
			"to nobody.",
	},
	{
		.name = "recipient-variables",
		.shape = SHAPE_STRING,
		.help = "JSON, an object for each address of `to`. Each gets "
			"a message that names only that address, in which "
			"`%recipient.KEY%` stands for the value.",
	},
	{0},
};

static const struct schema_about form = {
	.name = "FormRequest",
	.help = "An email to be sent, as a form.",
	.fields = form_fields,
	.open = true,
};

static const struct field_about mime_fields[] = {
	{
		.name = "to",
		.shape = SHAPE_STRINGS,
		.required = true,
		.help = "All who get the message, whatever it says.",
	},
	{
		.name = "message",
		.shape = SHAPE_FILE,
		.required = true,
		.help = "The finished MIME message. Its From must be of the "
			"domain in the path.",
	},
	{
		.name = "o:testmode",
		.shape = SHAPE_STRING,
		.help = "`yes`: the email is taken and recorded, and delivered "
			"to nobody.",
	},
	{0},
};

static const struct schema_about mime = {
	.name = "FormMimeRequest",
	.help = "A finished message to be sent, as a form.",
	.fields = mime_fields,
	.open = true,
};

static const struct field_about queued_fields[] = {
	{
		.name = "id",
		.shape = SHAPE_STRING,
		.required = true,
		.help = "The Message-ID of the message, in angle brackets.",
	},
	{
		.name = "message",
		.shape = SHAPE_ONE_OF,
		.values = (const char *const[]){"Queued. Thank you.", NULL},
		.required = true,
	},
	{0},
};

static const struct schema_about queued = {
	.name = "FormQueued",
	.help = "An email that is in Postfix's queue.",
	.fields = queued_fields,
};

static const struct field_about domain = {
	.name = "domain",
	.shape = SHAPE_STRING,
	.required = true,
	.help = "The sending domain.",
};

#define EXAMPLE_ANSWER                                                         \
	"{\"id\": \"<7be9a1ee-4b29-4b8a-9f3c-52b0f3e0a6d1@example.com>\", "    \
	"\"message\": \"Queued. Thank you.\"}"

const struct route_about about_form_send = {
	.name = "sendForm",
	.summary = "Send the email of a form",
	.text = "The form is multipart or urlencoded, and may be packed with "
		"gzip. `o:deliverytime` in the future, `template`, `t:*` and "
		"`o:require-tls=yes` are not supported and refused; other "
		"`o:*` are accepted.",
	.param = &domain,
	.request = &form,
	.status = 200,
	.answer = &queued,
	.example_param = "$POSTERN_DOMAIN",
	.example = "-F from='Acme <hello@example.com>'\n"
		   "-F to=ann@dst.test\n"
		   "-F subject=Hello\n"
		   "--form-string html='<p>It works.</p>'",
	.example_answer = EXAMPLE_ANSWER,
};

const struct route_about about_form_send_mime = {
	.name = "sendMime",
	.summary = "Send a finished message",
	.text = "The form is multipart. The message passes unchanged but for "
		"`Bcc` and `X-Mailgun-*`, which are removed, and `Message-ID` "
		"and `Date`, which are added when they are missing.",
	.param = &domain,
	.request = &mime,
	.multipart_only = true,
	.status = 200,
	.answer = &queued,
	.example_param = "$POSTERN_DOMAIN",
	.example = "-F to=ann@dst.test\n"
		   "-F message=@message.eml",
	.example_answer = EXAMPLE_ANSWER,
};
