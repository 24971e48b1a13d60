/*
 * email_story: what became of an email, told to people and to programs.
 *
 * What is over the store knows. Of what Postfix still has, it tells when it was
 * tried last; when it is tried again follows from Postfix's settings and the
 * message's age, and postqueue(1) tells whether the message waits at all. Where
 * one of these cannot be asked, the story says less.
 *
 * Threads: one, the command's.
 */
#include "cli/email_story.h"

#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postfix_queue.h"

enum {
	SECOND_US = 1000000,
	SLACK_S = 60,   /* between Postfix's arrival time and the milter's */
	SILENCE_S = 60, /* after which the log should have told something */
	INDENT = 4,
	TIME_WIDTH = 22, /* `2026-11-21 02:43:18Z  ` */
};

/* Where Postfix has the message for a recipient. */
struct place {
	char *queue; /* as `deferred`; NULL: in none that was seen */
	char *queue_id;
	char *reason; /* why it was not delivered yet; "": not told */
	int64_t arrival_s;
};

struct email_story {
	const struct email *email;
	int64_t now_us;
	struct recipient_fates fates;
	struct event_list events;
	struct hop_list hops;
	struct place *places; /* one for each fate */
	bool queue_seen;
	bool times_known;
	struct queue_times times;
};

/* How a fate is told: of one recipient, with its address before, and of several
 * with their number. An event is told as the fate that it leads to: the facts
 * stand in their order. */
_Static_assert((int)FACT_COMPLAINED == (int)FATE_COMPLAINED &&
		       (int)FACT_DEFERRED == (int)FATE_DEFERRED,
	"facts are in the order of fates");
static const struct {
	const char *is;
	const char *counted;
	const char *answer; /* of an email with one recipient: then the address */
	const char *rest;
} words[FATES] = {
	[FATE_QUEUED] = {"in Postfix's queue", "not tried yet",
		"Not yet: the email is in Postfix's queue for ",
		", and no attempt is known."},
	[FATE_DEFERRED] = {"deferred", "deferred",
		"Not yet: delivery is delayed for ", "."},
	[FATE_HANDED_ON] = {"handed on within this host", "handed on",
		"Not yet: this host has handed the email on to an alias or a "
		"filter for ",
		"."},
	[FATE_DELIVERED] = {"delivered", "delivered", "Yes: delivered to ", "."},
	[FATE_BOUNCED] = {"bounced", "bounced", "No: it bounced, delivery to ",
		" was refused for good."},
	[FATE_EXPIRED] = {"given up by Postfix", "given up",
		"No: Postfix has given up delivery to ", "."},
	[FATE_DISCARDED] = {"discarded by a rule of Postfix", "discarded",
		"No: a rule of Postfix discarded it for ", "."},
	[FATE_REMOVED] = {"removed from Postfix's queue by an admin", "removed",
		"No: an admin removed it from Postfix's queue, with the copy "
		"for ",
		"."},
	[FATE_UNKNOWN] = {"not known", "not known",
		"Not known: it left Postfix's queue, but its log does not say "
		"what became of it for ",
		"."},
	[FATE_COMPLAINED] = {"delivered, and reported as unwanted",
		"delivered and reported as unwanted", "Yes: delivered to ",
		", who reported it as unwanted."},
};

/* `2026-11-21 02:43:18Z`. */
static void add_time(struct buf *out, int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	clock_iso8601(time_us, text);
	buf_printf(out, "%.10s %.8sZ", text, text + 11);
}

/* To the minute, with as much of the date as is needed: `14:05Z`, `Thursday,
 * 2026-11-26, 14:05Z`. */
