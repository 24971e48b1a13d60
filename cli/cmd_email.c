/*
 * cmd_email: the record of emails, and of what the milter refused, or would have.
 *
 * Threads: one, the command's.
 */
#include <string.h>

#include "cli/cmd.h"
#include "cli/email_story.h"
#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/policy/verdict.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"
#include "core/store/store_refusal.h"

enum {
	DEFAULT_LIMIT = 20,
	MAX_LIMIT = 1000,
	NAMED_MAX = 5, /* ids that an error tells */
	WATCH_EVENTS = 500,
};

#define LIMIT_HELP "How many at most, from 1 to 1000. Without this, 20."

/* What the options --company, --domain and --limit ask for. */
struct query {
	struct email_scope scope; /* points into the others */
	char company_id[ID_SIZE];
	char *domain;
	int64_t limit;
};

static void clear_query(struct query *query)
{
	free(query->domain);
}

#define _cleanup_query_ __attribute__((cleanup(clear_query)))

/* The caller clears the query, also after a failure. 0, or -1 with ERR_INVALID. */
static int read_query(
	const struct call *call, struct query *query_r, struct err *err)
{
	const char *limit = call_option(call, OPTION_LIMIT);
	const char *domain = call_option(call, OPTION_DOMAIN);

	*query_r = (struct query){.limit = DEFAULT_LIMIT};
	if (limit && str_int(limit, 1, MAX_LIMIT, &query_r->limit) < 0)
		return err_set(err, ERR_INVALID,
			"--limit is a number from 1 to %d, not \"%s\"",
			MAX_LIMIT, limit);
	if (call_id_option(call, OPTION_COMPANY, query_r->company_id, err) < 0)
		return -1;
	if (domain && addr_domain_normalize(domain, &query_r->domain, err) < 0)
		return -1;
	if (*query_r->company_id)
		query_r->scope.company_id = query_r->company_id;
	query_r->scope.domain = query_r->domain;
	return 0;
}

static const struct email_scope everything = {0};

