/*
 * tracker: follows the queue messages that carry our emails, line by line.
 *
 * Each line is about a queue message, which is in one of three states:
 *
 *   tracked    the milter recorded it, or it came from a tracked one
 *   untracked  nothing is known of it yet; its lines are kept
 *   foreign    its Message-ID is that of no email; nothing is kept
 *
 * What a log line means for each:
 *
 *                   tracked                      untracked
 *   -------------   --------------------------   -----------------------------
 *   client=, uid=   nothing                      the sender is noted
 *   message-id=     nothing                      noted: it may become tracked
 *   orig_id=        the previous message ends,   the same, if the previous one
 *                   this one continues it        is tracked
 *   queue active    the email is accepted; the   the milter has not recorded it
 *                   number of addresses
 *   to=, status=    a delivery (delivery_writer); the line is kept
 *                   it may come back
 *   expired         open recipients expire       the line is kept
 *   removed         it has left the queue        the line is kept
 *   discarded       open recipients discarded    the line is kept
 *
 * An untracked message becomes tracked, and its lines are processed again, as soon as one of
 * these is known about it, in whatever order the lines come:
 *
 *   - local(8) has logged `forwarded as` with its id;
 *   - pickup or postsuper(1) have logged that it has the content of a tracked one;
 *   - it has the Message-ID of an email, and a next hop that is this host or a content filter
 *     has accepted that email and replied with its id;
 *   - the same, but the next hop replied with no id; then the time must fit
 *     (delivery_may_lead_to()), the message must come from a program of this host or a content
 *     filter, and no other email may have that Message-ID: anybody who knows the Message-ID of
 *     an email can send another message with it from elsewhere.
 *
 * Lines about emails that the milter was not asked about are handled in ticket_line.c.
 * delivery_tree.c decides what all this means for a recipient.
 *
 * Owns the untracked messages and, until the transaction ends, the messages looked up in it.
 */
#include "events/tracker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/address/addr_logged.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/base/hash_table.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_later_refusal.h"
#include "events/tracker_private.h"
#include "events/untracked.h"

/* Within this time a queue id means the same message, because stamps have whole seconds. */
#define SAME_US SECOND_US

/* The store's row for a queue id. */
struct lookup {
	char *id;
	int64_t time_us;     /* it was looked up for this time; INT64_MIN: outdated, or not yet */
	int64_t expected_us; /* the time of the first line that will look it up */
	bool found;
	struct queue_message message;
	struct lookup *before; /* the look-up made before this one */
};

struct tracker {
	struct db *db;
	const struct next_hops *next_hops;
	struct delivery_writer *writer;
	struct untracked_list *untracked;
	struct hash_table lookups; /* the last one of each queue id */
	struct lookup *last_lookup;
	struct lookup *looked_up; /* this one, and those before it; the others are expected */
	struct tracker_counts counts;
	struct tracker_counts kept;  /* the counts at the last commit */
	struct delivery_counts seen; /* the part of the writer's counts that is included */
};

/* The line that is being processed. */
struct work {
	struct tracker *tracker;
	struct line_context context;
};

static int handle_line(struct work *work);

/* Derives who took the email, for a recipient of which only the database row is known. */
static void classify(const void *arg, const struct recipient *recipient, struct delivery *delivery)
{
	bool forwarded;
	struct span id;

	delivery->via = next_hops_via_relay(arg, recipient->relay);
	if (delivery->via == VIA_FINAL || recipient->text == NULL)
		return;
	id = log_queued_as((struct span){recipient->text, strlen(recipient->text)}, &forwarded);
	if (id.data && !forwarded)
		delivery->child = mem_dup(id.data, id.len);
}

struct tracker *tracker_new(struct db *db, const struct next_hops *next_hops)
{
	struct tracker *tracker = mem_new(struct tracker);

	tracker->db = db;
	tracker->next_hops = next_hops;
	tracker->writer = delivery_writer_new(db);
	tracker->untracked = untracked_list_new();
	delivery_writer_set_classify(tracker->writer, classify, next_hops);
	return tracker;
}

void tracker_set_suppression(struct tracker *tracker, const struct suppression_terms *terms)
{
	delivery_writer_set_suppression(tracker->writer, terms);
}

