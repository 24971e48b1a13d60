/*
 * email_report: the delivery report, as the command prints it.
 */
#include "cli/email_report.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"

enum {
	INDENT = 4,
	TIME_WIDTH = 22, /* `2026-11-21 02:43:18Z  ` */
};

/* A line that begins with the time. */
static void add_dated_line(struct buf *out, int64_t time_us, const char *text, size_t width)
{
	_cleanup_buf_ struct buf lines = BUF_INIT;

	visible_add_wrapped(&lines, text, TIME_WIDTH, width);
	clock_add(out, time_us);
	buf_add_str(out, buf_str(&lines) + TIME_WIDTH - 2);
}

void email_event_print(
	const struct email_event *event, bool with_email, size_t width, struct buf *out)
{
	_cleanup_buf_ struct buf line = BUF_INIT;
	_cleanup_buf_ struct buf said = BUF_INIT;

	if (with_email)
		buf_printf(&line, "%s ", event->email_id);
	buf_add_str(&line, event->recipient);
	if (event->address)
		buf_printf(&line, ", as %s", event->address);
	buf_printf(&line, ": %s", delivery_report_event_words(event->kind));
	if (event_is_attempt(event->kind) && event->attempt > 1)
		buf_printf(&line, ", attempt %lld", (long long)event->attempt);
	if (str_eq(event->source, "queue"))
		buf_add_str(&line, " (seen in the queue)");
	add_dated_line(out, event->occurred_us, buf_str(&line), width);
	if (event->relay && !str_eq(event->relay, "none") &&
		!(event->text && str_starts(event->text, "host ")))
		buf_printf(&said, "%s: ", event->relay);
	if (event->text)
		buf_add_str(&said, event->text);
	if (event->dsn)
		buf_printf(&said, "%s(%s)", said.len ? " " : "", event->dsn);
	if (said.len)
		visible_add_wrapped(out, buf_str(&said), TIME_WIDTH, width);
}

static bool same_words(const struct email_event *a, const struct email_event *b)
{
	return a->kind == b->kind && strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0 &&
	       strcmp(a->address ? a->address : "", b->address ? b->address : "") == 0;
}

/* For each event, finds the next one of the same recipient; n if there is none. */
static size_t *next_events(const struct event_list *events)
{
	size_t *next = mem_alloc(events->n + 1, sizeof(*next));
	int64_t most = 0;
	size_t *seen;

	for (size_t i = 0; i < events->n; i++)
		if (events->items[i].n > most)
			most = events->items[i].n;
	seen = mem_alloc((size_t)most + 1, sizeof(*seen));
	for (int64_t n = 0; n <= most; n++)
		seen[n] = events->n;
	for (size_t i = events->n; i-- > 0;) {
		next[i] = seen[events->items[i].n];
		seen[events->items[i].n] = i;
	}
	free(seen);
	return next;
}

/* Skips accepted events, which the summary covers. Of attempts deferred with the same text, it
 * shows the first and the last. */
static void add_events(const struct delivery_report *delivery_report, size_t width, struct buf *out)
{
	const struct event_list *events = &delivery_report->events;
	size_t *next = next_events(events);
	bool *left_out = mem_alloc(events->n + 1, sizeof(*left_out));

	for (size_t i = 0; i < events->n; i++) {
		const struct email_event *event = &events->items[i];
		size_t second = next[i];
		size_t third = second < events->n ? next[second] : events->n;

		if (event->kind == EVENT_DEFERRED && third < events->n &&
			same_words(event, &events->items[second]) &&
			same_words(event, &events->items[third]))
			left_out[second] = true;
		if (!left_out[i] && event->kind != EVENT_ACCEPTED)
			email_event_print(event, false, width, out);
	}
	free(left_out);
	free(next);
}

void email_report_print(
	const struct delivery_report *delivery_report, size_t width, struct buf *out)
{
	const struct email *email = delivery_report->email;
	bool shown = delivery_report_is_stopped(delivery_report) ||
		     (email->state == EMAIL_SENT && !delivery_report_is_test(delivery_report));

	for (size_t i = 0; shown && i < delivery_report->recipients.n; i++) {
		const struct recipient *recipient = &delivery_report->recipients.items[i];
		_cleanup_free_ char *next = delivery_report_next(delivery_report, i);
		_cleanup_buf_ struct buf line = BUF_INIT;

		buf_printf(&line, "%s: %s", recipient->address,
			delivery_report_status_words(recipient->status));
		if (recipient->attempts > 1)
			buf_printf(&line, ", %lld attempts", (long long)recipient->attempts);
		if (recipient->changed_us) {
			buf_add_str(&line,
				recipient->status == DELIVERY_DEFERRED ? ", last at " : ", ");
			clock_add(&line, recipient->changed_us);
		}
		visible_add_wrapped(out, buf_str(&line), 0, width);
		if (next)
			visible_add_wrapped(out, next, INDENT, width);
	}
	if (shown)
		buf_add_char(out, '\n');
	add_dated_line(out, email->created_us,
		email->way == EMAIL_WAY_AUTH ? "received over SMTP" : "received over HTTP", width);
	if (email->decided_us) {
		_cleanup_free_ char *decision =
			email->state == EMAIL_REFUSED ? mem_printf("refused: %s", email->refusal)
			: str_empty(email->queue_id)
				? mem_strdup("recorded, as a test")
				: mem_printf("accepted by postern-milter, as %s in Postfix's queue",
					  email->queue_id);

		add_dated_line(out, email->decided_us, decision, width);
	}
	for (size_t i = 0; i < delivery_report->messages.n; i++) {
		const struct queue_message *message = &delivery_report->messages.items[i];
		_cleanup_free_ char *text = mem_printf("%s, as %s in Postfix's queue",
			delivery_report_message_words(message->how), message->queue_id);

		if (message->how != MESSAGE_RECORDED)
			add_dated_line(out, message->since_us, text, width);
	}
	add_events(delivery_report, width, out);
}

