/*
 * tracker: follows the queue messages that carry our emails, line by line.
 *
 * A line is about a queue message, which is one of three:
 *
 *   tracked    the milter recorded it, or it came from a tracked one
 *   untracked  nothing is known of it yet; its lines are kept
 *   foreign    its Message-ID is that of no email; nothing is kept
 *
 * What a line says of a tracked message goes to store_fact. An untracked
 * message becomes tracked, and its lines are read again, when one of these is
 * found of it, in whatever order the lines come:
 *
 *   - local(8) says `forwarded as` and its id;
 *   - pickup or postsuper(1) say that it has the content of a tracked one;
 *   - it has the Message-ID of an email, and a hop that is this host or a
 *     content filter has taken that email and names its id, or names none and
 *     the time fits (delivery_may_lead_to()) and no other email has that
 *     Message-ID.
 *
 * Owns the untracked messages: by queue id, and in the order in which the ids
 * came up, for ten minutes of the log's time and up to a bound in bytes, beyond
 * which the oldest give way. And, until the transaction ends, the messages that
 * were looked up in it.
 */
#include "events/tracker.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "core/store/store_email.h"
#include "core/store/store_fact.h"

enum {
	BUCKETS = 4096, /* a power of two */
	UNTRACKED_BYTES_MAX = 4 * 1024 * 1024,
	UNTRACKED_COST = 200, /* of an id without a line */
	LOOKUP_BUCKETS = 512, /* a power of two */
	CHILDREN_MAX = 64,    /* that one line connects */
};
#define UNTRACKED_US (600 * SECOND_US)
/* Within it a queue id means the same message: stamps are in whole seconds. */
#define SAME_US SECOND_US

/* A line, with its own copy of what it points to. */
struct kept_line {
	struct log_line line;
	struct line_place place;
	char *text;
};

struct untracked {
	char *id;
	char *message_id; /* NULL until cleanup tells */
	bool is_recorded; /* the milter would have recorded it by now */
	bool is_foreign;
	bool is_ours; /* it has the Message-ID of an email */
	int64_t first_us;
	uint64_t number; /* of its first line */
	struct kept_line *lines;
	size_t n;
	size_t bytes;
	struct untracked *in_bucket;
	struct untracked *older, *newer;
};

/* What the store says of a queue id. */
struct lookup {
	char *id;
	int64_t time_us; /* at this time; INT64_MIN: not any more */
	bool found;
	struct hop hop;
	struct lookup *in_bucket;
	struct lookup *before; /* this one was looked up */
};

struct tracker {
	struct db *db;
	const struct hops *hops;
	struct fact_writer *writer;
	struct untracked *buckets[BUCKETS];
	struct untracked *oldest, *newest;
	size_t ours; /* how many of them are */
	size_t bytes;
	struct lookup *lookups[LOOKUP_BUCKETS];
	struct lookup *last_lookup;
	struct tracker_counts counts;
	struct tracker_counts kept; /* as they were at the last commit */
	struct fact_counts seen;    /* of the writer's counts */
};

/* The line in work. */
struct work {
	struct tracker *tracker;
	const struct log_line *line;
	struct line_place place;
	int64_t now_us;
	struct err *err;
};

static void classify(const void *arg, const struct recipient *recipient, struct delivery *delivery)
{
	bool forwarded;
	struct span id;

	delivery->via = hops_via_relay(arg, recipient->relay);
	if (delivery->via == VIA_FINAL || recipient->text == NULL)
		return;
	id = log_queued_as((struct span){recipient->text, strlen(recipient->text)}, &forwarded);
	if (id.data && !forwarded)
		delivery->child = mem_dup(id.data, id.len);
}

struct tracker *tracker_new(struct db *db, const struct hops *hops)
{
	struct tracker *tracker = mem_new(struct tracker);

	tracker->db = db;
	tracker->hops = hops;
	tracker->writer = fact_writer_new(db);
	fact_writer_set_classify(tracker->writer, classify, hops);
	return tracker;
}

/*
 * Untracked messages.
 */

static struct untracked **find_slot(struct tracker *tracker, struct span id)
{
	struct untracked **slot =
		&tracker->buckets[mem_hash(MEM_HASH, id.data, id.len) & (BUCKETS - 1)];