static void clear_lookups(struct tracker *tracker)
{
	tracker->looked_up = NULL;
	hash_table_empty(&tracker->lookups);
	while (tracker->last_lookup) {
		struct lookup *lookup = tracker->last_lookup;

		tracker->last_lookup = lookup->before;
		if (lookup->found)
			queue_message_clear(&lookup->message);
		free(lookup->id);
		free(lookup);
	}
}

void tracker_reset(struct tracker *tracker)
{
	untracked_list_clear(tracker->untracked);
	clear_lookups(tracker);
	delivery_writer_reset(tracker->writer);
	tracker->counts = tracker->kept;
}

void tracker_kept(struct tracker *tracker)
{
	tracker->kept = tracker->counts;
}

void tracker_free(struct tracker *tracker)
{
	if (tracker == NULL)
		return;
	tracker_reset(tracker);
	hash_table_clear(&tracker->lookups);
	untracked_list_free(tracker->untracked);
	delivery_writer_free(tracker->writer);
	free(tracker);
}

uint64_t tracker_oldest(const struct tracker *tracker)
{
	return untracked_oldest(tracker->untracked);
}

const struct tracker_counts *tracker_counts(const struct tracker *tracker)
{
	return &tracker->kept;
}

size_t tracker_held(const struct tracker *tracker)
{
	return delivery_writer_held(tracker->writer);
}

int tracker_settle(struct tracker *tracker, struct err *err)
{
	const struct delivery_counts *stored = delivery_writer_counts(tracker->writer);

	clear_lookups(tracker);
	if (delivery_writer_flush(tracker->writer, err) < 0)
		return -1;
	for (size_t i = 0; i < EVENT_KINDS; i++) {
		uint64_t fresh = stored->events[i] - tracker->seen.events[i];

		tracker->counts.added += fresh;
		tracker->counts.events[i] += fresh;
	}
	tracker->counts.open += stored->unreported - tracker->seen.unreported;
	tracker->counts.unlisted += stored->unlisted - tracker->seen.unlisted;
	tracker->seen = *stored;
	return 0;
}

/*
 * The texts of a line, in a form that can be stored.
 */

char *line_text(struct span span)
{
	char *text;

	if (span.data == NULL)
		return NULL;
	text = mem_dup(span.data, span.len);
	for (char *at = text; (at = memchr(at, '\0', span.len - (size_t)(at - text))) != NULL;)
		*at = '?';
	str_utf8_mend(text);
	return text;
}

/* The texts of a delivery, in one copy. NULL if not in the line. */
struct texts {
	char *copy;
	char *to, *orig_to, *relay, *delays, *dsn, *text;
};

/* A span can be terminated in place: at least one byte stands between two spans. */
static char *text_in(char *copy, const char *from, struct span span)
{
	char *text = span.data ? copy + (span.data - from) : NULL;

	if (text)
		text[span.len] = '\0';
	return text;
}

static void read_delivery_texts(const struct log_line *line, struct texts *texts_r)
{
	const char *from = line->to.data;
	size_t len = (size_t)(line->text.data + line->text.len - from);
	char *copy = mem_dup(from, len);

	for (char *at = copy; (at = memchr(at, '\0', len - (size_t)(at - copy))) != NULL;)
		*at = '?';
	*texts_r = (struct texts){
		.copy = copy,
		.to = text_in(copy, from, line->to),
		.orig_to = text_in(copy, from, line->orig_to),
		.relay = text_in(copy, from, line->relay),
		.delays = text_in(copy, from, line->delays),
		.dsn = text_in(copy, from, line->dsn),
		.text = text_in(copy, from, line->text),
	};
	str_utf8_mend(texts_r->to);
	str_utf8_mend(texts_r->relay);
	str_utf8_mend(texts_r->text);
	if (texts_r->orig_to)
		str_utf8_mend(texts_r->orig_to);
	if (texts_r->delays)
		str_utf8_mend(texts_r->delays);
}

/*
 * Is a line about a tracked message?
 */

/* True if the look-up is valid for a line of that time. */
static bool is_fresh(const struct lookup *lookup, int64_t time_us)
{
	if (lookup->time_us == INT64_MIN || time_us < lookup->time_us - SAME_US ||
		time_us > lookup->time_us + SAME_US)
		return false;
	return !lookup->found || lookup->message.closed_us == 0 ||
	       time_us <= lookup->message.closed_us;
}

