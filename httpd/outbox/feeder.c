/*
 * feeder: starts attempts for emails that are due in the store.
 *
 *   feeder_look, from the janitor of outbox.c
 *     ─(pool)─> feed_run: the committer takes what is due (store_outbox_take()); then the messages
 *               are read, and Postfix's queue is asked for those that it may have
 *     ────────> on_fed: each email gets an attempt, or an entry of the journal
 *
 * One look takes few emails, some of each company, so that companies take turns and emails of
 * requests go in between. It takes none of a company that has enough in hand (in_hand.h). While
 * the circuit breaker is open it takes one email for each probe.
 *
 * An email whose record is late waits for longer than usual, since its message is in the maildrop.
 * While there are such emails, a look every second finds those that were recorded since.
 *
 * Threads: the outbox's, except for feed_run(): the pool has the feeder then.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_edit.h"
#include "core/conf/conf.h"
#include "core/db/db_pool.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/email/store_message.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	/* One look takes at most. */
	ROWS = 64,
	ROWS_OF_COMPANY = 16,
	BYTES = 16 * 1024 * 1024,
	/* How often the store is asked, since other programs change it, too. */
	LOOK_US = 1000 * 1000,
	/* The pause before another try, if the store or Postfix's queue cannot be read. */
	UNKNOWN_US = 5 * 1000 * 1000,
	/* The same if the message of an email is missing, and the time between log lines about
	 * those that still are. */
	MISSING_US = 10 * 60 * 1000 * 1000,
	/* Files without a row are removed when they are older; a file that is being written has no
	 * row yet. Also how often that happens. */
	SWEEP_EVERY_S = 3600,
};

/* The result of searching Postfix's queue for the message. */
enum look { NOT_ASKED, FOUND, NOT_FOUND };

struct feeder {
	struct work work; /* first */
	struct outbox *outbox;
	bool busy;
	bool failing;            /* the last round failed, which was logged */
	int64_t due_us;          /* when the first email is due, as far as known; 0: none is */
	int64_t look_us;         /* monotonic: when to ask the store for that again */
	int64_t offset_us;       /* of clock_put_back_us() */
	int64_t sweep_us;        /* monotonic: when files without a row are removed again */
	int64_t missing;         /* messages that were missing again, since that was logged */
	int64_t missing_told_us; /* monotonic; 0: never */
	/* Monotonic: when to look for late records again, and until when to do so. */
	int64_t records_us, records_until_us;
	bool room_made;      /* an email has left the hand since the last look */
	struct buf excluded; /* companies that have no turn now: put off, or enough in hand */
	/* The pool's while it is busy. */
	bool takes, sweeps; /* what this round has to do */
	struct outbox_terms terms;
	struct outbox_taken taken;
	/* For each email that was taken: */
	struct buf *messages;
	int *message_found; /* the result of store_message_read() */
	enum look *looks;
	bool committed; /* store_outbox_take() */
	bool unsynced;  /* the round was committed, but not synced */
	bool read;      /* the messages were read */
	struct err err;
};

struct feeder *feeder_new(struct outbox *outbox)
{
	struct feeder *feeder = mem_new(struct feeder);

	feeder->outbox = outbox;
	return feeder;
}

static void clear_taken(struct feeder *feeder)
{
	for (size_t i = 0; feeder->messages && i < feeder->taken.n; i++)
		buf_free(&feeder->messages[i]);
	free(feeder->messages);
	free(feeder->message_found);
	free(feeder->looks);
	feeder->messages = NULL;
	feeder->message_found = NULL;
	feeder->looks = NULL;
	store_outbox_taken_clear(&feeder->taken);
}

void feeder_free(struct feeder *feeder)
{
	if (feeder == NULL)
		return;
	clear_taken(feeder);
	buf_free(&feeder->excluded);
	free(feeder);
}

void feeder_hint(struct feeder *feeder, int64_t due_us)
{
	if (feeder->due_us == 0 || due_us < feeder->due_us)
		feeder->due_us = due_us;
}

void feeder_make_room(struct feeder *feeder)
{
	feeder->room_made = true;
	if (feeder->excluded.len > 0)
		feeder->look_us = 0;
}

void feeder_expect_record(struct feeder *feeder, int64_t us)
{
	int64_t until_us = clock_monotonic_us() + us;

	if (until_us > feeder->records_until_us)
		feeder->records_until_us = until_us;
}

bool feeder_is_idle(const struct feeder *feeder)
{
	return !feeder->busy;
}

