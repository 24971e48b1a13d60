/*
 * repair: finds in Postfix's queue what the log did not say.
 *
 * Owns the list of missed recipients between two comparisons. It is not stored: a new process
 * starts with an empty list.
 */
#include "events/repair.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/policy/ticket.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/host/store_log.h"
#include "core/store/email/store_email.h"
#include "core/store/delivery/delivery_writer.h"
#include "core/store/host/store_held.h"

enum { OPEN_MAX_ROWS = 100000, HELD_MAX = 4000, HELD_ROWS = 10000 };

/* A recipient of an email. n is EVENT_ANY_RECIPIENT for all of them. */
struct recipient_ref {
	int64_t email;
	int64_t n;
};

struct missed {
	struct recipient_ref recipient;
	int64_t since_us;
	int times; /* comparisons in which it was missed */
};

/* The state of a recipient in the queue. */
struct waiting {
	struct recipient_ref recipient;
	int64_t since_us;
	char *queue_id;
	char *reason; /* "" if none */
};

struct repair {
	struct db *db;
	struct delivery_writer *writer;
	struct log *log;
	repair_each *each;
	void *queue;
	struct missed *missed; /* sorted by recipient */
	size_t missed_n;
	bool mute;
	uint64_t events[EVENT_KINDS];
};

/* What the queue has, for one comparison. */
struct snapshot {
	struct repair *repair;
	int64_t now_us;
	struct waiting *waiting;
	size_t n;
	struct strv held;             /* queue ids in the hold queue */
	uint64_t events[EVENT_KINDS]; /* events added */
};

const uint64_t *repair_events(const struct repair *repair)
{
	return repair->events;
}

struct repair *repair_new(struct db *db, struct log *log, repair_each *each, void *queue)
{
	struct repair *repair = mem_new(struct repair);

	repair->db = db;
	repair->writer = delivery_writer_new(db);
	repair->log = log;
	repair->each = each;
	repair->queue = queue;
	return repair;
}

void repair_free(struct repair *repair)
{
	if (repair == NULL)
		return;
	delivery_writer_free(repair->writer);
	free(repair->missed);
	free(repair);
}