static bool is_of_id(const void *lookup, const void *id)
{
	return span_is(*(const struct span *)id, ((const struct lookup *)lookup)->id);
}

/* Adds a look-up, in the place of the last one of the id, if there is one. */
static struct lookup *add_lookup(struct tracker *tracker, struct span id, struct lookup *last)
{
	uint64_t hash = span_hash(id);
	struct lookup *lookup = mem_new(struct lookup);

	lookup->id = mem_dup(id.data, id.len);
	lookup->time_us = INT64_MIN;
	lookup->before = tracker->last_lookup;
	tracker->last_lookup = lookup;
	if (last)
		hash_table_replace(&tracker->lookups, hash, last, lookup);
	else
		hash_table_add(&tracker->lookups, hash, lookup);
	return lookup;
}

static int read_lookup(struct tracker *tracker, struct lookup *lookup, int64_t time_us,
	int64_t ahead_us, struct err *err)
{
	int found = store_queue_message_find(
		tracker->db, lookup->id, time_us, ahead_us, &lookup->message, err);

	lookup->found = found == 1;
	lookup->time_us = time_us;
	return found;
}

/* Finds the tracked message of the id at the time of the line. Returns 1, 0 if none, -1 on
 * error. The tracker owns the result. Earlier look-ups of the same id stay, because a caller may
 * be using them. */
static int look_up(struct work *work, struct span id, struct lookup **lookup_r)
{
	struct tracker *tracker = work->tracker;
	const struct line_position *position = &work->context.position;
	struct lookup *last = hash_table_find(&tracker->lookups, span_hash(id), is_of_id, &id);
	struct lookup *lookup = last;

	if (lookup == NULL || !is_fresh(lookup, position->time_us)) {
		lookup = add_lookup(tracker, id, last);
		/* What was found before may not be written. */
		if ((last && delivery_writer_write_messages(tracker->writer, work->context.err) <
				     0) ||
			read_lookup(tracker, lookup, position->time_us, position->ahead_us,
				work->context.err) < 0)
			return -1;
		tracker->looked_up = lookup;
	}
	*lookup_r = lookup;
	return lookup->found;
}

/* Postfix has the email: the milter recorded its message. The row of the message and the events are
 * added together, so each is there exactly if the other is. */
static int add_accepted(struct work *work, const struct queue_message *message)
{
	struct line_context *context = &work->context;
	struct event_report report = {.email = message->email,
		.kind = EVENT_ACCEPTED,
		.occurred_us = context->position.time_us,
		.now_us = context->now_us,
		.source = "log"};
	uint8_t key[EVENT_KEY_LEN];
	const struct recipients *all;
	char since[24];

	if (delivery_writer_begin_message(context->writer, message, context->err) < 0 ||
		delivery_writer_recipients(context->writer, message->email, &all, context->err) < 0)
		return -1;
	snprintf(since, sizeof(since), "%lld", (long long)message->since_us);
	event_key(key, (const char *[]){event_kind_name(EVENT_ACCEPTED), message->queue_id, since},
		3);
	for (size_t i = 0; i < all->n; i++) {
		if (all->items[i].status == DELIVERY_SUPPRESSED)
			continue;
		report.n = all->items[i].n;
		event_key_of_one(report.key, key, i);
		if (delivery_writer_add(context->writer, &report, context->err) < 0)
			return -1;
	}
	return 0;
}

/* Looks a message up as look_up() does, for a line that shows that Postfix has the message. */
static int find_tracked(struct work *work, struct span id, struct lookup **lookup_r)
{
	int found = look_up(work, id, lookup_r);
	struct queue_message *message = found == 1 ? &(*lookup_r)->message : NULL;

	if (message == NULL || !message->is_new)
		return found;
	message->is_new = false;
	return add_accepted(work, message) < 0 ? -1 : 1;
}

/* Tracks the message with the id as one that carries the parent's email, and processes the
 * lines kept for it. n: its recipient, if it is for one only. Returns 1, 0 if it carries
 * another email, -1 on error. */
static int track(struct work *work, struct span id, const struct queue_message *parent,
	enum message_how how, int64_t n)
{
	_cleanup_(untracked) struct untracked *untracked = NULL;
	struct lookup *lookup;
	struct queue_message child;
	int found;

