/*
 * delivery_report: what became of an email, from the store and from Postfix's queue.
 *
 * Threads: any, but each report is used by one at a time. Only delivery_report_new() uses the
 * handle and the settings.
 */
#include "core/report/delivery_report.h"

#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/outbox/store_outbox.h"

enum {
	SILENCE_S = 60, /* after this time the log should have mentioned the email */
};

/* The words for a status: `is` after the address of one recipient, `counted` after a number
 * of recipients. An event is shown as the status that it leads to, so event kinds and statuses
 * must have the same order. */
_Static_assert((int)EVENT_COMPLAINED == (int)DELIVERY_COMPLAINED &&
		       (int)EVENT_SUPPRESSED == (int)DELIVERY_SUPPRESSED &&
		       (int)EVENT_DEFERRED == (int)DELIVERY_DEFERRED,
	"kinds are in the order of statuses");
static const struct {
	const char *is;
	const char *counted;
	const char *answer; /* for an email with one recipient; the address follows, then rest */
	const char *rest;
} words[DELIVERY_STATUSES] = {
	[DELIVERY_QUEUED] = {"in Postfix's queue", "not tried yet",
		"Not yet: the email is in Postfix's queue for ", ", and no attempt is known."},
	[DELIVERY_DEFERRED] = {"deferred", "deferred", "Not yet: delivery is delayed for ", "."},
	[DELIVERY_HANDED_ON] = {"handed on within this host", "handed on",
		"Not yet: this host has handed the email on to an alias or a filter for ", "."},
	[DELIVERY_DELIVERED] = {"delivered", "delivered", "Yes: delivered to ", "."},
	[DELIVERY_BOUNCED] = {"bounced", "bounced", "No: it bounced, delivery to ",
		" was refused for good."},
	[DELIVERY_EXPIRED] = {"given up by Postfix", "given up",
		"No: Postfix has given up delivery to ", "."},
	[DELIVERY_DISCARDED] = {"stopped by a rule of Postfix", "discarded",
		"No: a rule of Postfix discarded it for ", "."},
	[DELIVERY_REMOVED] = {"removed from Postfix's queue by an admin", "removed",
		"No: an admin removed it from Postfix's queue, with the copy for ", "."},
	[DELIVERY_UNKNOWN] = {"not known", "not known",
		"Not known: it left Postfix's queue, but its log does not say what became of it "
		"for ",
		"."},
	[DELIVERY_COMPLAINED] = {"delivered, and reported as unwanted",
		"delivered and reported as unwanted", "Yes: delivered to ",
		", who reported it as unwanted."},
	[DELIVERY_SUPPRESSED] = {"suppressed: not handed to Postfix", "suppressed",
		"No: the email was not sent, since the company's list has ", "."},
};

/* Returns the email's message that is this item of the queue, or NULL. */
static const struct queue_message *message_of_item(
	const struct delivery_report *report, const struct queue_item *item)
{
	for (size_t i = 0; i < report->messages.n; i++) {
		const struct queue_message *message = &report->messages.items[i];

		if (message->closed_us == 0 && str_eq(message->queue_id, item->id) &&
			queue_item_came_by(item, message->since_us))
			return message;
	}
	return NULL;
}

static int on_item(void *arg, struct queue_item *item, struct err *err)
{
	struct delivery_report *report = arg;
	const struct queue_message *message = message_of_item(report, item);
	const struct email *email = report->email;
	/* The first message is known from the email itself. */
	bool is_first = email->queue_id && str_eq(email->queue_id, item->id) &&
			queue_item_came_by(item, email->decided_us);

	(void)err;
	if (message == NULL && !is_first)
		return 0;
	for (size_t i = 0; i < report->recipients.n; i++) {
		const struct recipient *status = &report->recipients.items[i];
		struct delivery_queue_entry *entry = &report->entries[i];
		size_t at = 0;

		while (at < item->recipients.n &&
			!str_eq_nocase(item->recipients.items[at], status->address))
			at++;
		if (entry->queue || !delivery_is_open(status->status))
			continue;
		if (at == item->recipients.n && !(message && message->n == status->n))
			continue;
		*entry = (struct delivery_queue_entry){mem_strdup(item->queue),
			mem_strdup(item->id),
			mem_strdup(at < item->reasons.n ? item->reasons.items[at] : ""),
			item->arrival_s};
	}
	return 0;
}

