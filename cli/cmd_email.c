/*
 * cmd_email: emails, and mail that the milter refused or would have refused.
 */
#include <string.h>

#include "cli/cmd.h"
#include "cli/email_report.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_email.h"
#include "core/ops/op_email_list.h"
#include "core/ops/op_email_read.h"
#include "core/ops/op_refusal.h"
#include "core/report/email_render.h"
#include "core/store/email/store_email.h"

enum {
	DEFAULT_LIMIT = 20,
	MAX_LIMIT = 1000,
};

#define LIMIT_HELP "How many at most, from 1 to 1000. Without this, 20."

/* Finds the email that the argument names. Returns 0, and the caller clears it, or -1. */
static int find_given_email(const struct call *call, struct email *email_r, struct err *err)
{
	const char *name = call_argument(call);
	char id[ID_SIZE];

	if (store_email_name_of(name) == EMAIL_NAME_ID && call_id_argument(call, id, err) < 0)
		return -1;
	return op_email_find(call->db, name, email_r, err);
}

/* The members of email_render_item() and email_render_for_admins(), and sent_at. */
#define LISTED                                                                                     \
	{"object", NULL, .type = COLUMN_TEXT}, {"created_at", "CREATED", .type = COLUMN_TIME},     \
		{"state", "STATE", .type = COLUMN_TEXT}, {"id", "ID", .type = COLUMN_TEXT},        \
		{"from", "FROM", .type = COLUMN_TEXT, .width = 40},                                \
		{"to", "TO", .type = COLUMN_LIST, .width = 40}, {"cc", NULL, .type = COLUMN_LIST}, \
		{"bcc", NULL, .type = COLUMN_LIST}, {"reply_to", NULL, .type = COLUMN_LIST},       \
		{"subject", "SUBJECT", .type = COLUMN_TEXT, .width = 50},                          \
		{"last_event", "LAST EVENT", .type = COLUMN_TEXT},                                 \
		{"scheduled_at", NULL, .type = COLUMN_TIME},                                       \
		{"company_id", NULL, .type = COLUMN_TEXT}, {"key_id", NULL, .type = COLUMN_TEXT},  \
		{"domain", NULL, .type = COLUMN_TEXT},                                             \
		{"via", "VIA", .type = COLUMN_TEXT, .spare = COLUMN_SPARE_MAX},                    \
		{"sender", NULL, .type = COLUMN_TEXT}, {"message_id", NULL, .type = COLUMN_TEXT},  \
		{"queue_id", NULL, .type = COLUMN_TEXT}, {"host", NULL, .type = COLUMN_TEXT},      \
		{"sent_at", NULL, .type = COLUMN_TIME}, {"decided_at", NULL, .type = COLUMN_TIME}, \
	{                                                                                          \
		"refusal", NULL, .type = COLUMN_TEXT                                               \
	}

static const struct column list_columns[] = {LISTED, {0}};

enum { ANSWER = ARRAY_SIZE(list_columns) - 1, RECIPIENTS, EVENTS, TEXT, HTML };

static const struct column show_columns[] = {
	LISTED,
	[ANSWER] = {"answer", NULL, .type = COLUMN_TEXT},
	[RECIPIENTS] = {"recipients", NULL, .type = COLUMN_ROWS},
	[EVENTS] = {"events", NULL, .type = COLUMN_ROWS},
	[TEXT] = {"text", NULL, .type = COLUMN_BODY},
	[HTML] = {"html", NULL, .type = COLUMN_BODY},
	{0},
};

static void add_sent_at(json_t *item)
{
	if (str_eq(row_json_text(item, "state"), "sent"))
		json_object_set(item, "sent_at", json_object_get(item, "decided_at"));
}

/* Adds a line with name and value; nothing if there is no value. */
static void add_named_line(const char *name, const char *value, size_t width, struct buf *out)
{
	enum { AT = 12 };
	_cleanup_buf_ struct buf lines = BUF_INIT;

	if (str_empty(value))
		return;
	visible_add_wrapped(&lines, value, AT, width);
	buf_printf(out, "%-*s%s", AT, name, buf_str(&lines) + AT);
}