	if (span_is(id, parent->queue_id))
		return 0;
	found = find_tracked(work, id, &lookup);
	if (found < 0)
		return -1;
	if (found == 1 &&
		(lookup->message.email != parent->email || lookup->message.how == MESSAGE_RECORDED))
		return 0;
	untracked = untracked_remove(work->tracker->untracked, id);
	child = (struct queue_message){
		.queue_id = lookup->id,
		.email = parent->email,
		.since_us = found       ? lookup->message.since_us
			    : untracked ? untracked->first_us
					: work->context.position.order_us,
		.parent = parent->queue_id,
		.how = how,
		.n = n,
		.recipients = untracked ? untracked->recipients : 0,
	};
	lookup->time_us = INT64_MIN;
	if (delivery_writer_add_message(work->context.writer, &child, work->context.err) < 0)
		return -1;
	for (size_t i = 0; untracked && i < untracked->n; i++) {
		struct work again = *work;

		again.context.line = &untracked->lines[i].line;
		again.context.position = untracked->lines[i].position;
		if (handle_line(&again) < 0)
			return -1;
	}
	return 1;
}

/*
 * Lines of a tracked message.
 */

/* Returns the start of the attempt that the line is about. delays is a/b/c/d; c and d are the
 * times of connecting and sending. */
static int64_t attempt_begin(const char *delays, int64_t time_us)
{
	enum { LONGEST_S = 1000000 };
	const char *at = delays ? strchr(delays, '/') : NULL;
	double connecting, sending;
	char *end;

	at = at ? strchr(at + 1, '/') : NULL;
	if (at == NULL)
		return time_us;
	connecting = strtod(at + 1, &end);
	sending = *end == '/' ? strtod(end + 1, NULL) : -1;
	if (!(connecting >= 0 && sending >= 0 && connecting + sending < LONGEST_S))
		return time_us;
	return time_us - (int64_t)((connecting + sending) * 1e6);
}

/* Finds the untracked messages that result from the delivery, as far as their lines were read.
 * Others are found later by track_by_message_id(). Returns 0, or -1 on error. */
static int find_children(
	struct work *work, int64_t email, const struct delivery *delivery, struct strv *children_r)
{
	struct line_context *context = &work->context;
	const char *child = delivery->child, *message_id;
	const struct untracked *one = NULL;
	int64_t emails[MESSAGE_EMAILS_MAX];
	int sharers = 0;

	if (untracked_oldest(context->untracked) == UINT64_MAX)
		return 0;
	if (delivery_writer_message_id(context->writer, email, &message_id, context->err) < 0)
		return -1;
	if (child)
		one = untracked_find(context->untracked, (struct span){child, strlen(child)});
	if (one && one->message_id && str_eq(one->message_id, message_id))
		strv_add(children_r, child);
	one = NULL;
	while ((one = untracked_next_ours(context->untracked, one)) != NULL) {
		if (!one->is_local || !str_eq(one->message_id, message_id) ||
			(child && str_eq(one->queue_id, child)) ||
			!delivery_may_lead_to(delivery, one->queue_id, one->first_us))
			continue;
		if (sharers == 0)
			sharers = store_queue_message_emails(context->db, message_id,
				context->position.time_us, context->position.ahead_us, emails,
				context->err);
		if (sharers < 0)
			return -1;
		/* The message may belong to another email; see track_by_message_id(). */
		if (sharers > 1)
			break;
		strv_add(children_r, one->queue_id);
	}
	return 0;
}

/* local(8) has made a message for an alias and logs its id. */
static int on_forwarded(struct work *work, const struct queue_message *message, struct span child,
	const struct texts *texts, struct delivery_attempt *attempt, struct event_report *report)
{
	struct line_context *context = &work->context;
	_cleanup_free_ char *name = line_text(child);
	int64_t n = message->n;
	int found = 0;

	/* The one recipient that the alias's message is for, by the address before alias
	 * expansion. */
	if (n < 0 && texts->orig_to)
		found = delivery_writer_find(
			context->writer, message->email, texts->orig_to, &n, context->err);
	if (message->n < 0 && found == 0)
		found = delivery_writer_find(
			context->writer, message->email, texts->to, &n, context->err);
	if (found < 0)
		return -1;
	attempt->via = VIA_ALIAS;
	attempt->child = name;
	report->kind = EVENT_HANDED_ON;
	if (delivery_writer_deliver(context->writer, attempt, report, context->err) < 0)
		return -1;
	return track(work, child, message, MESSAGE_FORWARDED, n) < 0 ? -1 : 0;
}