enum {
	ADDRESS,
	KIND,
	STATUS,
	ATTEMPTS,
	REMOTE,
	DSN,
	MESSAGE,
	UPDATED_AT,
	QUEUE,
	RETRY_AT,
	ENDS_AT,
	NEXT,
};

static const struct column recipient_columns[] = {
	[ADDRESS] = {"address", NULL, .type = COLUMN_TEXT},
	[KIND] = {"kind", NULL, .type = COLUMN_TEXT},
	[STATUS] = {"state", NULL, .type = COLUMN_TEXT},
	[ATTEMPTS] = {"attempts", NULL, .type = COLUMN_INT},
	[REMOTE] = {"remote", NULL, .type = COLUMN_TEXT},
	[DSN] = {"dsn", NULL, .type = COLUMN_TEXT},
	[MESSAGE] = {"message", NULL, .type = COLUMN_TEXT},
	[UPDATED_AT] = {"updated_at", NULL, .type = COLUMN_TIME},
	[QUEUE] = {"queue", NULL, .type = COLUMN_TEXT},
	[RETRY_AT] = {"next_attempt_at", NULL, .type = COLUMN_TIME},
	[ENDS_AT] = {"gives_up_at", NULL, .type = COLUMN_TIME},
	[NEXT] = {"next", NULL, .type = COLUMN_TEXT},
	{0},
};

static void fill_type(struct report *report, size_t column, const void *item)
{
	const struct email_event *event = item;

	report_text(report, column, event_kind_name(event->kind));
}

const struct column email_event_columns[] = {
	{"id", NULL, COLUMN_TEXT, COLUMN_OF(email_event, id)},
	{"email_id", NULL, COLUMN_TEXT, COLUMN_OF(email_event, email_id)},
	{"type", NULL, COLUMN_TEXT, .fill = fill_type},
	{"recipient", NULL, COLUMN_TEXT, COLUMN_OF(email_event, recipient)},
	{"created_at", NULL, COLUMN_TIME, COLUMN_OF(email_event, recorded_us)},
	{"occurred_at", NULL, COLUMN_TIME, COLUMN_OF(email_event, occurred_us)},
	{"attempt", NULL, COLUMN_INT, COLUMN_OF(email_event, attempt)},
	{"address", NULL, COLUMN_TEXT, COLUMN_OF(email_event, address)},
	{"remote", NULL, COLUMN_TEXT, COLUMN_OF(email_event, relay)},
	{"dsn", NULL, COLUMN_TEXT, COLUMN_OF(email_event, dsn)},
	{"message", NULL, COLUMN_TEXT, COLUMN_OF(email_event, text)},
	{"source", NULL, COLUMN_TEXT, COLUMN_OF(email_event, source)},
	{0},
};

void email_report_rows(const struct delivery_report *delivery_report, struct report *report,
	size_t recipients, size_t events)
{
	struct report *rows = report_rows(report, recipients, recipient_columns);

	for (size_t i = 0; i < delivery_report->recipients.n; i++) {
		const struct recipient *recipient = &delivery_report->recipients.items[i];
		_cleanup_free_ char *next = delivery_report_next(delivery_report, i);
		int64_t retry_us, end_us;

		report_add_row(rows);
		report_text(rows, ADDRESS, recipient->address);
		report_text(rows, KIND, recipient_kind_name(recipient->kind));
		report_text(rows, STATUS, delivery_status_name(recipient->status));
		report_number(rows, ATTEMPTS, recipient->attempts);
		report_text(rows, REMOTE, recipient->relay);
		report_text(rows, DSN, recipient->dsn);
		report_text(rows, MESSAGE, recipient->text);
		report_time(rows, UPDATED_AT, recipient->changed_us);
		report_text(rows, QUEUE, delivery_report->entries[i].queue);
		if (delivery_report_times(delivery_report, i, &retry_us, &end_us)) {
			report_time(rows, RETRY_AT, retry_us);
			report_time(rows, ENDS_AT, end_us);
		}
		report_text(rows, NEXT, next);
	}
	rows = report_rows(report, events, email_event_columns);
	for (size_t i = 0; i < delivery_report->events.n; i++)
		report_add(rows, &delivery_report->events.items[i]);
}