int delivery_report_new(struct db *db, const struct conf *conf, const struct email *email,
	int64_t now_us, struct delivery_report **report_r, struct err *err)
{
	struct delivery_report *report = mem_new(struct delivery_report);
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;

	report->email = email;
	report->now_us = now_us;
	if (store_recipients_read(db, email->seq, true, &report->recipients, err) < 0 ||
		store_event_of_email(db, email->seq, &report->events, err) < 0 ||
		store_queue_message_list(db, email->seq, &report->messages, err) < 0 ||
		store_log_state(db, email->host, &report->log, err) < 0) {
		delivery_report_free(report);
		return -1;
	}
	report->entries = mem_alloc(report->recipients.n + 1, sizeof(*report->entries));
	report->elsewhere = !str_empty(email->host) && !str_eq(email->host, db_host(db));
	if (conf && !report->elsewhere && delivery_report_is_open(report)) {
		report->times_known = postfix_queue_times(conf, &report->times, NULL) == 0;
		report->queue_seen = postfix_queue_open(conf, &queue, NULL) == 0 &&
				     postfix_queue_each(queue, on_item, report, NULL) == 0;
	}
	*report_r = report;
	return 0;
}

void delivery_report_free(struct delivery_report *report)
{
	if (report == NULL)
		return;
	for (size_t i = 0; report->entries && i < report->recipients.n; i++) {
		free(report->entries[i].queue);
		free(report->entries[i].queue_id);
		free(report->entries[i].reason);
	}
	free(report->entries);
	recipients_free(&report->recipients);
	store_event_list_free(&report->events);
	queue_messages_free(&report->messages);
	free(report);
}

bool delivery_report_is_test(const struct delivery_report *report)
{
	return report->email->state == EMAIL_SENT && str_empty(report->email->queue_id);
}

static bool has_open_recipient(const struct delivery_report *report)
{
	for (size_t i = 0; i < report->recipients.n; i++)
		if (delivery_is_open(report->recipients.items[i].status))
			return true;
	return false;
}

bool delivery_report_is_stopped(const struct delivery_report *report)
{
	return report->email->state == EMAIL_STAGED && str_empty(report->email->queue_id) &&
	       report->recipients.n > 0 && !has_open_recipient(report);
}

bool delivery_report_is_open(const struct delivery_report *report)
{
	if (report->email->state != EMAIL_SENT)
		return report->email->state == EMAIL_STAGED && !delivery_report_is_stopped(report);
	return !delivery_report_is_test(report) && has_open_recipient(report);
}

/* For an email with several recipients. */
static void add_counts(const struct delivery_report *report, struct buf *out)
{
	static const enum delivery_status order[] = {DELIVERY_DELIVERED, DELIVERY_COMPLAINED,
		DELIVERY_BOUNCED, DELIVERY_EXPIRED, DELIVERY_SUPPRESSED, DELIVERY_REMOVED,
		DELIVERY_DISCARDED, DELIVERY_DEFERRED, DELIVERY_QUEUED, DELIVERY_HANDED_ON,
		DELIVERY_UNKNOWN};
	size_t counts[DELIVERY_STATUSES] = {0};
	size_t n = report->recipients.n, good;
	const char *separator = ": ";

	for (size_t i = 0; i < n; i++)
		counts[report->recipients.items[i].status]++;
	good = counts[DELIVERY_DELIVERED] + counts[DELIVERY_COMPLAINED];
	if (good == n && counts[DELIVERY_COMPLAINED] == 0) {
		buf_printf(out, "Yes: delivered to all %zu recipients.", n);
		return;
	}
	if (good)
		buf_add_str(out, good == n ? "Yes" : "In part");
	else if (delivery_report_is_open(report))
		buf_add_str(out, "Not yet");
	else
		buf_add_str(out, counts[DELIVERY_UNKNOWN] == n ? "Not known" : "No");
	buf_printf(out, ", of %zu recipients", n);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (counts[order[i]] == 0)
			continue;
		buf_printf(out, "%s%zu %s", separator, counts[order[i]], words[order[i]].counted);
		separator = ", ";
	}
	buf_add_char(out, '.');
}

/* Says how old the information is: while nobody reads the log, a delivered email looks
 * undelivered. */