static void add_line_of_recipients(const char *name, const struct email *email,
	enum recipient_kind kind, size_t width, struct buf *out)
{
	const struct recipients *recipients = &email->recipients;
	_cleanup_strv_ struct strv list = STRV_INIT;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].kind == kind)
			strv_add(&list, recipient_text(&recipients->items[i]));
	text = strv_join(&list, ", ");
	add_named_line(name, text, width, out);
}

static int run_show(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(delivery_report) struct delivery_report *delivery_report = NULL;
	_cleanup_free_ char *answer = NULL;
	size_t width = screen_width();
	struct buf text = BUF_INIT;
	struct email email;
	json_t *item;

	if (find_given_email(call, &email, err) < 0)
		return -1;
	if (delivery_report_new(call->db, call->conf, &email, call->now_us, &delivery_report, err) <
		0) {
		store_email_clear(&email);
		return -1;
	}
	item = email_render_item(&email);
	email_render_for_admins(item, &email);
	add_sent_at(item);
	report_json(report, item);
	json_decref(item);
	answer = delivery_report_answer(delivery_report);
	report_text(report, ANSWER, answer);
	report_text(report, TEXT, email.text);
	report_text(report, HTML, email.html);
	email_report_rows(delivery_report, report, RECIPIENTS, EVENTS);
	/* For people: the answer first, then the email, then its events. */
	visible_add_wrapped(&text, answer, 0, width);
	buf_add_char(&text, '\n');
	add_named_line("id", email.id, width, &text);
	add_named_line("from", email.from, width, &text);
	add_line_of_recipients("to", &email, RECIPIENT_TO, width, &text);
	add_line_of_recipients("cc", &email, RECIPIENT_CC, width, &text);
	add_line_of_recipients("bcc", &email, RECIPIENT_BCC, width, &text);
	add_named_line("subject", email.subject, width, &text);
	add_named_line("state", store_email_state_shown(&email, call->now_us), width, &text);
	add_named_line("last event", store_email_last_event(&email, call->now_us), width, &text);
	if (email.scheduled_us > 0) {
		char at[CLOCK_TEXT_SIZE];

		clock_iso8601(email.scheduled_us, at);
		add_named_line("scheduled", at, width, &text);
	}
	add_named_line("queue id", email.queue_id, width, &text);
	add_named_line("host", email.host, width, &text);
	add_named_line("message id", email.message_id, width, &text);
	add_named_line("sender", email.sender, width, &text);
	add_named_line("domain", email.domain, width, &text);
	add_named_line("company", email.company_id, width, &text);
	add_named_line("key", email.key_id, width, &text);
	buf_add_char(&text, '\n');
	email_report_print(delivery_report, width, &text);
	if (call_option(call, OPTION_CONTENT) && !str_empty(email.text))
		print_body("text", email.text, &text);
	if (call_option(call, OPTION_CONTENT) && !str_empty(email.html))
		print_body("html", email.html, &text);
	report->note = buf_take(&text);
	store_email_clear(&email);
	return 0;
}

static int run_watch(const struct call *call, struct report *report, struct err *err)
{
	struct following *following = call->following;
	const char *name = call_argument(call);
	char id[ID_SIZE];
	_cleanup_free_ char *answer = NULL;
	struct buf text = BUF_INIT;
	struct event_list events;
	int more;

	if (!following->begun) {
		if (name && store_email_name_of(name) == EMAIL_NAME_ID &&
			call_id_argument(call, id, err) < 0)
			return -1;
		following->begun = true;
		if (op_email_watch_begin(call->db, name, &following->watch, err) < 0)
			return -1;
	}
	/* A file that was removed or replaced does not change any more. */
	if (db_same(conf_store(call->conf), &following->identity, err) < 0)
		return -1;
	more = op_email_watch_next(
		call->db, &following->watch, call->now_us, &events, &answer, err);
	if (more < 0)
		return -1;
	for (size_t i = 0; i < events.n; i++) {
		report_add(report, &events.items[i]);
		email_event_print(&events.items[i], name == NULL, screen_width(), &text);
	}
	if (answer)
		visible_add_wrapped(&text, answer, 0, screen_width());
	store_event_list_free(&events);
	report->note = buf_take(&text);
	return more;
}