/* The message was accepted. If the hop is this host or a content filter, the message may come
 * back. A message that a filter has given back and that goes to a program of this host is not
 * followed further, unless that program names a new queue id. */
static int on_sent(struct work *work, const struct queue_message *message,
	const struct texts *texts, struct delivery_attempt *attempt, struct event_report *report)
{
	struct line_context *context = &work->context;
	bool forwarded, given_back = message->how == MESSAGE_QUEUED_AS ||
				     message->how == MESSAGE_GIVEN_BACK;
	struct span id = log_queued_as(context->line->text, &forwarded);
	_cleanup_strv_ struct strv children = STRV_INIT;
	_cleanup_free_ char *child = NULL;

	if (context->line->agent == LOG_AGENT_MAILBOX && id.data && forwarded)
		return on_forwarded(work, message, id, texts, attempt, report);
	attempt->via = next_hops_via(context->next_hops, context->line->agent, report->relay);
	report->kind = attempt->via == VIA_FILTER ? EVENT_HANDED_ON : EVENT_DELIVERED;
	if (attempt->via != VIA_FINAL) {
		attempt->began_us = attempt_begin(texts->delays, context->position.time_us);
		if (id.data && !forwarded)
			attempt->child = child = line_text(id);
	}
	if (attempt->via == VIA_FILTER || (attempt->via == VIA_LOCAL && (child || !given_back))) {
		const struct delivery led = {.state = DELIVERY_DELIVERED,
			.via = attempt->via,
			.child = child,
			.since_us = message->since_us,
			.began_us = attempt->began_us,
			.changed_us = report->occurred_us};

		if (find_children(work, message->email, &led, &children) < 0)
			return -1;
		attempt->has_child = children.n > 0;
	}
	if (delivery_writer_deliver(context->writer, attempt, report, context->err) < 0)
		return -1;
	for (size_t i = 0; i < children.n; i++) {
		const char *name = children.items[i];

		if (track(work, (struct span){name, strlen(name)}, message,
			    child && str_eq(name, child) ? MESSAGE_QUEUED_AS : MESSAGE_GIVEN_BACK,
			    message->n) < 0)
			return -1;
	}
	return 0;
}

/* Postfix completes a recipient without a domain (append_at_myorigin) before it asks the milter,
 * and logs both forms, whether an alias was used or not. Makes such a name the email's recipient
 * that it is, or NULL where that is who got it. Returns 0 or -1. */
static int complete_name(struct work *work, int64_t email, const char *to, const char **name)
{
	const struct recipients *all;
	const char *whole = *name;

	if (str_empty(*name) || strchr(*name, '@'))
		return 0;
	if (delivery_writer_recipients(work->context.writer, email, &all, work->context.err) < 0)
		return -1;
	for (size_t i = 0; i < all->n; i++) {
		const char *address = all->items[i].address, *domain = strrchr(address, '@');
		_cleanup_free_ char *completed = mem_printf("%s%s", *name, domain ? domain : "");

		if (!addr_logged_eq(completed, address))
			continue;
		whole = address;
		if (addr_logged_eq(address, to)) {
			whole = NULL;
			break;
		}
	}
	*name = whole;
	return 0;
}

static int on_delivery(struct work *work, const struct queue_message *message)
{
	struct line_context *context = &work->context;
	const struct log_line *line = context->line;
	struct delivery_attempt attempt = {
		.message = message, .began_us = context->position.time_us};
	struct event_report report = {.email = message->email,
		.occurred_us = context->position.time_us,
		.now_us = context->now_us,
		.source = "log"};
	const char *orig_to;
	struct texts texts;
	char since[24], status[24];
	int result;

	if (line->status == LOG_PROBED)
		return 0;
	read_delivery_texts(line, &texts);
	orig_to = texts.orig_to;
	if (complete_name(work, message->email, texts.to, &orig_to) < 0) {
		free(texts.copy);
		return -1;
	}
	attempt.orig_to = orig_to;
	report.address = texts.to;
	report.relay = str_eq(texts.relay, "none") ? NULL : texts.relay;
	report.dsn = texts.dsn;
	report.text = texts.text;
	snprintf(since, sizeof(since), "%lld", (long long)message->since_us);
	snprintf(status, sizeof(status), "%d", (int)line->status);
	event_key(report.key,
		(const char *[]){"delivery", message->queue_id, since, texts.to, orig_to, status,
			texts.dsn, texts.delays, texts.text},
		9);
	if (line->status == LOG_SENT && line->agent != LOG_AGENT_DISCARD) {
		result = on_sent(work, message, &texts, &attempt, &report);
	} else {
		report.kind = line->status == LOG_DEFERRED  ? EVENT_DEFERRED
			      : line->status == LOG_BOUNCED ? EVENT_BOUNCED
							    : EVENT_DISCARDED;
		result = delivery_writer_deliver(context->writer, &attempt, &report, context->err);
	}
	free(texts.copy);
	return result;
}