static void add_moment(struct buf *out, int64_t time_s, int64_t now_s)
{
	static const char *const days[] = {"Sunday", "Monday", "Tuesday",
		"Wednesday", "Thursday", "Friday", "Saturday"};
	enum { DAY_S = 24 * 3600 };
	char text[CLOCK_TEXT_SIZE];
	time_t when = (time_t)time_s;
	struct tm day = {0};

	clock_iso8601(time_s * SECOND_US, text);
	gmtime_r(&when, &day);
	if (time_s / DAY_S != now_s / DAY_S)
		buf_printf(out, "%s, %.10s, ", days[day.tm_wday], text);
	buf_printf(out, "%.5sZ", text + 11);
}

/* The hop of the email that is this message of the queue, or NULL. A message
 * that came later has its queue id from one that was removed. */
static const struct hop *hop_of_item(
	const struct email_story *story, const struct queue_item *item)
{
	for (size_t i = 0; i < story->hops.n; i++) {
		const struct hop *hop = &story->hops.items[i];

		if (hop->closed_us == 0 && str_eq(hop->queue_id, item->id) &&
			item->arrival_s <= hop->since_us / SECOND_US + SLACK_S)
			return hop;
	}
	return NULL;
}

static bool is_first_message(
	const struct email_story *story, const struct queue_item *item)
{
	const struct email *email = story->email;

	return email->queue_id && str_eq(email->queue_id, item->id) &&
	       item->arrival_s <= email->decided_us / SECOND_US + SLACK_S;
}

/* Which of the item's recipients has the address; their number for none. */
static size_t find_address(const struct queue_item *item, const char *address)
{
	size_t i = 0;

	while (i < item->recipients.n &&
		!str_eq_nocase(item->recipients.items[i], address))
		i++;
	return i;
}

static int on_item(void *arg, struct queue_item *item, struct err *err)
{
	struct email_story *story = arg;
	const struct hop *hop = hop_of_item(story, item);

	(void)err;
	if (hop == NULL && !is_first_message(story, item))
		return 0;
	for (size_t i = 0; i < story->fates.n; i++) {
		const struct recipient_fate *fate = &story->fates.items[i];
		struct place *place = &story->places[i];
		size_t at = find_address(item, fate->address);

		if (place->queue || !fate_is_open(fate->fate))
			continue;
		if (at == item->recipients.n && !(hop && hop->n == fate->n))
			continue;
		*place = (struct place){mem_strdup(item->queue),
			mem_strdup(item->id),
			mem_strdup(at < item->reasons.n ? item->reasons.items[at]
							: ""),
			item->arrival_s};
	}
	return 0;
}

/* What cannot be asked is not told. */
static void ask_postfix(const struct call *call, struct email_story *story)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;

	if (!email_story_is_open(story))
		return;
	story->times_known = postfix_queue_times(
				     call->conf, &story->times, NULL) == 0;
	story->queue_seen = postfix_queue_open(call->conf, &queue, NULL) == 0 &&
			    postfix_queue_each(queue, on_item, story, NULL) == 0;
}

int email_story_new(const struct call *call, const struct email *email,
	bool ask, struct email_story **story_r, struct err *err)
{
	struct email_story *story = mem_new(struct email_story);

	story->email = email;
	story->now_us = call->now_us;
	if (store_recipient_fates(call->db, email->seq, &story->fates, err) < 0 ||
		store_event_of_email(call->db, email->seq, &story->events, err) <
			0 ||
		store_hops_of_email(call->db, email->seq, &story->hops, err) < 0) {
		email_story_free(story);
		return -1;
	}
	story->places = mem_alloc(story->fates.n + 1, sizeof(*story->places));
	if (ask)
		ask_postfix(call, story);
	*story_r = story;
	return 0;
}

void email_story_free(struct email_story *story)
{
	if (story == NULL)
		return;
	for (size_t i = 0; story->places && i < story->fates.n; i++) {
		free(story->places[i].queue);
		free(story->places[i].queue_id);
		free(story->places[i].reason);
	}
	free(story->places);
	store_recipient_fates_free(&story->fates);
	store_event_list_free(&story->events);
	store_hop_list_free(&story->hops);
	free(story);
}

