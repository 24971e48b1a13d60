/*
 * journal: changes of rows that nobody waits for, many in one commit.
 *
 *   journal_*() ─> entries ─> journal_look ─(committer)─> journal_run ─> on_journal_written
 *
 * A crash may lose entries. That does no harm: rows that are in hand are due when httpd starts, and
 * what happened to them is found out again. A database server may crash or fail over while httpd
 * goes on, which would leave such rows in hand for good. So entries are durable there.
 *
 * Invariant: an entry is in `fresh`; or, while the committer works, in `under_way`, which belongs
 * to the committer then.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/committer.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/host/store_later_refusal.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	RETRY_US = 1000 * 1000,
	/* Entries in one commit, for which requests may wait: some milliseconds. */
	ENTRIES_MAX = 128,
};

enum kind {
	REMOVE,
	PUT_OFF,
	GIVE_BACK,
	FAIL,
	CANCEL,
	LOOKED,
	HURRY,
	BREAKER_OPENED,
	BREAKER_CLOSED_AGAIN,
};

struct entry {
	enum kind kind;
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	int64_t size;
	struct outbox_delay delay;
	char *reason;
	bool found;
	bool elsewhere; /* another host has taken it over, and counts it */
	enum breaker_cause cause;
};

struct entries {
	struct entry *items;
	size_t n;
};

struct journal {
	struct outbox *outbox;
	struct entries fresh, under_way;
	bool busy;
	bool failing;    /* the last commit failed, which was logged */
	int64_t next_us; /* monotonic: not before */
	struct commit_job job;
	struct task task;
	int64_t now_us; /* time of the job */
	int result;
	struct err err;
};

struct journal *journal_new(struct outbox *outbox)
{
	struct journal *journal = mem_new(struct journal);

	journal->outbox = outbox;
	return journal;
}

static void clear_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->items[i].reason);
	free(entries->items);
	*entries = (struct entries){0};
}

void journal_free(struct journal *journal)
{
	if (journal == NULL)
		return;
	clear_entries(&journal->fresh);
	clear_entries(&journal->under_way);
	free(journal);
}

static struct entry *add_entry(
	struct journal *journal, enum kind kind, const struct outbox_row *row, const char *reason)
{
	struct entries *fresh = &journal->fresh;
	struct entry *entry;

	fresh->items = mem_append(fresh->items, fresh->n, sizeof(*fresh->items));
	entry = &fresh->items[fresh->n++];
	*entry = (struct entry){.kind = kind, .reason = mem_strdup(reason)};
	if (row) {
		memcpy(entry->id, row->id, ID_SIZE);
		memcpy(entry->company_id, row->company_id, ID_SIZE);
		entry->size = row->size;
	}
	return entry;
}

void journal_remove(struct journal *journal, const struct outbox_row *row)
{
	add_entry(journal, REMOVE, row, NULL);
	journal_look(journal);
}

void journal_put_off(
	struct journal *journal, const struct outbox_row *row, const struct outbox_delay *delay)
{
	struct entry *entry = add_entry(journal, PUT_OFF, row, delay->reason);

	entry->delay = *delay;
	entry->delay.reason = entry->reason;
	feeder_hint(journal->outbox->feeder, delay->due_us);
	journal_look(journal);
}

void journal_give_back(
	struct journal *journal, const struct outbox_row *row, int64_t us, const char *reason)
{
	int64_t due_us = clock_now_us(journal->outbox->shared->clock) + us;

	add_entry(journal, GIVE_BACK, row, reason)->delay.due_us = due_us;
	feeder_hint(journal->outbox->feeder, due_us);
	journal_look(journal);
}

void journal_fail(struct journal *journal, const struct outbox_row *row, const char *reason)
{
	add_entry(journal, FAIL, row, reason);
	journal_look(journal);
}

void journal_cancel(struct journal *journal, const struct outbox_row *row)
{
	add_entry(journal, CANCEL, row, NULL);
	journal_look(journal);
}

void journal_looked(struct journal *journal, const struct outbox_row *row, bool found)
{
	add_entry(journal, LOOKED, row, NULL)->found = found;
	journal_look(journal);
}

void journal_hurry(struct journal *journal)
{
	add_entry(journal, HURRY, NULL, NULL);
	feeder_hint(journal->outbox->feeder, 1);
	journal_look(journal);
}

void journal_breaker_opened(struct journal *journal, enum breaker_cause cause, const char *reason)
{
	add_entry(journal, BREAKER_OPENED, NULL, reason)->cause = cause;
	journal_look(journal);
}

void journal_breaker_closed(struct journal *journal)
{
	add_entry(journal, BREAKER_CLOSED_AGAIN, NULL, NULL);
	journal_look(journal);
}

static int write_entry(struct db *db, const struct entry *entry, int64_t now_us, struct err *err)
{
	switch (entry->kind) {
	case REMOVE: /* write_removals() */
		break;
	case PUT_OFF:
		return store_outbox_put_off(db, entry->id, &entry->delay, err);
	case GIVE_BACK:
		return store_outbox_give_back(
			db, entry->id, entry->delay.due_us, entry->reason, err);
	case FAIL:
		return store_later_refusal_add_email(db, entry->id, entry->reason, now_us, err) < 0
			       ? -1
			       : store_outbox_fail(db, entry->id, entry->reason, now_us, err);
	case CANCEL:
		return store_outbox_cancel(db, entry->id, NULL, now_us, err);
	case LOOKED:
		return store_outbox_looked(db, entry->id, entry->found, now_us, err);
	case HURRY:
		return store_outbox_hurry(db, now_us, err);
	case BREAKER_OPENED:
		return store_break_open(
			db, breaker_cause_name(entry->cause), entry->reason, now_us, err);
	case BREAKER_CLOSED_AGAIN:
		return store_break_close(db, now_us, err);
	}
	return 0;
}