/* All recipients that the message still had ended in the same way. */
static int on_end(struct work *work, struct queue_message *message, enum event_kind kind)
{
	const struct event_report report = {.email = message->email,
		.kind = kind,
		.occurred_us = work->context.position.time_us,
		.now_us = work->context.now_us,
		.source = "log"};

	message->has_end = true;
	return delivery_writer_end(work->context.writer, message, &report, work->context.err);
}

/* A milter after ours has refused a recorded message, or ours was killed before it answered:
 * Postfix does not have it. For an email of ours httpd gets the reply, or it bounces. For one that
 * its client submitted itself, only the log says it. */
static int on_refused(struct work *work)
{
	struct line_context *context = &work->context;
	_cleanup_free_ char *text = line_text(context->line->text), *said = NULL;
	const struct recipients *all;
	struct lookup *lookup;
	char *end = text ? strstr(text, "; from=<") : NULL;
	int found;

	if (text == NULL || !str_starts(text, "milter-reject: END-OF-MESSAGE"))
		return 0;
	found = look_up(work, context->line->id, &lookup);
	if (found <= 0 || lookup->message.how != MESSAGE_RECORDED)
		return found;
	if (end)
		*end = '\0';
	/* After a 4xx reply the message comes again. */
	if (strstr(text, "]: 4.") == NULL &&
		store_later_refusal_add(context->db, lookup->message.queue_id, text,
			context->position.time_us, context->err) < 0)
		return -1;
	found = store_email_is_auth(context->db, lookup->message.email, context->err);
	if (found <= 0)
		return found;
	said = mem_printf(DELIVERY_REFUSED "%s", text);
	if (delivery_writer_recipients(context->writer, lookup->message.email, &all, context->err) <
		0)
		return -1;
	for (size_t i = 0; i < all->n; i++) {
		struct event_report report = {
			.email = lookup->message.email,
			.n = all->items[i].n,
			.kind = EVENT_DISCARDED,
			.occurred_us = context->position.time_us,
			.now_us = context->now_us,
			.text = said,
			.source = "log",
		};
		char n[24];

		if (!delivery_is_open(all->items[i].status))
			continue;
		snprintf(n, sizeof(n), "%lld", (long long)report.n);
		event_key(report.key,
			(const char *[]){"refused", lookup->message.queue_id, n, said}, 4);
		if (delivery_writer_add(context->writer, &report, context->err) < 0)
			return -1;
	}
	return 0;
}

static int on_removed(struct work *work, struct queue_message *message)
{
	int64_t time_us = work->context.position.time_us;

	if (message->closed_us)
		return 0;
	if (work->context.line->by_admin && on_end(work, message, EVENT_REMOVED) < 0)
		return -1;
	message->closed_us = time_us;
	return delivery_writer_close(
		work->context.writer, message, time_us, message->has_end, work->context.err);
}

/* The queue manager logs the number of addresses left to deliver; the first time it is all of
 * them. Usually it equals the number of the email's recipients. */
static int on_active(struct work *work, struct queue_message *message)
{
	struct line_context *context = &work->context;
	int64_t n = context->line->recipients;
	const struct recipients *all;

	/* nrcpt includes the ticket, which the milter has removed. */
	n -= message->how == MESSAGE_RECORDED;
	if (message->recipients || n <= 0)
		return 0;
	if (delivery_writer_recipients(context->writer, message->email, &all, context->err) < 0)
		return -1;
	if (message->how == MESSAGE_RECORDED && n <= (int64_t)all->n)
		return 0;
	message->recipients = n;
	return delivery_writer_expect(context->writer, message, context->err);
}