static int compare_recipients(const void *a, const void *b)
{
	const struct recipient_ref *x = a, *y = b;

	if (x->email != y->email)
		return x->email < y->email ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static void add_waiting(struct snapshot *snapshot, const struct queue_message *message, int64_t n,
	const char *reason)
{
	snapshot->waiting = mem_append(snapshot->waiting, snapshot->n, sizeof(*snapshot->waiting));
	snapshot->waiting[snapshot->n++] = (struct waiting){{message->email, n}, message->since_us,
		mem_strdup(message->queue_id), mem_strdup(reason)};
}

/* Handles a message that the milter has not seen. A message with a superseded ticket does not
 * count: the milter will discard it. */
static int on_ticket(struct snapshot *snapshot, const char *ticket, struct err *err)
{
	struct email_ticket email;
	int found = store_email_ticket(snapshot->repair->db, ticket, &email, err);

	if (found <= 0)
		return found;
	if (email.state == EMAIL_STAGED && !email.superseded)
		add_waiting(snapshot,
			&(struct queue_message){.email = email.seq, .queue_id = email.id},
			EVENT_ANY_RECIPIENT, "");
	store_email_ticket_clear(&email);
	return 0;
}

/* Handles a message of the queue. A message that arrived after ours may reuse its queue id. An
 * address that is none of the email's recipients comes from an alias; then the whole email
 * counts as being in the queue. */
static int on_item(void *arg, struct queue_item *item, struct err *err)
{
	struct snapshot *snapshot = arg;
	struct delivery_writer *writer = snapshot->repair->writer;
	char ticket[SECRET_TICKET_SIZE];
	struct queue_message message;
	int found;

	if (item->queue && str_eq(item->queue, "hold"))
		strv_add(&snapshot->held, item->id);
	if (item->recipients.n == 1 &&
		ticket_read(item->recipients.items[0], ticket) == TICKET_READ)
		return on_ticket(snapshot, ticket, err);
	found = store_queue_message_find(
		snapshot->repair->db, item->id, snapshot->now_us, 366 * DAY_US, &message, err);
	if (found != 1)
		return found;
	if (!queue_item_came_by(item, message.since_us)) {
		queue_message_clear(&message);
		return 0;
	}
	for (size_t i = 0; i < item->recipients.n && found >= 0; i++) {
		int64_t n = message.n;

		if (n < 0) {
			found = delivery_writer_find(
				writer, message.email, item->recipients.items[i], &n, err);
			if (found == 0)
				n = EVENT_ANY_RECIPIENT;
		}
		if (found >= 0)
			add_waiting(snapshot, &message, n, item->reasons.items[i]);
	}
	queue_message_clear(&message);
	if (delivery_writer_held(writer) > HELD_MAX)
		delivery_writer_reset(writer);
	return found < 0 ? -1 : 0;
}

/* Returns the state in the queue, or NULL if the recipient is not there. */
static const struct waiting *find_waiting(
	const struct snapshot *snapshot, const struct recipient_ref *recipient)
{
	const struct recipient_ref any = {recipient->email, EVENT_ANY_RECIPIENT};
	const struct waiting *found = NULL;

	if (snapshot->n)
		found = bsearch(recipient, snapshot->waiting, snapshot->n,
			sizeof(*snapshot->waiting), compare_recipients);
	if (found == NULL && snapshot->n)
		found = bsearch(&any, snapshot->waiting, snapshot->n, sizeof(*snapshot->waiting),
			compare_recipients);
	return found;
}

static int report_end(struct snapshot *snapshot, const struct open_recipient *one,
	enum event_kind kind, const struct waiting *waiting, struct err *err)
{
	struct delivery_writer *writer = snapshot->repair->writer;
	char since[24], n[24];
	struct event_report fresh = {
		.email = one->email,
		.n = one->n,
		.kind = kind,
		.occurred_us = snapshot->now_us,
		.now_us = snapshot->now_us,
		.text = waiting ? waiting->reason : NULL,
		.source = "queue",
	};
	int added;

	snprintf(since, sizeof(since), "%lld",
		(long long)(waiting ? waiting->since_us : one->decided_us));
	snprintf(n, sizeof(n), "%lld", (long long)one->n);
	event_key(fresh.key,
		(const char *[]){"queue", event_kind_name(kind),
			waiting ? waiting->queue_id : one->queue_id, since, n},
		5);
	added = delivery_writer_add(writer, &fresh, err);
	if (added < 0)
		return -1;
	snapshot->events[kind] += (uint64_t)added;
	return delivery_writer_held(writer) > HELD_MAX ? delivery_writer_flush(writer, err) : 0;
}

/* Compares inside a transaction and appends to missed. *silent_r gets the number of recipients
 * that the log has never mentioned; NULL for staged emails. */
static int compare_deliveries(struct snapshot *snapshot, const struct open_recipients *open,
	struct missed *missed, size_t *missed_n, size_t *silent_r, struct err *err)
{
	const struct repair *repair = snapshot->repair;
	size_t n = *missed_n, silent = 0;

	for (size_t i = 0; i < open->n; i++) {
		const struct open_recipient *one = &open->items[i];
		const struct recipient_ref recipient = {one->email, one->n};
		const struct waiting *waiting = find_waiting(snapshot, &recipient);
		const struct missed *before = NULL;

		if (waiting) {
			if (one->status == DELIVERY_QUEUED && waiting->reason[0] &&
				report_end(snapshot, one, EVENT_DEFERRED, waiting, err) < 0)
				return -1;
			continue;
		}
		silent += !one->seen;
		if (repair->missed_n)
			before = bsearch(&recipient, repair->missed, repair->missed_n,
				sizeof(*repair->missed), compare_recipients);
		missed[n] = (struct missed){recipient, before ? before->since_us : snapshot->now_us,
			before ? before->times + 1 : 1};
		if (missed[n].times >= 2 &&
			snapshot->now_us - missed[n].since_us >= REPAIR_MISSED_S * SECOND_US) {
			if (report_end(snapshot, one, EVENT_LOST, NULL, err) < 0)
				return -1;
			/* Do not log the queue id of a staged email: it is the ticket. */
			log_warn(repair->log, silent_r ? "status_unknown" : "email_never_came",
				"queue_id", silent_r ? one->queue_id : NULL, "email",
				LOG_INT(one->email));
			continue;
		}
		n++;
	}
	*missed_n = n;
	if (silent_r)
		*silent_r = silent;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Forgets messages that the milter put on hold and that somebody removed or released without
 * telling the store. */
static int forget_released(struct snapshot *snapshot, struct err *err)
{
	_cleanup_strv_ struct strv ids = STRV_INIT;
	struct db *db = snapshot->repair->db;

	if (store_held_queue_ids(
		    db, snapshot->now_us - REPAIR_AFTER_S * SECOND_US, HELD_ROWS, &ids, err) < 0)
		return -1;
	if (snapshot->held.n)
		qsort(snapshot->held.items, snapshot->held.n, sizeof(char *), compare_texts);
	for (size_t i = 0; i < ids.n; i++) {
		bool there = snapshot->held.n &&
			     bsearch(&ids.items[i], snapshot->held.items, snapshot->held.n,
				     sizeof(char *), compare_texts);

		if (!there && store_held_forget(db, ids.items[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Compares and stores in one transaction. What is missed is compared again the next time. */
static int store_findings(struct snapshot *snapshot, const struct open_recipients *open,
	const struct open_recipients *staged, struct err *err)
{
	struct repair *repair = snapshot->repair;
	struct missed *missed = mem_alloc(open->n + staged->n + 1, sizeof(*missed));
	const int64_t after_us = snapshot->now_us - REPAIR_AFTER_S * SECOND_US;
	size_t missed_n = 0, silent = 0;

	delivery_writer_reset(repair->writer);
	if (db_begin(repair->db, err) < 0) {
		free(missed);
		return -1;
	}
	if (compare_deliveries(snapshot, open, missed, &missed_n, &silent, err) < 0 ||
		compare_deliveries(snapshot, staged, missed, &missed_n, NULL, err) < 0 ||
		forget_released(snapshot, err) < 0 ||
		delivery_writer_flush(repair->writer, err) < 0 ||
		store_gap_repaired(repair->db, snapshot->now_us, err) < 0 ||
		(silent > 0 && !repair->mute &&
			store_gap_add(repair->db, "log", "mute", after_us, snapshot->now_us, err) <
				0) ||
		db_commit(repair->db, err) < 0) {
		db_rollback(repair->db);
		delivery_writer_reset(repair->writer);
		free(missed);
		return -1;
	}
	if (silent > 0 && !repair->mute)
		log_error(repair->log, "log_is_mute", "emails", LOG_INT((int64_t)silent));
	repair->mute = silent > 0;
	free(repair->missed);
	if (missed_n)
		qsort(missed, missed_n, sizeof(*missed), compare_recipients);
	repair->missed = missed;
	repair->missed_n = missed_n;
	for (size_t i = 0; i < EVENT_KINDS; i++)
		repair->events[i] += snapshot->events[i];
	return 0;
}

int repair_round(struct repair *repair, int64_t now_us, struct err *err)
{
	struct snapshot snapshot = {.repair = repair, .now_us = now_us};
	struct open_recipients open = {0}, staged = {0};
	int result;

	/* Reads open recipients first and the queue second, so that a recipient added in
	 * between is not missed. */
	result = store_open_recipients(
		repair->db, 0, now_us - REPAIR_AFTER_S * SECOND_US, OPEN_MAX_ROWS, &open, err);
	if (result == 0)
		result = store_staged_recipients(repair->db, now_us - REPAIR_AFTER_S * SECOND_US,
			OPEN_MAX_ROWS, &staged, err);
	if (result == 0)
		result = repair->each(repair->queue, on_item, &snapshot, err);
	if (result == 0) {
		if (snapshot.n)
			qsort(snapshot.waiting, snapshot.n, sizeof(*snapshot.waiting),
				compare_recipients);
		result = store_findings(&snapshot, &open, &staged, err);
	}
	for (size_t i = 0; i < snapshot.n; i++) {
		free(snapshot.waiting[i].queue_id);
		free(snapshot.waiting[i].reason);
	}
	free(snapshot.waiting);
	strv_free(&snapshot.held);
	store_open_recipients_free(&open);
	store_open_recipients_free(&staged);
	return result;
}