/* Writes all entries of removals at once. Each is about an email of its own. */
static int write_removals(struct db *db, struct journal *journal, struct err *err)
{
	_cleanup_strv_ struct strv ids = STRV_INIT, elsewhere = STRV_INIT;
	size_t removed;

	for (size_t i = 0; i < journal->under_way.n; i++)
		if (journal->under_way.items[i].kind == REMOVE)
			strv_add(&ids, journal->under_way.items[i].id);
	if (store_outbox_remove_all(db, &ids, journal->now_us, &elsewhere, err) < 0)
		return -1;
	for (size_t i = 0; i < journal->under_way.n; i++) {
		struct entry *entry = &journal->under_way.items[i];

		if (entry->kind == REMOVE)
			entry->elsewhere = strv_has(&elsewhere, entry->id);
	}
	removed = ids.n - elsewhere.n;
	return removed > 0 ? store_outbox_flow(db, (int64_t)removed, journal->now_us, err) : 0;
}

static int journal_run(struct db *db, void *arg, struct err *err)
{
	struct journal *journal = arg;

	for (size_t i = 0; i < journal->under_way.n; i++) {
		struct entry *entry = &journal->under_way.items[i];
		int written, found = 0;

		if (entry->kind == REMOVE)
			continue;
		written = write_entry(db, entry, journal->now_us, err);
		/* No row was changed: another host may have taken the email over. */
		if (written == 0 && *entry->id)
			found = store_outbox_is_elsewhere(db, entry->id, err);
		if (written < 0 || found < 0)
			return -1;
		entry->elsewhere = found > 0;
	}
	return write_removals(db, journal, err);
}

/* On the committer's thread. */
static void journal_done(void *arg, int result, const struct err *err)
{
	struct journal *journal = arg;

	journal->result = result;
	if (result < 0)
		journal->err = *err;
	task_queue_post(journal->outbox->tasks, &journal->task);
}

/* Emails that have left the outbox leave its account. Entries that could not be written are tried
 * again, before those that were added since. */
static void on_journal_written(struct task *task)
{
	struct journal *journal = CONTAINER_OF(task, struct journal, task);
	struct outbox *outbox = journal->outbox;
	struct entries *under_way = &journal->under_way, *fresh = &journal->fresh;

	journal->busy = false;
	journal->next_us = 0;
	if (journal->result >= 0) {
		if (journal->failing)
			log_info(outbox->log, "outbox_written");
		journal->failing = false;
		for (size_t i = 0; i < under_way->n; i++) {
			const struct entry *entry = &under_way->items[i];

			if (!entry->elsewhere && (entry->kind == REMOVE || entry->kind == FAIL ||
							 (entry->kind == LOOKED && entry->found)))
				outbox_account_leave(outbox, entry->company_id, entry->size);
		}
		clear_entries(under_way);
		journal_look(journal);
		return;
	}
	if (!journal->failing)
		log_error(outbox->log, "outbox_not_written", "error", journal->err.text);
	journal->failing = true;
	journal->next_us = clock_monotonic_us() + RETRY_US;
	for (size_t i = 0; i < fresh->n; i++) {
		under_way->items = mem_append(
			under_way->items, under_way->n, sizeof(*under_way->items));
		under_way->items[under_way->n++] = fresh->items[i];
	}
	free(fresh->items);
	*fresh = *under_way;
	*under_way = (struct entries){0};
}

/* Moves the first entries, as many as one commit has. */
static void take_first(struct entries *from, struct entries *to)
{
	size_t n = from->n < ENTRIES_MAX ? from->n : ENTRIES_MAX;

	if (n == from->n) {
		*to = *from;
		*from = (struct entries){0};
		return;
	}
	to->items = mem_alloc(n, sizeof(*to->items));
	to->n = n;
	memcpy(to->items, from->items, n * sizeof(*to->items));
	from->n -= n;
	memmove(from->items, from->items + n, from->n * sizeof(*from->items));
}

/* The job is patient, if it has all entries: it goes with another commit, or within a quarter of a
 * second. */
void journal_look(struct journal *journal)
{
	struct outbox *outbox = journal->outbox;

	if (journal->busy || journal->fresh.n == 0 || clock_monotonic_us() < journal->next_us)
		return;
	journal->busy = true;
	take_first(&journal->fresh, &journal->under_way);
	journal->now_us = clock_now_us(outbox->shared->clock);
	journal->task.run = on_journal_written;
	journal->job = (struct commit_job){
		.run = journal_run,
		.repeatable = true,
		.done = journal_done,
		.arg = journal,
		.lazy = str_empty(db_host(outbox->db)),
		.patient = !outbox->stopping && journal->fresh.n == 0,
	};
	committer_submit(outbox->shared->committer, &journal->job);
}

bool journal_is_empty(const struct journal *journal)
{
	return !journal->busy && journal->fresh.n == 0;
}