static int take_run(struct db *db, void *arg, struct err *err)
{
	struct feeder *feeder = arg;

	return store_outbox_take(db, &feeder->terms, &feeder->taken, err);
}

/* Marks the email that the milter has recorded as this message, if it is one of those taken. */
static int on_queue_item(void *arg, struct queue_item *item, struct err *err)
{
	struct feeder *feeder = arg;

	(void)err;
	for (size_t i = 0; i < feeder->taken.n; i++) {
		const struct outbox_row *row = &feeder->taken.items[i];

		if (row->task == OUTBOX_LOOK && str_eq(row->queue_id, item->id) &&
			queue_item_came_by(item, row->decided_us))
			feeder->looks[i] = FOUND;
	}
	return 0;
}

static bool has_all_found(const struct feeder *feeder)
{
	for (size_t i = 0; i < feeder->taken.n; i++)
		if (feeder->taken.items[i].task == OUTBOX_LOOK && feeder->looks[i] != FOUND)
			return false;
	return true;
}

/* postqueue(1) lists the queue `active` before `incoming`, and so misses a message that moves from
 * incoming to active meanwhile; with thousands of messages a listing takes seconds. A second
 * listing finds it. */
static int list_queue(struct feeder *feeder, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;

	if (postfix_queue_open(feeder->outbox->conf, &queue, err) < 0)
		return -1;
	for (int listing = 0; listing < 2 && !has_all_found(feeder); listing++)
		if (postfix_queue_each(queue, on_queue_item, feeder, err) < 0)
			return -1;
	for (size_t i = 0; i < feeder->taken.n; i++)
		if (feeder->looks[i] == NOT_ASKED)
			feeder->looks[i] = NOT_FOUND;
	return 0;
}

/* A message that cannot be read does not hold up the others. -1: none could be read. */
static int read_messages(struct feeder *feeder, struct err *err)
{
	const struct worker_shared *shared = feeder->outbox->shared;
	struct db *db;
	bool all = true;

	if (db_pool_take(shared->readers, &db, err) < 0)
		return -1;
	for (size_t i = 0; i < feeder->taken.n; i++) {
		const struct outbox_row *row = &feeder->taken.items[i];

		if (row->task != OUTBOX_SUBMIT)
			continue;
		feeder->message_found[i] = store_message_read(
			db, shared->database_path, row->id, &feeder->messages[i], err);
		all &= feeder->message_found[i] >= 0;
		/* Date says when a message is ready to be sent (RFC 5322 3.6.1), so it is the
		 * time for which it is scheduled, at each attempt. */
		if (feeder->message_found[i] > 0 && row->scheduled_us > 0)
			mime_edit_date(&feeder->messages[i], row->composed_us, row->scheduled_us);
	}
	db_pool_give(shared->readers, db, all);
	return 0;
}

static void sweep_messages(struct feeder *feeder)
{
	const struct worker_shared *shared = feeder->outbox->shared;
	struct db *db;
	int removed, chunks = 0;

	if (db_pool_take(shared->readers, &db, &feeder->err) < 0)
		return;
	removed = store_message_sweep(db, shared->database_path, SWEEP_EVERY_S, &feeder->err);
	if (removed >= 0)
		chunks = store_message_sweep_chunks(db, shared->committer, SWEEP_EVERY_S,
			clock_now_us(shared->clock), &feeder->err);
	db_pool_give(shared->readers, db, removed >= 0 && chunks >= 0);
	if (removed > 0 || chunks > 0)
		log_info(feeder->outbox->log, "messages_swept", "files", LOG_INT(removed), "chunks",
			LOG_INT(chunks));
}

static bool feed_run(struct work *work)
{
	struct feeder *feeder = CONTAINER_OF(work, struct feeder, work);
	struct outbox *outbox = feeder->outbox;
	size_t n;

	feeder->err = ERR_INIT;
	feeder->committed = feeder->unsynced = feeder->read = false;
	if (feeder->sweeps)
		sweep_messages(feeder);
	if (!feeder->takes)
		return true;
	feeder->committed = committer_run_told(outbox->shared->committer, take_run, feeder,
				    &feeder->unsynced, &feeder->err) >= 0;
	if (!feeder->committed)
		return true;
	n = feeder->taken.n;
	feeder->messages = mem_alloc(n + 1, sizeof(*feeder->messages));
	feeder->message_found = mem_alloc(n + 1, sizeof(*feeder->message_found));
	feeder->looks = mem_alloc(n + 1, sizeof(*feeder->looks));
	feeder->read = read_messages(feeder, &feeder->err) >= 0;
	if (!has_all_found(feeder))
		list_queue(feeder, &feeder->err);
	return true;
}