/* NAMED_MAX + 1 at most, the newest first. */
static int refuse_several(const char *what, const char *name,
	const struct email_list *emails, struct err *err)
{
	_cleanup_buf_ struct buf list = BUF_INIT;

	for (size_t i = 0; i < emails->n && i < NAMED_MAX; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", emails->items[i].id);
	return err_set(err, ERR_INVALID,
		"several emails have the %s %s; show one of them by its id: "
		"%s%s",
		what, name, buf_str(&list), emails->n > NAMED_MAX ? ", ..." : "");
}

/* By its id; by that in a Message-ID, as the form API answers it; by the
 * Message-ID that its client chose; or by a queue id, which comes back where it
 * is short. That there are several is an error that names their ids. 0, and the
 * caller clears the email, or -1. */
static int email_find(
	const struct call *call, struct email *email_r, struct err *err)
{
	static const char *const words[] = {
		[EMAIL_NAME_ID] = "id",
		[EMAIL_NAME_MESSAGE_ID] = "Message-ID",
		[EMAIL_NAME_QUEUE_ID] = "queue id",
	};
	const char *text = call_argument(call);
	enum email_name kind = store_email_name_of(text);
	_cleanup_free_ char *name = kind == EMAIL_NAME_MESSAGE_ID && *text != '<'
					    ? mem_printf("<%s>", text)
					    : mem_strdup(text);
	struct email_list list;
	char id[ID_SIZE];
	int found = 0;

	if (kind == EMAIL_NAME_ID && call_id_argument(call, id, err) < 0)
		return -1;
	if (store_email_named(
		    call->db, &everything, text, NAMED_MAX + 1, &list, err) < 0)
		return -1;
	if (list.n > 1)
		found = refuse_several(words[kind], name, &list, err);
	else if (list.n == 1)
		found = store_email_get(
			call->db, list.items[0].id, &everything, email_r, err);
	store_email_list_free(&list);
	if (found == 0)
		err_set(err, ERR_NOT_FOUND, "there is no email with the %s %s",
			words[kind], name);
	return found > 0 ? 0 : -1;
}

enum {
	OBJECT,
	CREATED_AT,
	STATE,
	ID,
	FROM,
	TO,
	CC,
	BCC,
	REPLY_TO,
	SUBJECT,
	LAST_EVENT,
	COMPANY_ID,
	KEY_ID,
	DOMAIN_NAME,
	SENDER,
	MESSAGE_ID,
	QUEUE_ID,
	SENT_AT,
	DECIDED_AT,
	REFUSAL,
	ANSWER,
	RECIPIENTS,
	EVENTS,
	TEXT,
	HTML,
};

#define LISTED                                                                                \
	[OBJECT] = {"object", NULL, .type = COLUMN_TEXT},                                     \
	[CREATED_AT] = {"created_at", "CREATED", .type = COLUMN_TIME},                        \
	[STATE] = {"state", "STATE", .type = COLUMN_TEXT},                                    \
	[ID] = {"id", "ID", .type = COLUMN_TEXT},                                             \
	[FROM] = {"from", "FROM", COLUMN_TEXT, .width = 40},                                  \
	[TO] = {"to", "TO", COLUMN_LIST, .width = 40},                                        \
	[CC] = {"cc", NULL, .type = COLUMN_LIST}, [BCC] = {"bcc", NULL, .type = COLUMN_LIST}, \
	[REPLY_TO] = {"reply_to", NULL, .type = COLUMN_LIST},                                 \
	[SUBJECT] = {"subject", "SUBJECT", COLUMN_TEXT, .width = 50},                         \
	[LAST_EVENT] = {"last_event", "LAST EVENT", .type = COLUMN_TEXT},                     \
	[COMPANY_ID] = {"company_id", NULL, .type = COLUMN_TEXT},                             \
	[KEY_ID] = {"key_id", NULL, .type = COLUMN_TEXT},                                     \
	[DOMAIN_NAME] = {"domain", NULL, .type = COLUMN_TEXT},                                \
	[SENDER] = {"sender", NULL, .type = COLUMN_TEXT},                                     \
	[MESSAGE_ID] = {"message_id", NULL, .type = COLUMN_TEXT},                             \
	[QUEUE_ID] = {"queue_id", NULL, .type = COLUMN_TEXT},                                 \
	[SENT_AT] = {"sent_at", NULL, .type = COLUMN_TIME},                                   \
	[DECIDED_AT] = {"decided_at", NULL, .type = COLUMN_TIME},                             \
	[REFUSAL] = {"refusal", NULL, .type = COLUMN_TEXT}

static const struct column list_columns[] = {LISTED, {0}};

static const struct column show_columns[] = {
	LISTED,
	[ANSWER] = {"answer", NULL, .type = COLUMN_TEXT},
	[RECIPIENTS] = {"recipients", NULL, .type = COLUMN_ROWS},
	[EVENTS] = {"events", NULL, .type = COLUMN_ROWS},
	[TEXT] = {"text", NULL, .type = COLUMN_BODY},
	[HTML] = {"html", NULL, .type = COLUMN_BODY},
	{0},
};

static void add_recipients(struct report *report, size_t column,
	const struct email *email, enum recipient_kind kind)
{
	const struct recipients *recipients = &email->recipients;
	_cleanup_strv_ struct strv list = STRV_INIT;

	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].kind == kind)
			strv_add(&list, recipient_text(&recipients->items[i]));
	report_list(report, column, &list);
}

static void add_addresses(struct report *report, const struct email *email)
{
	report_text(report, FROM, email->from);
	add_recipients(report, TO, email, RECIPIENT_TO);
	add_recipients(report, CC, email, RECIPIENT_CC);
	add_recipients(report, BCC, email, RECIPIENT_BCC);
	if (email->reply_to.n > 0) /* else null, as the API has it */
		report_list(report, REPLY_TO, &email->reply_to);
	report_text(report, SENDER, email->sender);
}

static void add_fate(struct report *report, const struct email *email)
{
	report_text(report, STATE, store_email_state_name(email->state));
	report_text(report, LAST_EVENT, email->last_event);
	report_text(report, QUEUE_ID, email->queue_id);
	if (email->state == EMAIL_SENT)
		report_time(report, SENT_AT, email->decided_us);
	report_time(report, DECIDED_AT, email->decided_us);
	report_text(report, REFUSAL, email->refusal);
}