static int on_tracked(struct work *work, struct lookup *lookup)
{
	struct untracked_list *list = work->tracker->untracked;
	const struct untracked *untracked;

	switch (work->context.line->kind) {
	case LOG_DELIVERY:
		return on_delivery(work, &lookup->message);
	case LOG_EXPIRED:
		return on_end(work, &lookup->message, EVENT_EXPIRED);
	case LOG_DISCARDED:
		return on_end(work, &lookup->message, EVENT_DISCARDED);
	case LOG_REMOVED:
		return on_removed(work, &lookup->message);
	case LOG_ACTIVE:
		/* The note about it is no longer needed. */
		untracked = untracked_find(list, work->context.line->id);
		if (untracked && untracked->n == 0)
			untracked_free(untracked_remove(list, work->context.line->id));
		return on_active(work, &lookup->message);
	default:
		return 0;
	}
}

/* The content of an earlier message continues under another id. */
static int on_requeued(struct work *work)
{
	struct line_context *context = &work->context;
	struct lookup *before;
	int result = find_tracked(work, context->line->other, &before);

	if (result != 1)
		return result;
	result = track(
		work, context->line->id, &before->message, MESSAGE_REQUEUED, before->message.n);
	if (result < 0 || before->message.closed_us)
		return result < 0 ? -1 : 0;
	before->message.closed_us = context->position.time_us;
	return delivery_writer_close(
		context->writer, &before->message, context->position.time_us, true, context->err);
}

/*
 * Lines of other messages.
 */

/* Everything is known about an untracked message, except if it comes from an email with the
 * same Message-ID.
 *
 * The Message-ID is chosen by the sender, who can choose that of another company's email. If
 * several emails have it, only an email whose delivery named the queue id matches. Matching by
 * time alone could show one company what became of another's email. */
static int track_by_message_id(struct work *work, struct untracked *untracked)
{
	struct line_context *context = &work->context;
	int64_t emails[MESSAGE_EMAILS_MAX];
	int n = store_queue_message_emails(context->db, untracked->message_id,
		context->position.time_us, context->position.ahead_us, emails, context->err);

	if (n < 0)
		return -1;
	if (n == 0) {
		untracked_set_foreign(untracked);
		return 0;
	}
	untracked_set_ours(context->untracked, untracked);
	for (int i = 0; i < n; i++) {
		struct queue_message parent = {.email = emails[i], .queue_id = (char *)""};
		int leads = delivery_writer_leads_to(context->writer, emails[i],
			untracked->queue_id, untracked->first_us, context->err);

		if (leads < 0)
			return -1;
		if (leads == 2 || (leads == 1 && n == 1 && untracked->is_local))
			return track(work, context->line->id, &parent, MESSAGE_GIVEN_BACK,
				       EVENT_ANY_RECIPIENT) < 0
				       ? -1
				       : 0;
	}
	return 0;
}

/* Notes who sent the message, or its Message-ID. */
static int on_head(struct work *work)
{
	struct line_context *context = &work->context;
	struct span text = context->line->text;
	struct untracked *untracked = untracked_get(
		context->untracked, context->line->id, &context->position);

	if (context->line->kind == LOG_MESSAGE_ID) {
		untracked_set_message_id(context->untracked, untracked, line_text(text));
	} else {
		untracked->is_local = text.data == NULL ||
				      next_hops_is_local_client(context->next_hops, text);
		/* postern-httpd, or an admin who submits what waits. All daemons run as one user,
		 * since they share the store. */
		untracked->by_other = text.data == NULL && context->line->uid != 0 &&
				      context->line->uid != (int64_t)geteuid();
	}
	return untracked->is_past_milter && untracked->message_id && !untracked->is_foreign
		       ? track_by_message_id(work, untracked)
		       : 0;
}

/* The milter records a message before the queue manager starts on it, so a message that is not
 * found from then on was not recorded. But cleanup can discard a message before the milter is
 * asked. */