static void start_attempt(struct feeder *feeder, size_t i)
{
	struct outbox *outbox = feeder->outbox;
	struct outbox_row *row = &feeder->taken.items[i];
	struct attempt *attempt;

	/* It may come back: its folder is not mounted, or a backup is being put back. */
	if (feeder->message_found[i] == 0) {
		if (row->missing)
			feeder->missing++;
		else
			log_error(outbox->log, "message_missing", "email", row->id, "effect",
				"the email waits, and fails when outbox.lifetime is over", "hint",
				"put back the files of the messages, which lie beside the "
				"database; if they are lost, postern email cancel");
		journal_give_back(outbox->journal, row, MISSING_US, OUTBOX_MISSING);
		return;
	}
	attempt = mem_new(struct attempt);
	attempt->outbox = outbox;
	attempt->row = *row;
	row->sender = row->queue_id = NULL;
	attempt->from_store = true;
	attempt->own = feeder->messages[i];
	attempt->message = &attempt->own;
	feeder->messages[i] = (struct buf)BUF_INIT;
	dispatcher_start(attempt);
}

/* Each email had a line of its own at first. */
static void tell_missing(struct feeder *feeder)
{
	int64_t now_us = clock_monotonic_us();

	if (feeder->missing == 0 ||
		(feeder->missing_told_us && now_us - feeder->missing_told_us < MISSING_US))
		return;
	log_error(feeder->outbox->log, "message_missing", "emails", LOG_INT(feeder->missing),
		"effect", "their messages were missing again since the last such line");
	feeder->missing = 0;
	feeder->missing_told_us = now_us;
}

static void handle_taken(struct feeder *feeder, size_t i)
{
	struct outbox *outbox = feeder->outbox;
	const struct outbox_row *row = &feeder->taken.items[i];

	/* If only the sync failed, the row is in hand, or gone, all the same. */
	if (!feeder->committed && row->task != OUTBOX_GONE)
		journal_give_back(outbox->journal, row, UNKNOWN_US, NULL);
	if (!feeder->committed && !(feeder->unsynced && row->task == OUTBOX_GONE))
		return;
	switch (row->task) {
	case OUTBOX_SUBMIT:
		if (feeder->read && feeder->message_found[i] >= 0)
			start_attempt(feeder, i);
		else
			journal_give_back(outbox->journal, row, UNKNOWN_US, NULL);
		break;
	case OUTBOX_LOOK:
		if (feeder->looks[i] == NOT_ASKED)
			journal_give_back(outbox->journal, row, UNKNOWN_US,
				"Postfix cannot be asked for its queue");
		else
			journal_looked(outbox->journal, row, feeder->looks[i] == FOUND);
		break;
	case OUTBOX_GONE:
		outbox_account_leave(outbox, row->company_id, row->size);
		break;
	}
}

/* If nothing was taken while companies were excluded, what is due is theirs: the store is not asked
 * again before one of them may have its turn. */
static int64_t next_look_us(const struct feeder *feeder, bool failed, int64_t now_us)
{
	int64_t pause_end_us = feeder->outbox->breaker.all.until_us;

	if (!failed && (feeder->excluded.len == 0 || feeder->taken.looked > 0 || feeder->room_made))
		return 0;
	if (!failed && now_us < pause_end_us && pause_end_us < now_us + LOOK_US)
		return pause_end_us;
	return now_us + LOOK_US;
}

static void on_fed(struct task *task)
{
	struct feeder *feeder = CONTAINER_OF(task, struct feeder, work.done);
	struct outbox *outbox = feeder->outbox;
	bool failed = feeder->err.code != ERR_NONE;
	bool written = feeder->committed || feeder->unsynced;

	feeder->busy = false;
	if (failed && !feeder->failing)
		log_error(outbox->log, "outbox_not_read", "error", feeder->err.text);
	feeder->failing = failed;
	/* A round that only looked for records, or removed files, has learned nothing about what is
	 * due, even if it failed. */
	if (feeder->terms.rows > 0) {
		feeder->due_us = 0;
		feeder->look_us = next_look_us(feeder, failed, clock_monotonic_us());
	}
	if (feeder->taken.renewed > 0)
		log_info(outbox->log, "submitted_again", "emails",
			LOG_INT((int64_t)feeder->taken.renewed));
	for (size_t i = 0; written && i < feeder->taken.joined_n; i++)
		outbox_account_join(
			outbox, feeder->taken.joined[i].company_id, feeder->taken.joined[i].size);
	for (size_t i = 0; i < feeder->taken.n; i++)
		handle_taken(feeder, i);
	tell_missing(feeder);
	clear_taken(feeder);
}