static void add_row(struct report *report, const struct email *email)
{
	report_add_row(report);
	report_text(report, OBJECT, "email");
	report_text(report, ID, email->id);
	report_time(report, CREATED_AT, email->created_us);
	report_text(report, SUBJECT, email->subject);
	report_text(report, COMPANY_ID, email->company_id);
	report_text(report, KEY_ID, email->key_id);
	report_text(report, DOMAIN_NAME, email->domain);
	report_text(report, MESSAGE_ID, email->message_id);
	add_addresses(report, email);
	add_fate(report, email);
}

/* A value with its name before it; nothing for nothing. */
static void add_fact(
	const char *name, const char *value, size_t width, struct buf *out)
{
	enum { AT = 12 };
	_cleanup_buf_ struct buf lines = BUF_INIT;

	if (str_empty(value))
		return;
	visible_add_wrapped(&lines, value, AT, width);
	buf_printf(out, "%-*s%s", AT, name, buf_str(&lines) + AT);
}

static void add_fact_recipients(const char *name, const struct email *email,
	enum recipient_kind kind, size_t width, struct buf *out)
{
	const struct recipients *recipients = &email->recipients;
	_cleanup_strv_ struct strv list = STRV_INIT;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < recipients->n; i++)
		if (recipients->items[i].kind == kind)
			strv_add(&list, recipient_text(&recipients->items[i]));
	text = strv_join(&list, ", ");
	add_fact(name, text, width, out);
}

static void add_body(const char *name, const char *body, struct buf *out)
{
	if (str_empty(body))
		return;
	buf_printf(out, "\n%s:\n%s", name, body);
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
}

/* For people: the answer first, then the email, then what became of it. */
static void print_show(const struct call *call, const struct email *email,
	const struct story *story, struct buf *out)
{
	_cleanup_free_ char *answer = story_answer(story);
	size_t width = screen_width();

	visible_add_wrapped(out, answer, 0, width);
	buf_add_char(out, '\n');
	add_fact("id", email->id, width, out);
	add_fact("from", email->from, width, out);
	add_fact_recipients("to", email, RECIPIENT_TO, width, out);
	add_fact_recipients("cc", email, RECIPIENT_CC, width, out);
	add_fact_recipients("bcc", email, RECIPIENT_BCC, width, out);
	add_fact("subject", email->subject, width, out);
	add_fact("state", store_email_state_name(email->state), width, out);
	add_fact("last event", email->last_event, width, out);
	add_fact("queue id", email->queue_id, width, out);
	add_fact("message id", email->message_id, width, out);
	add_fact("sender", email->sender, width, out);
	add_fact("domain", email->domain, width, out);
	add_fact("company", email->company_id, width, out);
	add_fact("key", email->key_id, width, out);
	buf_add_char(out, '\n');
	email_story_print(story, width, out);
	if (call_option(call, OPTION_CONTENT)) {
		add_body("text", email->text, out);
		add_body("html", email->html, out);
	}
}

static int run_show(
	const struct call *call, struct report *report, struct err *err)
{
	_cleanup_(story) struct story *story = NULL;
	_cleanup_free_ char *answer = NULL;
	struct buf text = BUF_INIT;
	struct email email;

	if (email_find(call, &email, err) < 0)
		return -1;
	if (story_new(call->db, call->conf, &email, call->now_us, &story, err) <
		0) {
		store_email_clear(&email);
		return -1;
	}
	answer = story_answer(story);
	add_row(report, &email);
	report_text(report, ANSWER, answer);
	email_story_report(story, report, RECIPIENTS, EVENTS);
	report_text(report, TEXT, email.text);
	report_text(report, HTML, email.html);
	print_show(call, &email, story, &text);
	report->note = buf_take(&text);
	store_email_clear(&email);
	return 0;
}

/* Where to begin: with all events of one email, or behind the newest of all. */
static int begin_watch(const struct call *call, struct err *err)
{
	struct following *following = call->following;
	struct email email;

	following->begun = true;
	following->version = -1;
	if (call_argument(call) == NULL)
		return store_event_newest(call->db, &following->seq, err);
	if (email_find(call, &email, err) < 0)
		return -1;
	strcpy(following->email_id, email.id);
	store_email_clear(&email);
	return 0;
}