	while (*slot && !span_is(id, (*slot)->id))
		slot = &(*slot)->in_bucket;
	return slot;
}

/* Takes it out; the caller frees it. */
static struct untracked *untracked_take(struct tracker *tracker, struct span id)
{
	struct untracked **slot = find_slot(tracker, id);
	struct untracked *untracked = *slot;

	if (untracked == NULL)
		return NULL;
	*slot = untracked->in_bucket;
	*(untracked->older ? &untracked->older->newer : &tracker->oldest) = untracked->newer;
	*(untracked->newer ? &untracked->newer->older : &tracker->newest) = untracked->older;
	tracker->bytes -= untracked->bytes;
	tracker->ours -= untracked->is_ours;
	return untracked;
}

static void free_lines(struct untracked *untracked)
{
	for (size_t i = 0; i < untracked->n; i++)
		free(untracked->lines[i].text);
	free(untracked->lines);
	untracked->lines = NULL;
	untracked->n = 0;
}

static void untracked_free(struct untracked *untracked)
{
	if (untracked == NULL)
		return;
	free_lines(untracked);
	free(untracked->message_id);
	free(untracked->id);
	free(untracked);
}

static void forget_oldest(struct tracker *tracker)
{
	const char *id = tracker->oldest->id;

	untracked_free(untracked_take(tracker, (struct span){id, strlen(id)}));
}

static struct untracked *untracked_get(struct work *work)
{
	struct tracker *tracker = work->tracker;
	struct span id = work->line->id;
	struct untracked **slot, *untracked;

	while (tracker->oldest && (tracker->oldest->first_us < work->place.time_us - UNTRACKED_US ||
					  tracker->bytes > UNTRACKED_BYTES_MAX))
		forget_oldest(tracker);
	slot = find_slot(tracker, id);
	if (*slot)
		return *slot;
	untracked = mem_new(struct untracked);
	untracked->id = mem_dup(id.data, id.len);
	untracked->first_us = work->place.time_us;
	untracked->number = work->place.number;
	untracked->bytes = UNTRACKED_COST;
	untracked->older = tracker->newest;
	*(tracker->newest ? &tracker->newest->newer : &tracker->oldest) = untracked;
	tracker->newest = untracked;
	tracker->bytes += untracked->bytes;
	*slot = untracked;
	return untracked;
}

static void rebase(struct span *span, const char *from, char *to)
{
	if (span->data)
		span->data = to + (span->data - from);
}

/* All of it stands between the queue id and the end of the text. */
static void keep_line(struct work *work, struct untracked *untracked)
{
	const struct log_line *line = work->line;
	const char *from = line->id.data;
	const char *end = line->text.data ? line->text.data + line->text.len
					  : line->id.data + line->id.len;
	struct kept_line *kept;
	size_t bytes = (size_t)(end - from) + sizeof(*kept);

	untracked->lines = mem_grow(untracked->lines, untracked->n + 1, sizeof(*untracked->lines));
	kept = &untracked->lines[untracked->n++];
	*kept = (struct kept_line){
		.line = *line, .place = work->place, .text = mem_dup(from, (size_t)(end - from))};
	rebase(&kept->line.id, from, kept->text);
	rebase(&kept->line.text, from, kept->text);
	rebase(&kept->line.to, from, kept->text);
	rebase(&kept->line.orig_to, from, kept->text);
	rebase(&kept->line.relay, from, kept->text);
	rebase(&kept->line.delays, from, kept->text);
	rebase(&kept->line.dsn, from, kept->text);
	rebase(&kept->line.other, from, kept->text);
	if (work->place.time_us < untracked->first_us)
		untracked->first_us = work->place.time_us;
	untracked->bytes += bytes;
	work->tracker->bytes += bytes;
}

/*
 * A transaction.
 */

static void forget_lookups(struct tracker *tracker)
{
	while (tracker->last_lookup) {
		struct lookup *lookup = tracker->last_lookup;

		tracker->last_lookup = lookup->before;
		if (lookup->found)
			hop_clear(&lookup->hop);
		free(lookup->id);
		free(lookup);
	}
	memset(tracker->lookups, 0, sizeof(tracker->lookups));
}