const struct verb cmd_email_show = {
	.noun = "email",
	.name = "show",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = show_columns,
	.options = {{OPTION_CONTENT, false, "Also its text and html, which JSON always has."}},
	.help = "Tells whether an email went out, in the first line, and then all that is "
		"known of it: what became of it for each recipient, what happens next, and "
		"what happened, in order, in the words of Postfix and of the remote "
		"server. ID is what the client was answered: a UUID, or <UUID@DOMAIN>; a "
		"Message-ID that the client chose; or a queue id of Postfix, also that of "
		"a message which an alias, a content filter or a requeue made of it. "
		"Delivered means that the next mail server has taken it (2xx). When "
		"Postfix tries again is computed from its settings, and its queue is "
		"asked.",
	.run = run_show,
};

static const struct column raw_columns[] = {{"id", NULL, .type = COLUMN_TEXT},
	{"message", NULL, .type = COLUMN_BODY}, {"base64", NULL, .type = COLUMN_BODY}, {0}};

static int run_raw(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_buf_ struct buf base64 = BUF_INIT;
	struct buf *out = &report->bytes;
	struct email email;
	int found;

	if (find_given_email(call, &email, err) < 0)
		return -1;
	report_add_row(report);
	report_text(report, 0, email.id);
	found = op_email_message(call->db, call->conf->store.database, &email, out, err);
	store_email_clear(&email);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND,
			"the message of this email is not kept any more (retention.messages)");
	if (found < 0)
		return -1;
	if (memchr(out->data, '\0', out->len) == NULL && str_utf8_valid(out->data, out->len))
		report_text(report, 1, buf_str(out));
	base64_encode(out->data, out->len, 0, &base64);
	report_text(report, 2, buf_str(&base64));
	return 0;
}

const struct verb cmd_email_raw = {
	.noun = "email",
	.name = "raw",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = raw_columns,
	.help = "Prints the message of an email as it was handed to Postfix, with its "
		"attachments and to the last byte, while it is kept (retention.messages); on a "
		"terminal without what could act on it. In JSON it is base64, and message "
		"as well when it is UTF-8. ID is as for postern email show.",
	.run = run_raw,
};

static const struct column cancel_columns[] = {{"id", "ID", .type = COLUMN_TEXT}, {0}};

const struct verb cmd_email_cancel = {
	.noun = "email",
	.name = "cancel",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = cancel_columns,
	.help = "Cancels an email that waits in the outbox, scheduled or not: it will not be "
		"sent. One that has passed the milter, or was refused, cannot be canceled. Of one "
		"that never came to the milter, and is not in Postfix's queue any more, it settles "
		"that nobody got it: postern doctor and the dashboard say no more of it.",
	.operation = &op_email_cancel,
	.note = "email {id} canceled",
};

static const struct column resend_columns[] = {{"id", "ID", .type = COLUMN_TEXT}, {0}};

const struct verb cmd_email_resend = {
	.noun = "email",
	.name = "resend",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = resend_columns,
	.options = {{OPTION_TO, false,
			    "To these addresses alone, separated by commas, whether the header "
			    "names them or not."},
		{OPTION_KEY, false,
			"In the name of this key of its company; needed when the key of the email "
			"may not send any more."}},
	.help = "Sends an email again, to all its recipients: a new email is made of its message, "
		"which has to be kept yet (retention.messages), with an id of its own, and goes "
		"out by postern-httpd within a second. The rules are those of now: the domain has "
		"to be active, the key valid, and the outbox has to have room. Message-ID and Date "
		"are new, unless the client chose them. One that still waits goes out by itself, "
		"and is refused. An email that never came to the milter is canceled with that.",
	.operation = &op_email_resend,
	.note = "sent again as email {id}",
};