/* How the watched email stands: 1 while more is to come; 0 when all is told,
 * with the answer, or when the email is gone; -1. */
static int look_at_watched(const struct call *call, int64_t *seq_r,
	char **answer_r, struct err *err)
{
	_cleanup_(story) struct story *story = NULL;
	struct email email;
	int result = store_email_get(
		call->db, call->following->email_id, &everything, &email, err);

	if (result <= 0)
		return result;
	*seq_r = email.seq;
	result = story_new(call->db, NULL, &email, call->now_us, &story, err);
	if (result == 0 && story_is_open(story))
		result = 1;
	else if (result == 0)
		*answer_r = story_answer(story);
	store_email_clear(&email);
	return result;
}

/* Looks first how the email stands, then for events: they were committed
 * together, so at the end none is missing. */
static int run_watch(
	const struct call *call, struct report *report, struct err *err)
{
	struct following *following = call->following;
	_cleanup_free_ char *answer = NULL;
	struct buf text = BUF_INIT;
	struct event_list events;
	int64_t version, email = 0;
	int more = 1;

	if (!following->begun && begin_watch(call, err) < 0)
		return -1;
	if (db_version(call->db, &version, err) < 0)
		return -1;
	if (version == following->version)
		return 1;
	if (*following->email_id)
		more = look_at_watched(call, &email, &answer, err);
	if (more < 0 || (more == 0 && email == 0))
		return more;
	if (store_event_after(call->db, following->seq, email, WATCH_EVENTS,
		    &events, err) < 0)
		return -1;
	for (size_t i = 0; i < events.n; i++) {
		report_add(report, &events.items[i]);
		email_event_print(
			&events.items[i], email == 0, screen_width(), &text);
		following->seq = events.items[i].seq;
	}
	following->version = version;
	if (events.more) {
		following->version = -1;
		more = 1;
	} else if (answer) {
		visible_add_wrapped(&text, answer, 0, screen_width());
	}
	store_event_list_free(&events);
	report->note = buf_take(&text);
	return more;
}

static int read_filter(
	const struct call *call, struct email_filter *filter_r, struct err *err)
{
	static const char *const states[] = {"staged", "refused", "sent",
		"delivered", "delivery_delayed", "bounced", "failed",
		"complained"};
	struct email_filter filter = {
		.to = call_option(call, OPTION_TO),
		.from = call_option(call, OPTION_FROM),
		.subject = call_option(call, OPTION_SUBJECT),
		.status = call_option(call, OPTION_STATE),
	};
	size_t i = 0;

	while (filter.status && i < ARRAY_SIZE(states) &&
		!str_eq(filter.status, states[i]))
		i++;
	if (i == ARRAY_SIZE(states))
		return err_set(err, ERR_INVALID,
			"--state is one of staged, refused, sent, delivered, "
			"delivery_delayed, bounced, failed, complained, not "
			"\"%s\"",
			filter.status);
	if (call_time_option(call, OPTION_SINCE, &filter.since_us, err) < 0 ||
		call_time_option(call, OPTION_UNTIL, &filter.until_us, err) < 0)
		return -1;
	*filter_r = filter;
	return 0;
}

/* One search looks at a bounded number of emails: then another goes on. */
static int run_list(
	const struct call *call, struct report *report, struct err *err)
{
	_cleanup_query_ struct query query;
	struct page page = {0};
	struct email_filter filter;
	struct email_found found;

	if (read_query(call, &query, err) < 0 ||
		read_filter(call, &filter, err) < 0)
		return -1;
	do {
		page.limit = (int)query.limit - (int)report->rows_n;
		if (store_email_search(call->db, &query.scope, &filter, &page,
			    &found, err) < 0)
			return -1;
		for (size_t i = 0; i < found.list.n; i++)
			add_row(report, &found.list.items[i]);
		store_email_list_free(&found.list);
		strcpy(page.after, found.next);
	} while (*page.after && report->rows_n < (size_t)query.limit);
	return 0;
}