void tracker_reset(struct tracker *tracker)
{
	while (tracker->oldest)
		forget_oldest(tracker);
	forget_lookups(tracker);
	fact_writer_reset(tracker->writer);
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
	fact_writer_free(tracker->writer);
	free(tracker);
}

uint64_t tracker_oldest(const struct tracker *tracker)
{
	return tracker->oldest ? tracker->oldest->number : UINT64_MAX;
}

const struct tracker_counts *tracker_counts(const struct tracker *tracker)
{
	return &tracker->kept;
}

int tracker_settle(struct tracker *tracker, struct err *err)
{
	const struct fact_counts *stored = fact_writer_counts(tracker->writer);

	forget_lookups(tracker);
	if (fact_writer_flush(tracker->writer, err) < 0)
		return -1;
	for (size_t i = 0; i < FACTS; i++) {
		uint64_t fresh = stored->facts[i] - tracker->seen.facts[i];

		tracker->counts.events += fresh;
		tracker->counts.facts[i] += fresh;
	}
	tracker->counts.open += stored->untold - tracker->seen.untold;
	tracker->seen = *stored;
	return 0;
}

size_t tracker_held(const struct tracker *tracker)
{
	return fact_writer_held(tracker->writer);
}

/* The span as a text that can be stored; NULL for none. */
static char *text_of(struct span span)
{
	char *text;

	if (span.data == NULL)
		return NULL;
	text = mem_dup(span.data, span.len);
	for (size_t i = 0; i < span.len; i++)
		if (text[i] == '\0')
			text[i] = '?';
	str_utf8_mend(text);
	return text;
}

/*
 * Which queue message a line is about.
 */

static struct lookup *find_lookup(struct tracker *tracker, struct span id)
{
	struct lookup *lookup =
		tracker->lookups[mem_hash(MEM_HASH, id.data, id.len) & (LOOKUP_BUCKETS - 1)];

	while (lookup && !span_is(id, lookup->id))
		lookup = lookup->in_bucket;
	return lookup;
}

/* Whether the look-up holds for a line of that time. */
static bool is_fresh(const struct lookup *lookup, int64_t time_us)
{
	if (lookup->time_us == INT64_MIN || time_us < lookup->time_us - SAME_US ||
		time_us > lookup->time_us + SAME_US)
		return false;
	return !lookup->found || lookup->hop.closed_us == 0 || time_us <= lookup->hop.closed_us;
}

/* What the store says of the id at the time of the line; -1 or 0. Others of the
 * same id stay: somebody may work on them. */
static int look_up(struct work *work, struct span id, struct lookup **lookup_r)
{
	struct tracker *tracker = work->tracker;
	struct lookup *lookup = mem_new(struct lookup);
	struct lookup **slot =
		&tracker->lookups[mem_hash(MEM_HASH, id.data, id.len) & (LOOKUP_BUCKETS - 1)];
	int found;

	lookup->id = mem_dup(id.data, id.len);
	lookup->time_us = INT64_MIN;
	lookup->in_bucket = *slot;
	lookup->before = tracker->last_lookup;
	*slot = tracker->last_lookup = lookup;
	found = store_hop_find(tracker->db, lookup->id, work->place.time_us, work->place.ahead_us,
		&lookup->hop, work->err);
	if (found < 0)
		return -1;
	lookup->found = found == 1;
	lookup->time_us = work->place.time_us;
	*lookup_r = lookup;
	return 0;
}

/* Postfix has the email: its milter recorded the message. */
static int report_accepted(struct work *work, const struct hop *hop)
{
	const struct recipients *all;
	char since[24], n[24];

	if (fact_writer_recipients(work->tracker->writer, hop->email, &all, work->err) < 0)
		return -1;
	snprintf(since, sizeof(since), "%lld", (long long)hop->since_us);
	for (size_t i = 0; i < all->n; i++) {
		struct fact_report report = {.email = hop->email,
			.n = all->items[i].n,
			.fact = FACT_ACCEPTED,
			.occurred_us = work->place.time_us,
			.now_us = work->now_us,
			.source = "log"};

		snprintf(n, sizeof(n), "%lld", (long long)report.n);
		fact_key(report.key,
			(const char *[]){fact_name(FACT_ACCEPTED), hop->queue_id, since, n}, 4);
		if (fact_writer_add(work->tracker->writer, &report, work->err) < 0)
			return -1;
	}
	return 0;
}