/* A test goes to nobody: it has no message. */
static bool is_test(const struct email_story *story)
{
	return story->email->state == EMAIL_SENT &&
	       str_empty(story->email->queue_id);
}

bool email_story_is_open(const struct email_story *story)
{
	if (story->email->state != EMAIL_SENT)
		return story->email->state == EMAIL_STAGED;
	if (is_test(story))
		return false;
	for (size_t i = 0; i < story->fates.n; i++)
		if (fate_is_open(story->fates.items[i].fate))
			return true;
	return false;
}

static void count(const struct email_story *story, size_t counts[static FATES])
{
	for (size_t i = 0; i < story->fates.n; i++)
		counts[story->fates.items[i].fate]++;
}

/* Of several recipients. */
static void add_counts(const struct email_story *story, struct buf *out)
{
	static const enum fate order[] = {FATE_DELIVERED, FATE_COMPLAINED,
		FATE_BOUNCED, FATE_EXPIRED, FATE_REMOVED, FATE_DISCARDED,
		FATE_DEFERRED, FATE_QUEUED, FATE_HANDED_ON, FATE_UNKNOWN};
	size_t counts[FATES] = {0};
	size_t n = story->fates.n, good;
	const char *separator = ": ";

	count(story, counts);
	good = counts[FATE_DELIVERED] + counts[FATE_COMPLAINED];
	if (good == n && counts[FATE_COMPLAINED] == 0) {
		buf_printf(out, "Yes: delivered to all %zu recipients.", n);
		return;
	}
	if (good)
		buf_add_str(out, good == n ? "Yes" : "In part");
	else if (email_story_is_open(story))
		buf_add_str(out, "Not yet");
	else
		buf_add_str(out, counts[FATE_UNKNOWN] == n ? "Not known" : "No");
	buf_printf(out, ", of %zu recipients", n);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (counts[order[i]] == 0)
			continue;
		buf_printf(out, "%s%zu %s", separator, counts[order[i]],
			words[order[i]].counted);
		separator = ", ";
	}
	buf_add_char(out, '.');
}

char *email_story_answer(const struct email_story *story)
{
	const struct email *email = story->email;
	struct buf out = BUF_INIT;

	if (email->state == EMAIL_REFUSED)
		buf_printf(&out, "No: the rules refused it. %s", email->refusal);
	else if (email->state == EMAIL_STAGED && email->queue_id)
		buf_add_str(&out,
			"Not known: postern-milter let it pass, but then "
			"Postfix failed, and may have lost it.");
	else if (email->state == EMAIL_STAGED)
		buf_add_str(&out,
			"Not yet: it waits for postern-milter, and has gone to "
			"nobody.");
	else if (is_test(story))
		buf_add_str(&out, "No: it was a test, which goes to nobody.");
	else if (story->fates.n == 1) {
		enum fate fate = story->fates.items[0].fate;

		buf_printf(&out, "%s%s%s", words[fate].answer,
			story->fates.items[0].address, words[fate].rest);
	} else
		add_counts(story, &out);
	return buf_take(&out);
}

/* When the message of the recipient came into the queue, as far as is known. */
static int64_t arrival_of(const struct email_story *story, size_t i)
{
	const struct place *place = &story->places[i];

	return place->queue ? place->arrival_s
			    : story->email->decided_us / SECOND_US;
}

static int64_t retry_of(const struct email_story *story, size_t i)
{
	return queue_next_attempt(&story->times, arrival_of(story, i),
		story->fates.items[i].changed_us / SECOND_US);
}

static int64_t end_of(const struct email_story *story, size_t i)
{
	return arrival_of(story, i) +
	       (*story->email->sender ? story->times.lifetime_s
				      : story->times.bounce_lifetime_s);
}

/* Whether Postfix tries again by itself: the rest is known from the settings. */
static bool is_to_be_tried(const struct email_story *story, size_t i)
{
	const struct place *place = &story->places[i];

	return story->times_known &&
	       story->fates.items[i].fate == FATE_DEFERRED &&
	       (place->queue ? !str_eq(place->queue, "hold")
			     : !story->queue_seen);
}