static void add_age(const struct delivery_report *report, struct buf *out)
{
	if (report->email->state != EMAIL_SENT || !delivery_report_is_open(report) ||
		log_state_is_current(&report->log, report->now_us))
		return;
	if (report->log.end_us == 0) {
		buf_add_str(out,
			" But postern-events has not read all of Postfix's log yet, so more may "
			"have happened.");
		return;
	}
	buf_add_str(out, " That was so at ");
	clock_add(out, report->log.mute_us ? report->log.mute_us : report->log.end_us);
	if (report->log.mute_us)
		buf_add_str(out,
			". Postfix's log has told nothing since then, so what happened later is not "
			"known here. Check that the system's logger runs.");
	else
		buf_add_str(out,
			", the last time that postern-events read Postfix's log. What happened "
			"later is not known here. Check that postern-events runs: systemctl status "
			"postern-events.");
}

/* How an email ended that the milter was not asked about. */
static void add_stopped(const struct delivery_report *report, struct buf *out)
{
	const struct recipient *one = &report->recipients.items[0];

	if (one->status == DELIVERY_UNKNOWN)
		buf_add_str(out,
			"No: it never reached postern-milter, and is no longer in Postfix's queue, "
			"so nobody received it. It can be sent again.");
	else if (one->text && str_starts(one->text, DELIVERY_REDIRECTED))
		buf_printf(out, "No: none of its recipients has it. %s.", one->text);
	else if (one->status == DELIVERY_EXPIRED)
		buf_add_str(out,
			"No: Postfix gave up before it could ask postern-milter about it, so nobody "
			"received it.");
	else if (one->status == DELIVERY_DISCARDED && one->relay)
		buf_add_str(out,
			"No: Postfix handed it to another server without asking postern-milter, and "
			"without its recipients, so none of them received it. Run postern doctor.");
	else
		buf_add_str(out,
			"No: a rule of Postfix, or another milter, stopped it before postern-milter "
			"checked it, so nobody received it.");
}

char *delivery_report_answer(const struct delivery_report *report)
{
	const struct email *email = report->email;
	struct buf out = BUF_INIT;

	if (email->state == EMAIL_REFUSED && email->last_event &&
		str_eq(email->last_event, "canceled"))
		buf_printf(&out, "No: it was canceled before it was sent.%s%s",
			str_eq(email->refusal, OUTBOX_CANCELED) ? "" : " ",
			str_eq(email->refusal, OUTBOX_CANCELED) ? "" : email->refusal);
	else if (email->state == EMAIL_REFUSED && email->queue_id == NULL)
		buf_printf(&out, "No: it could not be handed to Postfix. %s", email->refusal);
	else if (email->state == EMAIL_REFUSED)
		buf_printf(&out, "No: the rules refused it. %s", email->refusal);
	else if (email->state == EMAIL_STAGED && email->scheduled_us > report->now_us) {
		buf_add_str(&out, "Not yet: it is scheduled for ");
		clock_add(&out, email->scheduled_us);
		buf_add_char(&out, '.');
	} else if (email->state == EMAIL_STAGED && email->queue_id)
		buf_add_str(&out,
			"Not known: postern-milter let it pass, but then Postfix failed, and may "
			"have lost it.");
	else if (delivery_report_is_stopped(report))
		add_stopped(report, &out);
	else if (email->state == EMAIL_STAGED)
		buf_add_str(&out, "Not yet: it waits here until postern-milter has checked it.");
	else if (delivery_report_is_test(report))
		buf_add_str(&out, "No: it was a test email, which is recorded but not sent.");
	else if (report->recipients.n == 1) {
		enum delivery_status status = report->recipients.items[0].status;

		buf_printf(&out, "%s%s%s", words[status].answer,
			report->recipients.items[0].address, words[status].rest);
	} else
		add_counts(report, &out);
	add_age(report, &out);
	return buf_take(&out);
}

/* When the recipient's message entered the queue, as far as known. */
static int64_t arrival_of(const struct delivery_report *report, size_t i)
{
	const struct delivery_queue_entry *entry = &report->entries[i];

	return entry->queue ? entry->arrival_s : report->email->decided_us / SECOND_US;
}

static int64_t retry_of(const struct delivery_report *report, size_t i)
{
	return queue_next_attempt(&report->times, arrival_of(report, i),
		report->recipients.items[i].changed_us / SECOND_US);
}

static int64_t end_of(const struct delivery_report *report, size_t i)
{
	return arrival_of(report, i) + (*report->email->sender ? report->times.lifetime_s
							       : report->times.bounce_lifetime_s);
}

