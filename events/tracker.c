/*
 * tracker: follows the messages that carry our emails through Postfix's queue.
 *
 * Owns the lines of messages that are (yet) nobody's: by queue id, and in the
 * order in which the ids came up, for ten minutes of the log's time and up to a
 * bound in bytes, beyond which the oldest give way. And, until the transaction
 * ends, the messages that were looked up in it.
 *
 * The milter has recorded a message before the queue manager begins with it. So
 * one that is not found from then on is foreign: the store is not asked about
 * it again, until the queue manager names its id anew.
 */
#include "events/tracker.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/policy/ticket.h"
#include "core/store/store_email.h"
#include "core/store/store_fact.h"

enum {
	BUCKETS = 4096, /* a power of two */
	KEPT_BYTES_MAX = 4 * 1024 * 1024,
	ENTRY_COST = 200,    /* of an id without a line */
	KNOWN_BUCKETS = 512, /* a power of two */
};
#define KEPT_US (INT64_C(600) * 1000000)
/* Within it a queue id means the same message: stamps are in whole seconds. */
#define SAME_US INT64_C(1000000)

/* A line, with its own copy of what it points to. */
struct kept_line {
	struct log_line line;
	struct line_place place;
	char *text;
};

/* A message of which it is not known that it is ours. */
struct stranger {
	char *id;
	char *message_id; /* NULL until cleanup tells */
	bool foreign;     /* the milter has not recorded it */
	int64_t first_us;
	uint64_t number; /* of its first line */
	struct kept_line *lines;
	size_t n;
	size_t bytes;
	struct stranger *in_bucket;
	struct stranger *older, *newer;
};

/* What the store says of a queue id. */
struct known {
	char *id;
	int64_t time_us; /* at this time; INT64_MIN: not any more */
	bool found;
	struct hop hop;
	int alone;             /* of its email's messages; -1: to be asked */
	uint64_t alone_number; /* when connected had this value */
	struct known *in_bucket;
	struct known *before; /* this one was looked up */
};

struct tracker {
	struct db *db;
	struct fact_writer *writer;
	struct stranger *buckets[BUCKETS];
	struct stranger *oldest, *newest;
	size_t bytes;
	struct known *known[KNOWN_BUCKETS];
	struct known *last_known;
	uint64_t connected; /* how many messages got company */
	struct tracker_counts counts;
	struct tracker_counts kept; /* as they were at the last commit */
};

/* What is being worked on. */
struct step {
	struct tracker *tracker;
	const struct log_line *line;
	struct line_place place;
	int64_t now_us;
	struct err *err;
};

struct tracker *tracker_new(struct db *db)
{
	struct tracker *tracker = mem_new(struct tracker);

	tracker->db = db;
	tracker->writer = fact_writer_new(db);
	return tracker;
}

static struct stranger **find_slot(struct tracker *tracker, struct span id)
{
	struct stranger **slot =
		&tracker->buckets[mem_hash(MEM_HASH, id.data, id.len) & (BUCKETS - 1)];

	while (*slot && !span_is(id, (*slot)->id))
		slot = &(*slot)->in_bucket;
	return slot;
}

/* Takes it out; the caller frees it. */
static struct stranger *take(struct tracker *tracker, struct span id)
{
	struct stranger **slot = find_slot(tracker, id);
	struct stranger *stranger = *slot;

	if (stranger == NULL)
		return NULL;
	*slot = stranger->in_bucket;
	*(stranger->older ? &stranger->older->newer
			  : &tracker->oldest) = stranger->newer;
	*(stranger->newer ? &stranger->newer->older
			  : &tracker->newest) = stranger->older;
	tracker->bytes -= stranger->bytes;
	return stranger;
}

static void free_stranger(struct stranger *stranger)
{
	if (stranger == NULL)
		return;
	for (size_t i = 0; i < stranger->n; i++)
		free(stranger->lines[i].text);
	free(stranger->lines);
	free(stranger->message_id);
	free(stranger->id);
	free(stranger);
}