const struct verb cmd_email_show = {
	.noun = "email",
	.name = "show",
	.argument = "ID",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = show_columns,
	.options = {{OPTION_CONTENT, false,
		"Also its text and html, which JSON always has."}},
	.help = "Tells whether an email went out, in the first line, and then "
		"all that is known of it: what became of it for each "
		"recipient, what happens next, and what happened, in order, in "
		"the words of Postfix and of the remote server. ID is what the "
		"client was answered: a UUID, or <UUID@DOMAIN>; a Message-ID "
		"that the client chose; or a queue id of Postfix, also that of "
		"a message which an alias, a content filter or a requeue made "
		"of it. Delivered means that the next mail server has taken "
		"it (2xx). When Postfix tries again is computed from its "
		"settings, and its queue is asked.",
	.run = run_show,
};

const struct verb cmd_email_watch = {
	.noun = "email",
	.name = "watch",
	.argument = "[ID]",
	.access = VERB_READS,
	.shape = VERB_FOLLOWS,
	.columns = email_event_columns,
	.help = "Shows what becomes of emails as Postfix's log tells it, until "
		"it is interrupted, or its output closed. With an ID, as of "
		"postern email show, all that happened to this email so far "
		"and what follows, until nothing more is to come; then the "
		"answer whether it went out. JSON is an object on a line for "
		"each event.",
	.run = run_watch,
};

const struct verb cmd_email_list = {
	.noun = "email",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = list_columns,
	.options = {{OPTION_TO, false,
			    "Only those with this recipient, also in cc and "
			    "bcc."},
		{OPTION_FROM, false, "Only those of this sender."},
		{OPTION_SUBJECT, false, "Only those with this in the subject."},
		{OPTION_STATE, false,
			"Only those that are staged or refused, or whose last "
			"event is this: sent, delivered, delivery_delayed, "
			"bounced, failed, complained."},
		{OPTION_SINCE, false,
			"Only those that came in since then: 2026-11-21, "
			"2026-11-21T14:30 (UTC), or how long ago, as 2h or "
			"7d."},
		{OPTION_UNTIL, false, "Only those that came in before."},
		{OPTION_COMPANY, false, "Only those of this company."},
		{OPTION_DOMAIN, false, "Only those sent as this domain."},
		{OPTION_LIMIT, false, LIMIT_HELP}},
	.help = "Lists the newest emails, sent or not, newest first.",
	.run = run_list,
};

/* What was refused: two lists, of emails and of other mail, each the newest
 * first, merged into one. */

enum {
	R_LAST_AT,
	R_FIRST_AT,
	R_OUTCOME,
	R_COUNT,
	R_DOMAIN_NAME,
	R_REASON,
	R_REASON_WORDS,
	R_ORIGIN,
	R_CLIENT,
	R_LOGIN,
	R_SENDER,
	R_FROM,
	R_EMAIL_ID,
	R_QUEUE_ID,
};

static const struct column refused_columns[] = {
	[R_LAST_AT] = {"last_at", "LAST", .type = COLUMN_TIME},
	[R_FIRST_AT] = {"first_at", NULL, .type = COLUMN_TIME},
	[R_OUTCOME] = {"outcome", "OUTCOME", .type = COLUMN_TEXT},
	[R_COUNT] = {"count", "TIMES", .type = COLUMN_INT},
	[R_DOMAIN_NAME] = {"domain", "DOMAIN", COLUMN_TEXT, .width = 40},
	[R_REASON] = {"reason", NULL, .type = COLUMN_TEXT},
	[R_REASON_WORDS] = {"reason_text", "REASON", COLUMN_TEXT, .width = 60},
	[R_ORIGIN] = {"origin", NULL, .type = COLUMN_TEXT},
	[R_CLIENT] = {"client", "CLIENT", COLUMN_TEXT, .width = 40},
	[R_LOGIN] = {"login", "LOGIN", COLUMN_TEXT, .width = 40},
	[R_SENDER] = {"sender", "SENDER", COLUMN_TEXT, .width = 40},
	[R_FROM] = {"from", "FROM", COLUMN_TEXT, .width = 40},
	[R_EMAIL_ID] = {"email_id", "EMAIL ID", .type = COLUMN_TEXT},
	[R_QUEUE_ID] = {"queue_id", "QUEUE ID", COLUMN_TEXT, .width = 20},
	{0},
};