/* The tracked message of the id at the time of the line: 1, 0, -1; the
 * tracker's. */
static int find_tracked(struct work *work, struct span id, struct lookup **lookup_r)
{
	struct lookup *lookup = find_lookup(work->tracker, id);

	if ((lookup == NULL || !is_fresh(lookup, work->place.time_us)) &&
		look_up(work, id, &lookup) < 0)
		return -1;
	*lookup_r = lookup;
	if (!lookup->found || !lookup->hop.is_new)
		return lookup->found;
	lookup->hop.is_new = false;
	return report_accepted(work, &lookup->hop) < 0 ? -1 : 1;
}

static int read_line(struct work *work);

/* The message with the id is tracked from now on, as one that carries the email
 * of the parent; what was kept of it is read. 1; 0 when it carries another one,
 * -1. */
static int track(
	struct work *work, struct span id, const struct hop *parent, enum hop_how how, int64_t n)
{
	struct tracker *tracker = work->tracker;
	struct untracked *untracked;
	struct lookup *lookup;
	struct hop child;
	int found, result;

	if (span_is(id, parent->queue_id))
		return 0;
	found = find_tracked(work, id, &lookup);
	if (found < 0)
		return -1;
	if (found == 1 && (lookup->hop.email != parent->email || lookup->hop.how == HOP_MILTER))
		return 0;
	untracked = untracked_take(tracker, id);
	child = (struct hop){
		.queue_id = lookup->id,
		.email = parent->email,
		.since_us = found       ? lookup->hop.since_us
			    : untracked ? untracked->first_us
					: work->place.time_us,
		.parent = parent->queue_id,
		.how = how,
		.n = n,
	};
	lookup->time_us = INT64_MIN;
	result = fact_writer_add_message(tracker->writer, &child, work->err);
	for (size_t i = 0; untracked && result == 0 && i < untracked->n; i++) {
		struct work again = *work;

		again.line = &untracked->lines[i].line;
		again.place = untracked->lines[i].place;
		result = read_line(&again);
	}
	untracked_free(untracked);
	return result < 0 ? -1 : 1;
}

/*
 * What is said of a tracked message.
 */

/* When the attempt began that the line tells of: it says how long connecting
 * and sending took. */
static int64_t attempt_begin(const struct work *work)
{
	enum { LONGEST_S = 1000000 };
	_cleanup_free_ char *delays = text_of(work->line->delays);
	double connecting, sending;

	if (delays == NULL || sscanf(delays, "%*[^/]/%*[^/]/%lf/%lf", &connecting, &sending) != 2 ||
		!(connecting + sending >= 0 && connecting + sending < LONGEST_S))
		return work->place.time_us;
	return work->place.time_us - (int64_t)((connecting + sending) * 1e6);
}

/* The untracked messages that the delivery led to, as far as their lines were
 * read; others follow by follow_message_id(). How many, -1. */
static int find_children(struct work *work, int64_t email, const struct delivery *leaf,
	const char *children_r[static CHILDREN_MAX])
{
	struct tracker *tracker = work->tracker;
	int64_t emails[HOP_EMAILS_MAX];
	const char *message_id;
	int n = 0, sharers = 0;

	if (tracker->oldest == NULL || (leaf->child == NULL && tracker->ours == 0))
		return 0;
	if (fact_writer_message_id(tracker->writer, email, &message_id, work->err) < 0)
		return -1;
	if (leaf->child) {
		const struct untracked *named = *find_slot(
			tracker, (struct span){leaf->child, strlen(leaf->child)});

		if (named && named->message_id && str_eq(named->message_id, message_id))
			children_r[n++] = named->id;
	}
	for (const struct untracked *one = tracker->newest;
		one && tracker->ours && n < CHILDREN_MAX; one = one->older) {
		if (!one->is_ours || !str_eq(one->message_id, message_id) ||
			(leaf->child && str_eq(one->id, leaf->child)) ||
			!delivery_may_lead_to(leaf, one->id, one->first_us))
			continue;
		if (sharers == 0)
			sharers = store_hop_emails(tracker->db, message_id, work->place.time_us,
				work->place.ahead_us, emails, work->err);
		if (sharers < 0)
			return -1;
		/* It may be another one's: see follow_message_id(). */
		if (sharers > 1)
			break;
		children_r[n++] = one->id;
	}
	return n;
}