static void forget_oldest(struct tracker *tracker)
{
	const char *id = tracker->oldest->id;

	free_stranger(take(tracker, (struct span){id, strlen(id)}));
}

static void forget_old(struct tracker *tracker, int64_t time_us)
{
	while (tracker->oldest && tracker->oldest->first_us < time_us - KEPT_US)
		forget_oldest(tracker);
	while (tracker->bytes > KEPT_BYTES_MAX)
		forget_oldest(tracker);
}

static struct stranger *keep(struct step *step)
{
	struct tracker *tracker = step->tracker;
	struct span id = step->line->id;
	struct stranger **slot, *stranger;

	forget_old(tracker, step->place.time_us);
	slot = find_slot(tracker, id);
	if (*slot)
		return *slot;
	stranger = mem_new(struct stranger);
	stranger->id = mem_dup(id.data, id.len);
	stranger->first_us = step->place.time_us;
	stranger->number = step->place.number;
	stranger->bytes = ENTRY_COST;
	stranger->older = tracker->newest;
	*(tracker->newest ? &tracker->newest->newer : &tracker->oldest) = stranger;
	tracker->newest = stranger;
	tracker->bytes += stranger->bytes;
	*slot = stranger;
	return stranger;
}

static void rebase(struct span *span, const char *from, char *to)
{
	if (span->data)
		span->data = to + (span->data - from);
}

/* All of it stands between the queue id and the end of the text. */
static struct stranger *keep_line(struct step *step)
{
	struct stranger *stranger = keep(step);
	const struct log_line *line = step->line;
	const char *from = line->id.data;
	const char *end = line->text.data ? line->text.data + line->text.len
					  : line->id.data + line->id.len;
	struct kept_line *kept;
	size_t bytes = (size_t)(end - from) + sizeof(*kept);

	stranger->lines = mem_grow(
		stranger->lines, stranger->n + 1, sizeof(*stranger->lines));
	kept = &stranger->lines[stranger->n++];
	*kept = (struct kept_line){.line = *line,
		.place = step->place,
		.text = mem_dup(from, (size_t)(end - from))};
	rebase(&kept->line.id, from, kept->text);
	rebase(&kept->line.text, from, kept->text);
	rebase(&kept->line.to, from, kept->text);
	rebase(&kept->line.orig_to, from, kept->text);
	rebase(&kept->line.relay, from, kept->text);
	rebase(&kept->line.delays, from, kept->text);
	rebase(&kept->line.dsn, from, kept->text);
	rebase(&kept->line.other, from, kept->text);
	stranger->bytes += bytes;
	step->tracker->bytes += bytes;
	return stranger;
}

static void forget_known(struct tracker *tracker)
{
	while (tracker->last_known) {
		struct known *known = tracker->last_known;

		tracker->last_known = known->before;
		if (known->found)
			hop_clear(&known->hop);
		free(known->id);
		free(known);
	}
	memset(tracker->known, 0, sizeof(tracker->known));
}