static int on_untracked(struct work *work)
{
	struct line_context *context = &work->context;
	struct untracked *untracked = untracked_get(
		context->untracked, context->line->id, &context->position);
	bool is_news = !untracked->is_past_milter;

	if (untracked->is_foreign)
		return 0;
	if (context->line->kind != LOG_ACTIVE)
		untracked_add_line(
			context->untracked, untracked, context->line, &context->position);
	else if (untracked->recipients == 0)
		untracked->recipients = context->line->recipients;
	if (context->line->kind == LOG_DISCARDED)
		return 0;
	untracked->is_past_milter = true;
	return is_news && untracked->message_id ? track_by_message_id(work, untracked) : 0;
}

static int on_message(struct work *work)
{
	const struct log_line *line = work->context.line;
	const struct untracked *untracked = untracked_find(work->tracker->untracked, line->id);
	struct lookup *lookup;
	int found = ticket_line(&work->context);

	if (found != 0)
		return found < 0 ? -1 : 0;
	/* A queue id may be used again. */
	if (untracked && untracked->is_past_milter && line->kind != LOG_ACTIVE)
		return on_untracked(work);
	found = find_tracked(work, line->id, &lookup);
	if (found < 0)
		return -1;
	return found ? on_tracked(work, lookup) : on_untracked(work);
}

static int handle_line(struct work *work)
{
	switch (work->context.line->kind) {
	case LOG_CLIENT:
	case LOG_MESSAGE_ID:
		return on_head(work);
	case LOG_PICKUP:
		return on_requeued(work);
	case LOG_ACTIVE:
	case LOG_DELIVERY:
	case LOG_EXPIRED:
	case LOG_REMOVED:
	case LOG_DISCARDED:
		return on_message(work);
	case LOG_REFUSED:
		return on_refused(work);
	default:
		return 0;
	}
}

void tracker_expect(struct tracker *tracker, const struct log_line *line, int64_t time_us)
{
	const struct untracked *untracked;
	struct lookup *lookup;

	switch (line->kind) {
	case LOG_ACTIVE:
	case LOG_DELIVERY:
	case LOG_EXPIRED:
	case LOG_REMOVED:
	case LOG_DISCARDED:
		break;
	default:
		return;
	}
	if (hash_table_find(&tracker->lookups, span_hash(line->id), is_of_id, &line->id))
		return;
	/* As in on_message(), which looks up no message that is known to be untracked. */
	untracked = untracked_find(tracker->untracked, line->id);
	if (untracked && untracked->is_past_milter && line->kind != LOG_ACTIVE)
		return;
	lookup = add_lookup(tracker, line->id, NULL);
	lookup->expected_us = time_us;
	store_queue_message_find_ahead(tracker->db, lookup->id, time_us);
}

int tracker_look_ahead(struct tracker *tracker, int64_t ahead_us, size_t most, struct err *err)
{
	struct lookup *last = tracker->last_lookup, *end = tracker->looked_up;
	const struct recipients *all;
	int result = 0;

	for (struct lookup *one = last; one != end && result >= 0; one = one->before)
		result = read_lookup(tracker, one, one->expected_us, ahead_us, err);
	db_end_ahead(tracker->db);
	for (struct lookup *one = last; one != end && result >= 0; one = one->before)
		if (one->found)
			delivery_writer_read_ahead(tracker->writer, one->message.email);
	for (struct lookup *one = last; one != end && result >= 0 && tracker_held(tracker) <= most;
		one = one->before)
		if (one->found)
			result = delivery_writer_recipients(
				tracker->writer, one->message.email, &all, err);
	db_end_ahead(tracker->db);
	tracker->looked_up = last;
	return result < 0 ? -1 : 0;
}

bool tracker_is_by_other(const struct tracker *tracker, struct span queue_id)
{
	const struct untracked *untracked = queue_id.data
						    ? untracked_find(tracker->untracked, queue_id)
						    : NULL;

	return untracked && untracked->by_other;
}

int tracker_line(struct tracker *tracker, const struct log_line *line,
	const struct line_position *position, int64_t now_us, struct err *err)
{
	struct work work = {tracker, {.db = tracker->db,
					     .next_hops = tracker->next_hops,
					     .writer = tracker->writer,
					     .untracked = tracker->untracked,
					     .counts = &tracker->counts,
					     .line = line,
					     .position = *position,
					     .now_us = now_us,
					     .err = err}};

	tracker->counts.lines++;
	if (line->kind == LOG_BAD)
		tracker->counts.bad++;
	return handle_line(&work);
}