/* A recipient is known by the address that aliases made something else of. */
static int find_recipient(
	struct work *work, const struct hop *hop, const char *to, const char *orig_to, int64_t *n_r)
{
	struct fact_writer *writer = work->tracker->writer;
	int found = 0;

	*n_r = hop->n;
	if (hop->n >= 0)
		return 0;
	if (orig_to)
		found = fact_writer_find(writer, hop->email, orig_to, n_r, work->err);
	if (found == 0)
		found = fact_writer_find(writer, hop->email, to, n_r, work->err);
	return found < 0 ? -1 : 0;
}

/* The message was taken, or handed on within this host: then it is followed. */
static int on_sent(struct work *work, const struct hop *hop, struct fact_delivery *delivery,
	struct fact_report *report)
{
	bool forwarded;
	struct span id = log_queued_as(work->line->text, &forwarded);
	_cleanup_free_ char *child = text_of(id);
	const char *children[CHILDREN_MAX];
	_cleanup_strv_ struct strv ids = STRV_INIT;
	struct delivery leaf = {.state = FATE_DELIVERED};
	enum hop_how how = HOP_MESSAGE_ID;
	int64_t of_recipient = hop->n;
	int n = 0;

	if (work->line->agent == LOG_AGENT_MAILBOX && id.data && forwarded) {
		delivery->via = VIA_ALIAS;
		how = HOP_FORWARDED;
		if (find_recipient(work, hop, report->address, delivery->orig_to, &of_recipient) <
			0)
			return -1;
		strv_add(&ids, child);
	} else {
		delivery->via = hops_via(work->tracker->hops, work->line->agent, report->relay);
	}
	if (delivery->via != VIA_FINAL && (how == HOP_FORWARDED || !forwarded))
		delivery->child = child;
	report->fact = delivery->via == VIA_FINAL || delivery->via == VIA_LOCAL ? FACT_DELIVERED
										: FACT_HANDED_ON;
	/* What a filter has given back is the filter's to follow. */
	if (delivery->via == VIA_FILTER ||
		(delivery->via == VIA_LOCAL &&
			(child || (hop->how != HOP_QUEUED_AS && hop->how != HOP_MESSAGE_ID)))) {
		leaf.via = delivery->via;
		leaf.child = (char *)delivery->child;
		leaf.since_us = hop->since_us;
		leaf.began_us = delivery->began_us;
		leaf.changed_us = report->occurred_us;
		n = find_children(work, hop->email, &leaf, children);
		if (n < 0)
			return -1;
		for (int i = 0; i < n; i++)
			strv_add(&ids, children[i]);
		delivery->has_child = n > 0;
	}
	if (fact_writer_deliver(work->tracker->writer, delivery, report, work->err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		struct span name = {ids.items[i], strlen(ids.items[i])};

		if (track(work, name, hop,
			    how == HOP_MESSAGE_ID && child && str_eq(ids.items[i], child)
				    ? HOP_QUEUED_AS
				    : how,
			    of_recipient) < 0)
			return -1;
	}
	return 0;
}

static int on_delivery(struct work *work, const struct hop *hop)
{
	const struct log_line *line = work->line;
	_cleanup_free_ char *to = text_of(line->to);
	_cleanup_free_ char *orig_to = text_of(line->orig_to);
	_cleanup_free_ char *relay = text_of(line->relay);
	_cleanup_free_ char *delays = text_of(line->delays);
	_cleanup_free_ char *dsn = text_of(line->dsn);
	_cleanup_free_ char *text = text_of(line->text);
	struct fact_delivery delivery = {
		.message = hop, .orig_to = orig_to, .began_us = attempt_begin(work)};
	struct fact_report report = {
		.email = hop->email,
		.occurred_us = work->place.time_us,
		.now_us = work->now_us,
		.address = to,
		.relay = relay && str_eq(relay, "none") ? NULL : relay,
		.dsn = dsn,
		.text = text,
		.source = "log",
	};
	char since[24], status[24];

	if (line->status == LOG_PROBED)
		return 0;
	snprintf(since, sizeof(since), "%lld", (long long)hop->since_us);
	snprintf(status, sizeof(status), "%d", (int)line->status);
	fact_key(report.key,
		(const char *[]){
			"delivery", hop->queue_id, since, to, orig_to, status, dsn, delays, text},
		9);
	if (line->status == LOG_SENT && line->agent != LOG_AGENT_DISCARD)
		return on_sent(work, hop, &delivery, &report);
	report.fact = line->status == LOG_DEFERRED  ? FACT_DEFERRED
		      : line->status == LOG_BOUNCED ? FACT_BOUNCED
						    : FACT_DISCARDED;
	return fact_writer_deliver(work->tracker->writer, &delivery, &report, work->err);
}

/* All that the message still had to deliver came to the same end. */
static int on_end(struct work *work, struct hop *hop, enum fact fact)
{
	const struct fact_report report = {.email = hop->email,
		.fact = fact,
		.occurred_us = work->place.time_us,
		.now_us = work->now_us,
		.source = "log"};

	hop->has_end = true;
	return fact_writer_end(work->tracker->writer, hop, &report, work->err);
}

static int on_removed(struct work *work, struct hop *hop)
{
	if (hop->closed_us)
		return 0;
	if (work->line->by_admin && on_end(work, hop, FACT_REMOVED) < 0)
		return -1;
	hop->closed_us = work->place.time_us;
	return fact_writer_close(
		work->tracker->writer, hop, work->place.time_us, hop->has_end, work->err);
}

static int on_tracked(struct work *work, struct lookup *lookup)
{
	struct untracked *untracked;

	switch (work->line->kind) {
	case LOG_DELIVERY:
		return on_delivery(work, &lookup->hop);
	case LOG_EXPIRED:
		return on_end(work, &lookup->hop, FACT_EXPIRED);
	case LOG_DISCARDED:
		return on_end(work, &lookup->hop, FACT_DISCARDED);
	case LOG_REMOVED:
		return on_removed(work, &lookup->hop);
	default:
		/* Its Message-ID is not wanted any more. */
		untracked = *find_slot(work->tracker, work->line->id);
		if (untracked && untracked->n == 0)
			untracked_free(untracked_take(work->tracker, work->line->id));
		return 0;
	}
}

/* The content of a message of before goes on under another id. */
static int on_new_id(struct work *work)
{
	struct lookup *before;
	int result = find_tracked(work, work->line->other, &before);

	if (result != 1)
		return result;
	result = track(work, work->line->id, &before->hop, HOP_ORIG_ID, before->hop.n);
	if (result < 0 || before->hop.closed_us)
		return result < 0 ? -1 : 0;
	before->hop.closed_us = work->place.time_us;
	return fact_writer_close(
		work->tracker->writer, &before->hop, work->place.time_us, true, work->err);
}

/*
 * A message that stands under its ticket, because the milter was not asked.
 */

/* Whether the message is that of the email: 1, 0, -1. Whoever has seen the
 * ticket in the queue may send another one to it, but does not know the
 * Message-ID. A rule that discards a message may do so before cleanup has told
 * that: then it counts, and where it was another's, what is told of the
 * recipients stays wrong. */
static int is_its_message(const struct work *work, const struct email_ticket *email)
{
	const struct untracked *untracked = *find_slot(work->tracker, work->line->id);
	_cleanup_free_ char *ticket = NULL, *id = NULL;

	if (untracked && untracked->message_id)
		return str_eq(untracked->message_id, email->message_id);
	if (work->line->kind == LOG_DISCARDED)
		return 1;
	id = text_of(work->line->id);
	return store_ticket_message_find(
		work->tracker->db, id, work->place.time_us, &ticket, work->err);
}

/* An email came to an end before the milter was asked about it: its recipients
 * are told so. It stays staged, since nothing was decided: should its message
 * come all the same, or again, it is sent. */
static int report_stopped(struct work *work, const struct email_ticket *email, enum fact fact)
{
	const struct log_line *line = work->line;
	const struct recipients *all;
	_cleanup_free_ char *id = text_of(line->id);
	_cleanup_free_ char *relay = text_of(line->relay);
	_cleanup_free_ char *dsn = text_of(line->dsn);
	_cleanup_free_ char *text =
		line->kind == LOG_EXPIRED
			? mem_strdup(
				  "expired, returned to sender: Postfix did not ask "
				  "postern-milter about the message")
			: text_of(line->text);
	/* Behind this the line names the ticket. */
	char *end = line->kind == LOG_DISCARDED && text ? strstr(text, "; from=<") : NULL;
	int result = fact_writer_recipients(work->tracker->writer, email->seq, &all, work->err);

	if (end)
		*end = '\0';
	if (line->kind == LOG_DISCARDED && line->other.data) {
		_cleanup_free_ char *to = text_of(line->other);
		char *told = mem_printf(FATE_REDIRECTED "%s by %s: %s", to,
			str_starts(text, "body ") ? "body_checks" : "header_checks", text);

		free(text);
		text = told;
	}
	for (size_t i = 0; result == 0 && i < all->n; i++) {
		struct fact_report report = {
			.email = email->seq,
			.n = all->items[i].n,
			.fact = fact,
			.occurred_us = work->place.time_us,
			.now_us = work->now_us,
			.relay = relay && str_eq(relay, "none") ? NULL : relay,
			.dsn = dsn,
			.text = text,
			.source = "log",
		};
		char n[24];

		snprintf(n, sizeof(n), "%lld", (long long)report.n);
		fact_key(report.key, (const char *[]){"stopped", fact_name(fact), id, n, dsn, text},
			6);
		if (fact_writer_add(work->tracker->writer, &report, work->err) < 0)
			result = -1;
	}
	return result;
}

/* What a line says of an email whose message stands under its ticket:
 *
 *	deferred    it waits, for `postern held release --waiting`
 *	bounced     a rule of Postfix refused it
 *	discarded   a rule of Postfix dropped it
 *	sent        it left as it was: nobody asked the milter
 *	expired     nobody asked it for as long as a message may wait
 *
 * That cleanup has the message, and so the ticket was used, is known here. */
static int on_ticket(struct work *work, const char *ticket)
{
	const struct log_line *line = work->line;
	_cleanup_free_ char *id = text_of(line->id);
	struct email_ticket email;
	int found, result;
	enum fact fact = FACT_BOUNCED;
	bool left = line->kind == LOG_DELIVERY && line->status == LOG_SENT &&
		    line->agent != LOG_AGENT_DISCARD;

	if (line->kind == LOG_DELIVERY && line->status == LOG_PROBED)
		return 0;
	found = store_email_ticket(work->tracker->db, ticket, &email, work->err);
	if (found != 1)
		return found;
	result = !email.superseded && email.state == EMAIL_STAGED ? is_its_message(work, &email)
								  : 0;
	if (result == 1 && line->kind != LOG_DISCARDED &&
		store_ticket_message_add(
			work->tracker->db, id, work->place.time_us, email.seq, work->err) < 0)
		result = -1;
	if (line->kind == LOG_EXPIRED)
		fact = FACT_EXPIRED;
	else if (line->kind == LOG_DISCARDED || line->status == LOG_SENT)
		fact = FACT_DISCARDED;
	if (result == 1 && line->kind == LOG_DELIVERY && line->status == LOG_DEFERRED)
		result = 0;
	if (result == 1 && report_stopped(work, &email, fact) < 0)
		result = -1;
	if (result == 1 && (left || line->kind == LOG_EXPIRED))
		result = store_ticket_message_end(
				 work->tracker->db, id, work->place.time_us, left, work->err) < 0
				 ? -1
				 : 1;
	work->tracker->counts.left += result == 1 && left;
	store_email_ticket_clear(&email);
	return result;
}

/* The ticket that the line names as its recipient, or that stands for the
 * message, where all of it expired: 1, 0, -1. */
static int find_ticket(struct work *work, char ticket_r[static SECRET_TICKET_SIZE])
{
	const struct log_line *line = work->line;
	_cleanup_free_ char *text = NULL;
	int found;

	if (line->kind == LOG_EXPIRED) {
		_cleanup_free_ char *id = text_of(line->id);

		found = store_ticket_message_find(
			work->tracker->db, id, work->place.time_us, &text, work->err);
		if (found == 1)
			snprintf(ticket_r, SECRET_TICKET_SIZE, "%s", text);
		return found;
	}
	/* Its @ takes the place of the NUL that SECRET_TICKET_SIZE has. */
	if (line->to.len != SECRET_TICKET_SIZE + strlen(TICKET_DOMAIN))
		return 0;
	text = text_of(line->to);
	return ticket_read(text, ticket_r) == TICKET_READ;
}

/*
 * What is said of others.
 */

/* The Message-ID of an untracked message is known, and that the milter has not
 * recorded it: whether it is of an email, and came from it.
 *
 * Who sends chooses the Message-ID, and may choose that of another company's
 * email: of several emails only one that was given the queue id counts. By the
 * time alone one would be told what became of another. */
static int follow_message_id(struct work *work, struct untracked *untracked)
{
	struct tracker *tracker = work->tracker;
	int64_t emails[HOP_EMAILS_MAX];
	int n = store_hop_emails(tracker->db, untracked->message_id, work->place.time_us,
		work->place.ahead_us, emails, work->err);

	if (n < 0)
		return -1;
	if (n == 0) {
		untracked->is_foreign = true;
		free_lines(untracked);
		return 0;
	}
	tracker->ours += !untracked->is_ours;
	untracked->is_ours = true;
	for (int i = 0; i < n; i++) {
		struct hop parent = {.email = emails[i], .queue_id = (char *)""};
		int leads = fact_writer_leads_to(
			tracker->writer, emails[i], untracked->id, untracked->first_us, work->err);

		if (leads == 2 || (leads == 1 && n == 1))
			leads = track(
				work, work->line->id, &parent, HOP_MESSAGE_ID, EVENT_ANY_RECIPIENT);
		else if (leads > 0)
			leads = 0;
		if (leads != 0)
			return leads < 0 ? -1 : 0;
	}
	return 0;
}

static int on_message_id(struct work *work)
{
	struct untracked *untracked = untracked_get(work);

	free(untracked->message_id);
	untracked->message_id = text_of(work->line->text);
	untracked->bytes += work->line->text.len;
	work->tracker->bytes += work->line->text.len;
	return untracked->is_recorded ? follow_message_id(work, untracked) : 0;
}

/* The milter has recorded a message before the queue manager begins with it, so
 * one that is not found from then on is none of those. But cleanup discards
 * before the milter has its say. */
static int on_untracked(struct work *work)
{
	struct untracked *untracked = untracked_get(work);
	bool is_news = !untracked->is_recorded;

	if (untracked->is_foreign)
		return 0;
	if (work->line->kind != LOG_ACTIVE)
		keep_line(work, untracked);
	if (work->line->kind == LOG_DISCARDED)
		return 0;
	untracked->is_recorded = true;
	return is_news && untracked->message_id ? follow_message_id(work, untracked) : 0;
}

static int on_message(struct work *work)
{
	const struct untracked *untracked = *find_slot(work->tracker, work->line->id);
	char ticket[SECRET_TICKET_SIZE];
	struct lookup *lookup;
	int found = find_ticket(work, ticket);

	if (found == 1)
		found = on_ticket(work, ticket);
	if (found != 0)
		return found < 0 ? -1 : 0;
	/* An id may come again. */
	if (untracked && untracked->is_recorded && work->line->kind != LOG_ACTIVE)
		return on_untracked(work);
	found = find_tracked(work, work->line->id, &lookup);
	if (found < 0)
		return -1;
	return found ? on_tracked(work, lookup) : on_untracked(work);
}

static int read_line(struct work *work)
{
	switch (work->line->kind) {
	case LOG_MESSAGE_ID:
		return on_message_id(work);
	case LOG_PICKUP:
		return on_new_id(work);
	case LOG_ACTIVE:
	case LOG_DELIVERY:
	case LOG_EXPIRED:
	case LOG_REMOVED:
	case LOG_DISCARDED:
		return on_message(work);
	default:
		return 0;
	}
}

int tracker_line(struct tracker *tracker, const struct log_line *line,
	const struct line_place *place, int64_t now_us, struct err *err)
{
	struct work work = {tracker, line, *place, now_us, err};

	tracker->counts.lines++;
	if (line->kind == LOG_BAD)
		tracker->counts.bad++;
	return read_line(&work);
}