void tracker_reset(struct tracker *tracker)
{
	while (tracker->oldest)
		forget_oldest(tracker);
	forget_known(tracker);
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

int tracker_settle(struct tracker *tracker, struct err *err)
{
	forget_known(tracker);
	return fact_writer_flush(tracker->writer, err);
}

size_t tracker_held(const struct tracker *tracker)
{
	return fact_writer_held(tracker->writer);
}

static int report(struct step *step, struct fact_report *report)
{
	int added;

	report->occurred_us = step->place.time_us;
	report->now_us = step->now_us;
	report->source = "log";
	added = fact_writer_add(step->tracker->writer, report, step->err);
	if (added == 1) {
		step->tracker->counts.events++;
		step->tracker->counts.facts[report->fact]++;
	}
	return added < 0 ? -1 : 0;
}

/* A fact that no line tells of for this recipient by name. The words are those
 * that were said to it last. */
static int report_fact(struct step *step, const struct hop *hop,
	const struct recipient *recipient, enum fact fact)
{
	char since[24], n[24];
	struct fact_report fresh = {
		.email = hop->email,
		.n = recipient->n,
		.fact = fact,
		.relay = recipient->relay,
		.dsn = recipient->dsn,
		.text = recipient->text,
	};

	snprintf(since, sizeof(since), "%lld", (long long)hop->since_us);
	snprintf(n, sizeof(n), "%lld", (long long)recipient->n);
	fact_key(fresh.key,
		(const char *[]){fact_name(fact), hop->queue_id, since, n}, 4);
	return report(step, &fresh);
}

/* Which recipients of the hop's email a fact is about. */
typedef bool concerns(const struct hop *hop, const struct recipient *one);

static bool concerns_all(const struct hop *hop, const struct recipient *one)
{
	(void)hop, (void)one;
	return true;
}

/* Those that wait for this message. What was handed on waits for another one:
 * for this one, if this is what it was handed on to. */
static bool concerns_open(const struct hop *hop, const struct recipient *one)
{
	if (hop->n >= 0)
		return one->n == hop->n;
	if (one->fate == FATE_HANDED_ON)
		return hop->how == HOP_QUEUED_AS || hop->how == HOP_MESSAGE_ID;
	return fate_is_open(one->fate);
}

static bool concerns_handed_on(const struct hop *hop, const struct recipient *one)
{
	(void)hop;
	return one->fate == FATE_HANDED_ON;
}

static int report_each(struct step *step, const struct hop *hop,
	concerns *concerned, enum fact fact)
{
	const struct recipients *all;
	int result = fact_writer_recipients(
		step->tracker->writer, hop->email, &all, step->err);

	for (size_t i = 0; result == 0 && i < all->n; i++)
		if (concerned(hop, &all->items[i]))
			result = report_fact(step, hop, &all->items[i], fact);
	return result;
}

/* Whether a fact would concern one: 1, 0, -1. */
static int has_any(struct step *step, const struct hop *hop, concerns *concerned)
{
	const struct recipients *all;

	if (fact_writer_recipients(
		    step->tracker->writer, hop->email, &all, step->err) < 0)
		return -1;
	for (size_t i = 0; i < all->n; i++)
		if (concerned(hop, &all->items[i]))
			return 1;
	return 0;
}

static struct known *find_known(struct tracker *tracker, struct span id)
{
	struct known *known = tracker->known[mem_hash(MEM_HASH, id.data, id.len) &
					     (KNOWN_BUCKETS - 1)];

	while (known && !span_is(id, known->id))
		known = known->in_bucket;
	return known;
}

/* Whether the look-up holds for a line of that time. */
static bool is_fresh(const struct known *known, int64_t time_us)
{
	if (known->time_us == INT64_MIN || time_us < known->time_us - SAME_US ||
		time_us > known->time_us + SAME_US)
		return false;
	return !known->found || known->hop.closed_us == 0 ||
	       time_us <= known->hop.closed_us;
}

/* Whether no other message carries the email: 1, 0, -1. */
static int is_alone(struct step *step, struct known *known)
{
	if (known->alone < 0 || known->alone_number != step->tracker->connected)
		known->alone = store_hop_is_alone(
			step->tracker->db, &known->hop, step->err);
	known->alone_number = step->tracker->connected;
	return known->alone;
}

/* What the store says of the id at the time of the line; -1 or 0. Others of the
 * same id stay: somebody may work on them. */
static int look_up(struct step *step, struct span id, struct known **known_r)
{
	struct tracker *tracker = step->tracker;
	struct known *known = mem_new(struct known);
	struct known **slot = &tracker->known[mem_hash(MEM_HASH, id.data, id.len) &
					      (KNOWN_BUCKETS - 1)];
	int found;

	known->id = mem_dup(id.data, id.len);
	known->time_us = INT64_MIN;
	known->alone = -1;
	known->in_bucket = *slot;
	known->before = tracker->last_known;
	*slot = tracker->last_known = known;
	found = store_hop_find(tracker->db, known->id, step->place.time_us,
		step->place.live, &known->hop, step->err);
	if (found < 0)
		return -1;
	known->found = found == 1;
	known->time_us = step->place.time_us;
	*known_r = known;
	return 0;
}

/* The message of the id at the time of the line: 1, 0, -1; the tracker's. One
 * that is new tells that Postfix has the email. */
static int find_hop(struct step *step, struct span id, struct known **known_r)
{
	struct known *known = find_known(step->tracker, id);
	int alone;

	if ((known == NULL || !is_fresh(known, step->place.time_us)) &&
		look_up(step, id, &known) < 0)
		return -1;
	*known_r = known;
	if (!known->found || !known->hop.is_new)
		return known->found;
	known->hop.is_new = false;
	alone = is_alone(step, known);
	if (alone == 0)
		step->tracker->connected++;
	if (alone < 0 ||
		report_each(step, &known->hop, concerns_all, FACT_ACCEPTED) < 0)
		return -1;
	return 1;
}

static int follow(struct step *step);

/* What was kept of the message is now said of our email. */
static int follow_kept(struct step *step, struct stranger *stranger)
{
	int result = 0;

	for (size_t i = 0; stranger && result == 0 && i < stranger->n; i++) {
		struct step again = *step;

		again.line = &stranger->lines[i].line;
		again.place = stranger->lines[i].place;
		result = follow(&again);
	}
	free_stranger(stranger);
	return result;
}

/* The message with the id carries the email of the parent too. 1; 0 when it
 * carries another one, -1. */
static int connect(struct step *step, struct span id, const struct hop *parent,
	enum hop_how how, int64_t n)
{
	struct tracker *tracker = step->tracker;
	struct stranger *stranger;
	struct known *known;
	struct hop child;
	int found;

	if (span_is(id, parent->queue_id))
		return 0;
	found = find_hop(step, id, &known);
	if (found < 0)
		return -1;
	if (found == 1 && (known->hop.email != parent->email ||
				  known->hop.how == HOP_MILTER))
		return 0;
	stranger = take(tracker, id);
	child = (struct hop){
		.queue_id = known->id,
		.email = parent->email,
		.since_us = found      ? known->hop.since_us
			    : stranger ? stranger->first_us
				       : step->place.time_us,
		.parent = parent->queue_id,
		.how = how,
		.n = n,
	};
	known->time_us = INT64_MIN;
	tracker->connected++;
	if (store_hop_add(tracker->db, &child, step->err) < 0) {
		free_stranger(stranger);
		return -1;
	}
	return follow_kept(step, stranger) < 0 ? -1 : 1;
}

/* When the attempt began that the line tells of, or a little earlier, since the
 * reader may have been behind; 0 when it does not say. */
static int64_t attempt_begin(const struct step *step)
{
	enum { SLACK_S = 60, LONGEST_S = 1000000 };
	_cleanup_free_ char *delays = text_of(step->line->delays);
	double connecting, sending;

	if (delays == NULL ||
		sscanf(delays, "%*[^/]/%*[^/]/%lf/%lf", &connecting, &sending) !=
			2 ||
		!(connecting + sending >= 0 && connecting + sending < LONGEST_S))
		return 0;
	return step->place.time_us -
	       (int64_t)((SLACK_S + connecting + sending) * 1e6);
}

/* Whether the answer to an attempt says that the message came back into this
 * queue: 1, 0, -1. It is then followed there. A filter that says nothing gives
 * it back while it has it: others may send it with its Message-ID, too. */
static int was_handed_on(struct step *step, struct known *known, int64_t n)
{
	const struct log_line *line = step->line;
	const struct hop *hop = &known->hop;
	bool forwarded;
	struct span id = log_queued_as(line->text, &forwarded);
	struct known *child;
	int result;

	if (id.data && forwarded)
		return connect(step, id, hop, HOP_FORWARDED, n);
	if (id.data && *find_slot(step->tracker, id))
		return connect(step, id, hop, HOP_QUEUED_AS, hop->n);
	if (id.data == NULL && line->agent == LOG_AGENT_MAILBOX)
		return 0;
	result = is_alone(step, known);
	if (result != 0)
		return result < 0 ? -1 : 0;
	if (id.data == NULL)
		return store_hop_is_filtered(
			step->tracker->db, hop, attempt_begin(step), step->err);
	/* Or it is the queue of the next host. */
	result = find_hop(step, id, &child);
	if (result == 1 && child->hop.email != hop->email)
		result = 0;
	return result == 1 ? connect(step, id, hop, HOP_QUEUED_AS, hop->n)
			   : result;
}

static int read_fact(
	struct step *step, struct known *known, int64_t n, enum fact *fact_r)
{
	int handed_on;

	switch (step->line->status) {
	case LOG_DEFERRED:
		*fact_r = FACT_DEFERRED;
		return 0;
	case LOG_BOUNCED:
		*fact_r = FACT_BOUNCED;
		return 0;
	default:
		break;
	}
	if (step->line->agent == LOG_AGENT_DISCARD) {
		*fact_r = FACT_DISCARDED;
		return 0;
	}
	handed_on = was_handed_on(step, known, n);
	*fact_r = handed_on == 1 ? FACT_HANDED_ON : FACT_DELIVERED;
	return handed_on < 0 ? -1 : 0;
}

static int store_delivery(struct step *step, struct known *known, int64_t n,
	const char *to, const char *orig_to)
{
	const struct log_line *line = step->line;
	_cleanup_free_ char *relay = text_of(line->relay);
	_cleanup_free_ char *delays = text_of(line->delays);
	_cleanup_free_ char *dsn = text_of(line->dsn);
	_cleanup_free_ char *text = text_of(line->text);
	struct fact_report fresh = {
		.email = known->hop.email,
		.n = n,
		.address = to,
		.relay = str_eq(relay, "none") ? NULL : relay,
		.dsn = dsn,
		.text = text,
	};
	char since[24], status[24];

	if (read_fact(step, known, n, &fresh.fact) < 0)
		return -1;
	snprintf(since, sizeof(since), "%lld", (long long)known->hop.since_us);
	snprintf(status, sizeof(status), "%d", (int)line->status);
	fact_key(fresh.key,
		(const char *[]){"delivery", known->id, since, to, orig_to,
			status, dsn, delays, text},
		9);
	return report(step, &fresh);
}

/* A recipient is known by the address that aliases made something else of. */
static int on_delivery(struct step *step, struct known *known)
{
	struct fact_writer *writer = step->tracker->writer;
	const struct log_line *line = step->line;
	_cleanup_free_ char *to = text_of(line->to);
	_cleanup_free_ char *orig_to = text_of(line->orig_to);
	int64_t email = known->hop.email, n = known->hop.n;
	int found = 1;

	if (line->status == LOG_PROBED)
		return 0;
	if (n < 0 && orig_to)
		found = fact_writer_find(writer, email, orig_to, &n, step->err);
	if (n < 0 && found >= 0)
		found = fact_writer_find(writer, email, to, &n, step->err);
	if (found == 0)
		keep_line(step);
	return found == 1 ? store_delivery(step, known, n, to, orig_to) : found;
}

/* Something is still awaited of it from the message. */
static bool concerns_awaited(const struct hop *hop, const struct recipient *one)
{
	return fate_is_open(one->fate) && concerns_open(hop, one);
}

static int on_removed(struct step *step, struct hop *hop)
{
	struct db *db = step->tracker->db;
	int result;

	if (hop->closed_us)
		return 0;
	if (store_hop_close(db, hop, step->place.time_us, step->err) < 0)
		return -1;
	hop->closed_us = step->place.time_us;
	if (step->line->by_admin)
		return report_each(step, hop, concerns_open, FACT_REMOVED);
	/* A filter by pipe took it, and what came out of that was for others:
	 * then the filter was the last hop that we see. */
	result = has_any(step, hop, concerns_handed_on);
	if (result == 1)
		result = store_hop_is_last(db, hop, step->err);
	if (result == 1)
		result = report_each(
			step, hop, concerns_handed_on, FACT_DELIVERED);
	if (result >= 0)
		result = has_any(step, hop, concerns_awaited);
	if (result <= 0)
		return result;
	step->tracker->counts.open++;
	return store_gap_add(db, "log", "no_status", hop->since_us,
		step->place.time_us, step->err);
}

/* The queue manager begins with a message of which nothing is known: its
 * Message-ID may say that it comes from one of ours. */
static int on_stranger_active(struct step *step)
{
	struct stranger *stranger = *find_slot(step->tracker, step->line->id);
	struct hop parent;
	int found;

	if (stranger == NULL)
		return 0;
	stranger->foreign = true;
	if (stranger->message_id == NULL)
		return 0;
	found = store_hop_of_message_id(step->tracker->db, stranger->message_id,
		step->place.time_us, &parent, step->err);
	if (found != 1)
		return found;
	found = connect(step, step->line->id, &parent, HOP_MESSAGE_ID, parent.n);
	hop_clear(&parent);
	return found < 0 ? -1 : 0;
}

static int on_pickup(struct step *step)
{
	struct known *before;
	int result = find_hop(step, step->line->other, &before);

	if (result != 1)
		return result;
	result = connect(
		step, step->line->id, &before->hop, HOP_ORIG_ID, before->hop.n);
	if (result < 0 || before->hop.closed_us)
		return result < 0 ? -1 : 0;
	before->hop.closed_us = step->place.time_us;
	return store_hop_close(step->tracker->db, &before->hop,
		step->place.time_us, step->err);
}

static void on_message_id(struct step *step)
{
	struct stranger *stranger = keep(step);

	free(stranger->message_id);
	stranger->message_id = text_of(step->line->text);
	stranger->bytes += step->line->text.len;
	step->tracker->bytes += step->line->text.len;
}

static int on_ours(struct step *step, struct known *known)
{
	struct stranger *stranger;

	switch (step->line->kind) {
	case LOG_DELIVERY:
		return on_delivery(step, known);
	case LOG_EXPIRED:
		return report_each(
			step, &known->hop, concerns_open, FACT_EXPIRED);
	case LOG_DISCARDED:
		return report_each(
			step, &known->hop, concerns_open, FACT_DISCARDED);
	case LOG_REMOVED:
		return on_removed(step, &known->hop);
	default:
		/* Its Message-ID is not wanted any more. */
		stranger = *find_slot(step->tracker, step->line->id);
		if (stranger && stranger->n == 0)
			free_stranger(take(step->tracker, step->line->id));
		return 0;
	}
}

/* Whether the message is that of the email. Whoever has seen the ticket in the
 * queue may send another one to it, but does not know the Message-ID. A rule that
 * discards a message may do so before cleanup has told that: then it counts, and
 * where it was another's, what is told of the recipients stays wrong. */
static bool is_its_message(
	const struct step *step, const struct email_ticket *email)
{
	const struct stranger *stranger = *find_slot(
		step->tracker, step->line->id);

	if (stranger == NULL || stranger->message_id == NULL)
		return step->line->kind == LOG_DISCARDED;
	return str_eq(stranger->message_id, email->message_id);
}

/* A rule of Postfix or another milter stopped an email before the milter was
 * asked about it: its recipients are told so. It stays staged, since nothing
 * was decided: should its message come all the same, or again, it is sent. */
static int report_stopped(
	struct step *step, const struct email_ticket *email, enum fact fact)
{
	const struct log_line *line = step->line;
	const struct recipients *all;
	_cleanup_free_ char *id = text_of(line->id);
	_cleanup_free_ char *dsn = text_of(line->dsn);
	_cleanup_free_ char *text = text_of(line->text);
	/* Behind this the line names the ticket. */
	char *end = fact == FACT_DISCARDED && text ? strstr(text, "; from=<")
						   : NULL;
	int result = fact_writer_recipients(
		step->tracker->writer, email->seq, &all, step->err);

	if (end)
		*end = '\0';
	for (size_t i = 0; result == 0 && i < all->n; i++) {
		struct fact_report fresh = {
			.email = email->seq,
			.n = all->items[i].n,
			.fact = fact,
			.dsn = dsn,
			.text = text,
		};
		char n[24];

		snprintf(n, sizeof(n), "%lld", (long long)fresh.n);
		fact_key(fresh.key,
			(const char *[]){
				"stopped", fact_name(fact), id, n, dsn, text},
			6);
		result = report(step, &fresh);
	}
	return result;
}

/* A line that names a ticket: 1 when it says that its email was stopped. */
static int on_ticket(struct step *step, const char *ticket)
{
	const struct log_line *line = step->line;
	struct email_ticket email;
	int found, result = 0;

	if (line->kind == LOG_DELIVERY && line->status != LOG_BOUNCED)
		return 0;
	found = store_email_ticket(step->tracker->db, ticket, &email, step->err);
	if (found != 1)
		return found;
	if (!email.superseded && email.state == EMAIL_STAGED &&
		is_its_message(step, &email)) {
		result = report_stopped(step, &email,
			line->kind == LOG_DISCARDED ? FACT_DISCARDED
						    : FACT_BOUNCED);
		result = result < 0 ? -1 : 1;
	}
	store_email_ticket_clear(&email);
	return result;
}

/* The ticket that the line names as its recipient, if it is one. */
static bool names_ticket(
	const struct log_line *line, char ticket_r[static SECRET_TICKET_SIZE])
{
	_cleanup_free_ char *to = NULL;

	/* Its @ takes the place of the NUL that SECRET_TICKET_SIZE has. */
	if (line->to.len != SECRET_TICKET_SIZE + strlen(TICKET_DOMAIN))
		return false;
	to = text_of(line->to);
	return ticket_read(to, ticket_r) == TICKET_READ;
}

/* About a message in the queue. */
static int on_message(struct step *step)
{
	enum log_kind kind = step->line->kind;
	struct stranger *stranger = *find_slot(step->tracker, step->line->id);
	char ticket[SECRET_TICKET_SIZE];
	struct known *known;
	int found;

	if (names_ticket(step->line, ticket)) {
		found = on_ticket(step, ticket);
		if (found != 0)
			return found < 0 ? -1 : 0;
	}

	if (stranger && stranger->foreign && kind != LOG_ACTIVE) {
		keep_line(step);
		return 0;
	}
	found = find_hop(step, step->line->id, &known);
	if (found < 0)
		return -1;
	if (found == 1)
		return on_ours(step, known);
	if (kind == LOG_ACTIVE)
		return on_stranger_active(step);
	/* cleanup discards before the milter has its say. */
	keep_line(step)->foreign = kind != LOG_DISCARDED;
	return 0;
}

static int follow(struct step *step)
{
	switch (step->line->kind) {
	case LOG_MESSAGE_ID:
		on_message_id(step);
		return 0;
	case LOG_PICKUP:
		return on_pickup(step);
	case LOG_ACTIVE:
	case LOG_DELIVERY:
	case LOG_EXPIRED:
	case LOG_REMOVED:
	case LOG_DISCARDED:
		return on_message(step);
	default:
		return 0;
	}
}

int tracker_line(struct tracker *tracker, const struct log_line *line,
	const struct line_place *place, int64_t now_us, struct err *err)
{
	struct step step = {tracker, line, *place, now_us, err};

	tracker->counts.lines++;
	if (line->kind == LOG_BAD)
		tracker->counts.bad++;
	return follow(&step);
}