static void add_retry(const struct email_story *story, size_t i, struct buf *out)
{
	int64_t now_s = story->now_us / SECOND_US;
	int64_t retry_s = retry_of(story, i), end_s = end_of(story, i);

	buf_add_str(out, "Postfix tries again ");
	if (retry_s <= now_s) {
		buf_add_str(out, "within minutes");
	} else {
		buf_add_str(out, "at about ");
		add_moment(out, retry_s, now_s);
	}
	if (end_s <= retry_s || end_s <= now_s) {
		buf_add_str(out, ", for the last time.");
		return;
	}
	buf_add_str(out, ", and gives up ");
	if (end_s / (24 * 3600) == now_s / (24 * 3600))
		buf_add_str(out, "at about ");
	else
		buf_add_str(out, "on ");
	add_moment(out, end_s, now_s);
	buf_add_char(out, '.');
	if (!story->queue_seen)
		buf_add_str(out, " (Its queue could not be asked.)");
}

/* What happens next for an open recipient; NULL when nothing is known. */
static char *next_of(const struct email_story *story, size_t i)
{
	const struct recipient_fate *fate = &story->fates.items[i];
	const struct place *place = &story->places[i];
	struct buf out = BUF_INIT;
	int64_t age_s = (story->now_us - story->email->decided_us) / SECOND_US;

	if (!fate_is_open(fate->fate) || story->email->state != EMAIL_SENT ||
		is_test(story))
		return NULL;
	if (place->queue && str_eq(place->queue, "hold"))
		buf_printf(&out,
			"Postfix holds it as %s: it waits until an admin lets "
			"it go (postsuper -H %s).",
			place->queue_id, place->queue_id);
	else if (is_to_be_tried(story, i) &&
		 !(place->queue && str_eq(place->queue, "active")))
		add_retry(story, i, &out);
	else if (place->queue && str_eq(place->queue, "deferred"))
		buf_add_str(&out, "Postfix tries again later.");
	else if (place->queue)
		buf_add_str(&out, "Postfix is trying it now, or about to.");
	else if (story->queue_seen)
		buf_add_str(&out,
			"It is not in Postfix's queue any more: "
			"postern-events tells from the log what became of it, "
			"or within a quarter of an hour that it is not known.");
	else if (fate->fate == FATE_DEFERRED)
		buf_add_str(&out,
			"Postfix tries again, if it still has it. (Neither its "
			"queue nor its settings could be asked.)");
	if (fate->fate == FATE_QUEUED && place->queue && *place->reason)
		buf_printf(&out, " The queue says: %s", place->reason);
	if (fate->fate == FATE_QUEUED && story->events.n == 0 && age_s > SILENCE_S)
		buf_printf(&out,
			"%sPostfix's log has told nothing of it: does "
			"postern-events run, and read the right log?",
			out.len ? " " : "");
	return out.len ? buf_take(&out) : NULL;
}

static void add_recipient(const struct email_story *story, size_t i,
	size_t width, struct buf *out)
{
	const struct recipient_fate *fate = &story->fates.items[i];
	_cleanup_free_ char *next = next_of(story, i);
	_cleanup_buf_ struct buf line = BUF_INIT;

	buf_printf(&line, "%s: %s", fate->address, words[fate->fate].is);
	if (fate->attempts > 1)
		buf_printf(&line, ", %lld attempts", (long long)fate->attempts);
	if (fate->changed_us) {
		buf_add_str(&line,
			fate->fate == FATE_DEFERRED ? ", last at " : ", ");
		add_time(&line, fate->changed_us);
	}
	visible_add_wrapped(out, buf_str(&line), 0, width);
	if (next)
		visible_add_wrapped(out, next, INDENT, width);
}