/* True if something is due. Asks the store once a second at most. */
static bool ask_if_due(struct feeder *feeder, int64_t now_us)
{
	if (clock_monotonic_us() >= feeder->look_us) {
		struct db *db = outbox_reads(feeder->outbox, NULL);

		feeder->look_us = clock_monotonic_us() + LOOK_US;
		feeder->due_us = 0;
		if (db)
			store_outbox_next(db, &feeder->due_us, NULL);
	}
	return feeder->due_us > 0 && feeder->due_us <= now_us;
}

/* If the clock was put back, what was put off until a time of the old clock is due at once. What
 * is scheduled waits for its time. */
static void look_at_clock(struct feeder *feeder, int64_t now_us)
{
	int64_t back_us = clock_put_back_us(&feeder->offset_us, now_us);

	if (back_us == 0)
		return;
	log_warn(feeder->outbox->log, "clock_put_back", "seconds", LOG_INT(back_us / SECOND_US));
	journal_hurry(feeder->outbox->journal);
}

/* Excludes the companies that are put off. Returns true if one that is put off alone may probe. */
static bool exclude_put_off(struct feeder *feeder, int64_t now_us)
{
	const struct breaker *breaker = &feeder->outbox->breaker;
	bool may_probe = false;

	for (size_t i = 0; i < breaker->n; i++) {
		const struct breaker_company *company = &breaker->companies[i];

		if (breaker_pauses(breaker, company, now_us))
			buf_add_str(&feeder->excluded, company->id);
		else
			may_probe = may_probe || company->circuit.cause != BREAKER_CLOSED;
	}
	return may_probe;
}

void feeder_look(struct feeder *feeder)
{
	struct outbox *outbox = feeder->outbox;
	int64_t now_us = clock_now_us(outbox->shared->clock), clock_us = clock_monotonic_us();
	const struct breaker_circuit *all = &outbox->breaker.all;
	bool open = all->cause != BREAKER_CLOSED, has_room, takes_due, recorded, may_probe;
	int64_t room = IN_HAND_FROM_STORE - outbox->in_hand.all.from_store;
	int64_t most_bytes = outbox->in_hand.limits.bytes;

	look_at_clock(feeder, now_us);
	if (feeder->busy)
		return;
	has_room = room > 0 && !breaker_is_shut(&outbox->breaker, clock_us) &&
		   in_hand_has_room(&outbox->in_hand);
	takes_due = has_room && !outbox->withheld && ask_if_due(feeder, now_us);
	/* Once a second while records of emails in the maildrop may come. */
	recorded = clock_us < feeder->records_until_us && clock_us >= feeder->records_us;
	if (recorded)
		feeder->records_us = clock_us + LOOK_US;
	feeder->takes = takes_due || recorded;
	feeder->sweeps = has_room && clock_us >= feeder->sweep_us;
	if (!feeder->takes && !feeder->sweeps)
		return;
	if (feeder->sweeps)
		feeder->sweep_us = clock_us + SWEEP_EVERY_S * SECOND_US;
	feeder->room_made = false;
	buf_clear(&feeder->excluded);
	may_probe = exclude_put_off(feeder, clock_us);
	in_hand_full(&outbox->in_hand, &feeder->excluded);
	feeder->busy = true;
	feeder->terms = (struct outbox_terms){
		.now_us = now_us,
		.lifetime_us = outbox->conf->outbox.lifetime_ms * 1000,
		.way = outbox_way(outbox),
		/* At most half of the room: the next company finds some, too. */
		.rows = !takes_due ? 0
			: open     ? 1
				   : (int)(room < 2 * ROWS ? (room + 1) / 2 : ROWS),
		.rows_each = open || may_probe ? 1 : ROWS_OF_COMPANY,
		.bytes = most_bytes < BYTES ? most_bytes : BYTES,
		.but = buf_str(&feeder->excluded),
		.recorded = recorded,
	};
	feeder->work = (struct work){
		.done = {.run = on_fed},
		.tasks = outbox->tasks,
		.company_id = "",
		.run = feed_run,
	};
	work_pool_submit(outbox->shared->pool, &feeder->work);
}