const struct verb cmd_email_watch = {
	.noun = "email",
	.name = "watch",
	.argument = "[ID]",
	.access = VERB_READS,
	.shape = VERB_FOLLOWS,
	.columns = email_event_columns,
	.help = "Shows what becomes of emails as Postfix's log tells it, until it is "
		"interrupted, or its output closed. With an ID, as of postern email show, "
		"all that happened to this email so far and what follows, until nothing "
		"more is to come; then the answer whether it went out. JSON is an object "
		"on a line for each event.",
	.run = run_watch,
};

const struct verb cmd_email_list = {
	.noun = "email",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = list_columns,
	.options = {{OPTION_TO, false, "Only those with this recipient, also in cc and bcc."},
		{OPTION_FROM, false, "Only those of this sender."},
		{OPTION_SUBJECT, false, "Only those with this in the subject."},
		{OPTION_STATE, false,
			"Only those that are scheduled, queued here, refused by the rules or "
			"stopped by Postfix, or whose last event is this: sent, delivered, delivery_delayed, bounced, failed, "
			"complained, canceled."},
		{OPTION_SINCE, false,
			"Only those that came in since then: 2026-11-21, 2026-11-21T14:30 (UTC), "
			"or how long ago, as 2h or 7d."},
		{OPTION_UNTIL, false, "Only those that came in before."},
		{OPTION_COMPANY, false, "Only those of this company."},
		{OPTION_DOMAIN, false, "Only those sent as this domain."},
		{OPTION_LIMIT, false, LIMIT_HELP}},
	.help = "Lists the newest emails, sent or not, newest first.",
	.operation = &op_email_list,
	.add = add_sent_at,
	.limit = DEFAULT_LIMIT,
	.limit_max = MAX_LIMIT,
};

/* Refused mail: two lists, of emails and of other mail, newest first, merged into one. */

static const struct column refused_columns[] = {
	{"last_at", "LAST", .type = COLUMN_TIME},
	{"first_at", NULL, .type = COLUMN_TIME},
	{"outcome", "OUTCOME", .type = COLUMN_TEXT},
	{"count", "TIMES", .type = COLUMN_INT},
	{"domain", "DOMAIN", COLUMN_TEXT, 40, .spare = 4},
	{"reason", NULL, .type = COLUMN_TEXT},
	{"reason_text", "REASON", COLUMN_TEXT, 60, .spare = 2},
	{"origin", NULL, .type = COLUMN_TEXT},
	{"client", "CLIENT", .type = COLUMN_TEXT, .width = 40},
	{"login", "LOGIN", .type = COLUMN_TEXT, .width = 40},
	{"sender", "SENDER", COLUMN_TEXT, 40, .spare = 3},
	{"from", "FROM", .type = COLUMN_TEXT, .width = 40},
	{"email_id", "EMAIL ID", COLUMN_TEXT, .spare = 1},
	{"queue_id", "QUEUE ID", COLUMN_TEXT, 20, .spare = 1},
	{"host", NULL, .type = COLUMN_TEXT},
	{0},
};

const struct verb cmd_email_refused = {
	.noun = "email",
	.name = "list",
	.variant = true,
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = refused_columns,
	.options = {{OPTION_REFUSED, true, "What was refused, in the place of all emails."},
		{OPTION_COMPANY, false,
			"Only emails of this company, and other mail that used a domain which it "
			"has now."},
		{OPTION_DOMAIN, false, "Only what used this domain."},
		{OPTION_LIMIT, false, LIMIT_HELP}},
	.help = "Lists what the rules refused, and what a domain with the policy learn "
		"would have refused, newest first: emails, and other mail that used a "
		"domain (postern domain set). Equal messages are shown once, with their "
		"number. An email can be shown by its id.",
	.operation = &op_refusal_list_all,
	.limit = DEFAULT_LIMIT,
	.limit_max = MAX_LIMIT,
};