/* A line that begins with the time. */
static void add_line(
	struct buf *out, int64_t time_us, const char *text, size_t width)
{
	_cleanup_buf_ struct buf lines = BUF_INIT;

	visible_add_wrapped(&lines, text, TIME_WIDTH, width);
	add_time(out, time_us);
	buf_add_str(out, buf_str(&lines) + TIME_WIDTH - 2);
}

void email_event_print(const struct event *event, bool with_email, size_t width,
	struct buf *out)
{
	_cleanup_buf_ struct buf line = BUF_INIT;
	_cleanup_buf_ struct buf said = BUF_INIT;

	if (with_email)
		buf_printf(&line, "%s ", event->email_id);
	buf_add_str(&line, event->recipient);
	if (event->address)
		buf_printf(&line, ", as %s", event->address);
	if (event->kind == FACT_ACCEPTED)
		buf_add_str(&line, ": taken by Postfix");
	else
		buf_printf(&line, ": %s", words[event->kind].is);
	if (fact_is_attempt(event->kind) && event->attempt > 1)
		buf_printf(&line, ", attempt %lld", (long long)event->attempt);
	if (str_eq(event->source, "queue"))
		buf_add_str(&line, " (seen in the queue)");
	add_line(out, event->occurred_us, buf_str(&line), width);
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

static bool same_words(const struct event *a, const struct event *b)
{
	return a->kind == b->kind &&
	       strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0 &&
	       strcmp(a->address ? a->address : "",
		       b->address ? b->address : "") == 0;
}

/* The next event of the same recipient for each event; n without one. */
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

/* That Postfix has taken the email is told already. Of attempts that were
 * deferred with the same words, the first and the last are told. */
static void add_events(
	const struct email_story *story, size_t width, struct buf *out)
{
	const struct event_list *events = &story->events;
	size_t *next = next_events(events);
	bool *left_out = mem_alloc(events->n + 1, sizeof(*left_out));

	for (size_t i = 0; i < events->n; i++) {
		const struct event *event = &events->items[i];
		size_t second = next[i];
		size_t third = second < events->n ? next[second] : events->n;

		if (event->kind == FACT_DEFERRED && third < events->n &&
			same_words(event, &events->items[second]) &&
			same_words(event, &events->items[third]))
			left_out[second] = true;
		if (!left_out[i] && event->kind != FACT_ACCEPTED)
			email_event_print(event, false, width, out);
	}
	free(left_out);
	free(next);
}

static void add_hops(
	const struct email_story *story, size_t width, struct buf *out)
{
	static const char *const hows[] = {
		[HOP_FORWARDED] = "forwarded to an alias",
		[HOP_QUEUED_AS] = "given back by a content filter",
		[HOP_ORIG_ID] = "requeued",
		[HOP_MESSAGE_ID] = "given back by a content filter",
	};

	for (size_t i = 0; i < story->hops.n; i++) {
		const struct hop *hop = &story->hops.items[i];
		_cleanup_free_ char *text = NULL;

		if (hop->how == HOP_MILTER)
			continue;
		text = mem_printf("%s, as %s in Postfix's queue",
			hows[hop->how], hop->queue_id);
		add_line(out, hop->since_us, text, width);
	}
}

static void add_decision(const struct email *email, size_t width, struct buf *out)
{
	_cleanup_free_ char *text = NULL;

	add_line(out, email->created_us, "came in over HTTP", width);
	if (email->decided_us == 0)
		return;
	if (email->state == EMAIL_REFUSED)
		text = mem_printf("refused: %s", email->refusal);
	else if (str_empty(email->queue_id))
		text = mem_strdup("recorded, as a test");
	else
		text = mem_printf("let pass by postern-milter, as %s in "
				  "Postfix's queue",
			email->queue_id);
	add_line(out, email->decided_us, text, width);
}

void email_story_print(
	const struct email_story *story, size_t width, struct buf *out)
{
	if (story->email->state == EMAIL_SENT && !is_test(story)) {
		for (size_t i = 0; i < story->fates.n; i++)
			add_recipient(story, i, width, out);
		buf_add_char(out, '\n');
	}
	add_decision(story->email, width, out);
	add_hops(story, width, out);
	add_events(story, width, out);
}

enum {
	ADDRESS,
	KIND,
	FATE,
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
	[FATE] = {"state", NULL, .type = COLUMN_TEXT},
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

enum {
	V_ID,
	V_EMAIL_ID,
	V_TYPE,
	V_RECIPIENT,
	V_CREATED_AT,
	V_OCCURRED_AT,
	V_ATTEMPT,
	V_ADDRESS,
	V_REMOTE,
	V_DSN,
	V_MESSAGE,
	V_SOURCE,
};

const struct column email_event_columns[] = {
	[V_ID] = {"id", NULL, .type = COLUMN_TEXT},
	[V_EMAIL_ID] = {"email_id", NULL, .type = COLUMN_TEXT},
	[V_TYPE] = {"type", NULL, .type = COLUMN_TEXT},
	[V_RECIPIENT] = {"recipient", NULL, .type = COLUMN_TEXT},
	[V_CREATED_AT] = {"created_at", NULL, .type = COLUMN_TIME},
	[V_OCCURRED_AT] = {"occurred_at", NULL, .type = COLUMN_TIME},
	[V_ATTEMPT] = {"attempt", NULL, .type = COLUMN_INT},
	[V_ADDRESS] = {"address", NULL, .type = COLUMN_TEXT},
	[V_REMOTE] = {"remote", NULL, .type = COLUMN_TEXT},
	[V_DSN] = {"dsn", NULL, .type = COLUMN_TEXT},
	[V_MESSAGE] = {"message", NULL, .type = COLUMN_TEXT},
	[V_SOURCE] = {"source", NULL, .type = COLUMN_TEXT},
	{0},
};

void email_event_report(const struct event *event, struct report *report)
{
	report_add_row(report);
	report_text(report, V_ID, event->id);
	report_text(report, V_EMAIL_ID, event->email_id);
	report_text(report, V_TYPE, fact_name(event->kind));
	report_text(report, V_RECIPIENT, event->recipient);
	report_time(report, V_CREATED_AT, event->recorded_us);
	report_time(report, V_OCCURRED_AT, event->occurred_us);
	report_number(report, V_ATTEMPT, event->attempt);
	report_text(report, V_ADDRESS, event->address);
	report_text(report, V_REMOTE, event->relay);
	report_text(report, V_DSN, event->dsn);
	report_text(report, V_MESSAGE, event->text);
	report_text(report, V_SOURCE, event->source);
}

void email_story_report(const struct email_story *story, struct report *report,
	size_t recipients, size_t events)
{
	struct report *rows = report_rows(report, recipients, recipient_columns);

	for (size_t i = 0; i < story->fates.n; i++) {
		const struct recipient_fate *fate = &story->fates.items[i];
		_cleanup_free_ char *next = next_of(story, i);

		report_add_row(rows);
		report_text(rows, ADDRESS, fate->address);
		report_text(rows, KIND, fate->kind);
		report_text(rows, FATE, fate_name(fate->fate));
		report_number(rows, ATTEMPTS, fate->attempts);
		report_text(rows, REMOTE, fate->relay);
		report_text(rows, DSN, fate->dsn);
		report_text(rows, MESSAGE, fate->text);
		report_time(rows, UPDATED_AT, fate->changed_us);
		report_text(rows, QUEUE, story->places[i].queue);
		if (is_to_be_tried(story, i)) {
			report_time(
				rows, RETRY_AT, retry_of(story, i) * SECOND_US);
			report_time(rows, ENDS_AT, end_of(story, i) * SECOND_US);
		}
		report_text(rows, NEXT, next);
	}
	rows = report_rows(report, events, email_event_columns);
	for (size_t i = 0; i < story->events.n; i++)
		email_event_report(&story->events.items[i], rows);
}