/* True if Postfix will try again by itself; when follows from its settings. */
static bool is_to_be_tried(const struct delivery_report *report, size_t i)
{
	const struct delivery_queue_entry *entry = &report->entries[i];

	return report->times_known && report->recipients.items[i].status == DELIVERY_DEFERRED &&
	       (entry->queue ? !str_eq(entry->queue, "hold") : !report->queue_seen);
}

static void add_retry(const struct delivery_report *report, size_t i, struct buf *out)
{
	int64_t now_s = report->now_us / SECOND_US;
	int64_t retry_s = retry_of(report, i), end_s = end_of(report, i);

	buf_add_str(out, "Postfix tries again ");
	if (retry_s <= now_s) {
		buf_add_str(out, "within minutes");
	} else {
		buf_add_str(out, "at about ");
		clock_add(out, retry_s * SECOND_US);
	}
	if (end_s <= retry_s || end_s <= now_s) {
		buf_add_str(out, ", for the last time.");
		return;
	}
	buf_add_str(out, ", and gives up at about ");
	clock_add(out, end_s * SECOND_US);
	buf_add_char(out, '.');
	if (!report->queue_seen)
		buf_add_str(out, " (Its queue could not be asked.)");
}

char *delivery_report_next(const struct delivery_report *report, size_t i)
{
	const struct recipient *status = &report->recipients.items[i];
	const struct delivery_queue_entry *entry = &report->entries[i];
	struct buf out = BUF_INIT;
	int64_t age_s = (report->now_us - report->email->decided_us) / SECOND_US;

	if (!delivery_is_open(status->status) || report->email->state != EMAIL_SENT ||
		delivery_report_is_test(report))
		return NULL;
	if (report->elsewhere)
		buf_printf(&out,
			"The Postfix of %s has its message: `postern email show` there says when it "
			"tries again.",
			report->email->host);
	else if (entry->queue && str_eq(entry->queue, "hold"))
		buf_printf(&out,
			"Postfix holds it as %s: it waits until an admin lets it go (postsuper -H "
			"%s).",
			entry->queue_id, entry->queue_id);
	else if (is_to_be_tried(report, i) && !(entry->queue && str_eq(entry->queue, "active")))
		add_retry(report, i, &out);
	else if (entry->queue && str_eq(entry->queue, "deferred"))
		buf_add_str(&out, "Postfix tries again later.");
	else if (entry->queue)
		buf_add_str(&out, "Postfix is trying it now, or about to.");
	else if (report->queue_seen)
		buf_add_str(&out,
			"It is not in Postfix's queue any more: postern-events tells from the log "
			"what became of it, or within a quarter of an hour that it is not known.");
	else if (status->status == DELIVERY_DEFERRED)
		buf_add_str(&out,
			"Postfix tries again, if it still has it. (Neither its queue nor its "
			"settings could be asked.)");
	if (status->status == DELIVERY_QUEUED && entry->queue && *entry->reason)
		buf_printf(&out, " The queue says: %s", entry->reason);
	if (status->status == DELIVERY_QUEUED && report->events.n == 0 && age_s > SILENCE_S)
		buf_printf(&out,
			"%sPostfix's log has told nothing of it: check that postern-events runs and "
			"reads the right log.",
			out.len ? " " : "");
	return out.len ? buf_take(&out) : NULL;
}

bool delivery_report_times(
	const struct delivery_report *report, size_t i, int64_t *retry_us_r, int64_t *end_us_r)
{
	if (!is_to_be_tried(report, i))
		return false;
	*retry_us_r = retry_of(report, i) * SECOND_US;
	*end_us_r = end_of(report, i) * SECOND_US;
	return true;
}

const char *delivery_report_status_words(enum delivery_status status)
{
	return words[status].is;
}

const char *delivery_report_event_words(enum event_kind kind)
{
	switch (kind) {
	case EVENT_ACCEPTED:
		return "taken by Postfix";
	case EVENT_CANCELED:
		return "canceled before it was sent";
	case EVENT_FAILED:
		return "not handed to Postfix";
	case EVENT_UNSUBSCRIBED:
		return "unsubscribed";
	default:
		return words[kind].is;
	}
}

const char *delivery_report_message_words(enum message_how how)
{
	static const char *const hows[] = {
		[MESSAGE_RECORDED] = "accepted by postern-milter",
		[MESSAGE_FORWARDED] = "forwarded to an alias",
		[MESSAGE_QUEUED_AS] = "given back by a content filter",
		[MESSAGE_REQUEUED] = "requeued",
		[MESSAGE_GIVEN_BACK] = "given back by a content filter",
	};

	return hows[how];
}