static void add_email(struct report *report, const struct email *email)
{
	report_add_row(report);
	report_time(report, R_LAST_AT, email->decided_us);
	report_time(report, R_FIRST_AT, email->decided_us);
	report_text(report, R_OUTCOME, store_email_state_name(email->state));
	report_number(report, R_COUNT, 1);
	report_text(report, R_DOMAIN_NAME, email->domain);
	report_text(report, R_REASON, email->refusal);
	report_text(report, R_REASON_WORDS, email->refusal);
	report_text(report, R_SENDER, email->sender);
	report_text(report, R_FROM, email->from);
	report_text(report, R_EMAIL_ID, email->id);
	report_text(report, R_QUEUE_ID, email->queue_id);
}

/* "" stands for none. */
static void add_text(struct report *report, size_t column, const char *text)
{
	report_text(report, column, *text ? text : NULL);
}

static void add_refusal(struct report *report, const struct refusal *refusal)
{
	report_add_row(report);
	report_time(report, R_LAST_AT, refusal->last_us);
	report_time(report, R_FIRST_AT, refusal->first_us);
	report_text(report, R_OUTCOME,
		store_refusal_outcome_name(refusal->outcome));
	report_number(report, R_COUNT, refusal->count);
	add_text(report, R_DOMAIN_NAME, refusal->domain);
	report_text(report, R_REASON, refusal->reason);
	report_text(
		report, R_REASON_WORDS, verdict_reason_words(refusal->reason));
	report_text(report, R_ORIGIN, refusal->origin);
	add_text(report, R_CLIENT, refusal->client);
	add_text(report, R_LOGIN, refusal->login);
	report_text(report, R_SENDER, refusal->sender);
	add_text(report, R_FROM, refusal->from);
	report_text(report, R_QUEUE_ID, refusal->queue_id);
}

static void merge_newest(struct report *report, const struct email_list *emails,
	const struct refusal_list *refusals, size_t limit)
{
	size_t e = 0, r = 0;

	while (e + r < limit && (e < emails->n || r < refusals->n)) {
		bool email = r == refusals->n ||
			     (e < emails->n && emails->items[e].decided_us >=
						       refusals->items[r].last_us);

		if (email)
			add_email(report, &emails->items[e++]);
		else
			add_refusal(report, &refusals->items[r++]);
	}
}

static int fill(const struct call *call, const struct query *query,
	struct report *report, struct err *err)
{
	const struct refusal_scope scope = {
		.company_id = query->scope.company_id,
		.domain = query->scope.domain,
	};
	struct refusal_list refusals;
	struct email_list emails;

	if (store_email_list_refused(call->db, &query->scope, (int)query->limit,
		    &emails, err) < 0)
		return -1;
	if (store_refusal_list(
		    call->db, &scope, (int)query->limit, &refusals, err) < 0) {
		store_email_list_free(&emails);
		return -1;
	}
	merge_newest(report, &emails, &refusals, (size_t)query->limit);
	store_email_list_free(&emails);
	store_refusal_list_free(&refusals);
	return 0;
}

static int run_refused(
	const struct call *call, struct report *report, struct err *err)
{
	_cleanup_query_ struct query query;

	if (read_query(call, &query, err) < 0)
		return -1;
	return fill(call, &query, report, err);
}

const struct verb cmd_email_refused = {
	.noun = "email",
	.name = "list",
	.variant = true,
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = refused_columns,
	.options = {{OPTION_REFUSED, true,
			    "What was refused, in the place of all emails."},
		{OPTION_COMPANY, false,
			"Only emails of this company, and other mail that used "
			"a domain which it has now."},
		{OPTION_DOMAIN, false, "Only what used this domain."},
		{OPTION_LIMIT, false, LIMIT_HELP}},
	.help = "Lists what the rules refused, and what a domain with the "
		"policy learn would have refused, newest first: emails, and "
		"other mail that used a domain (postern domain set). Equal "
		"messages are shown once, with their number. An email can be "
		"shown by its id.",
	.run = run_refused,
};
