/*
 * cleaner: removes what is too old from the store.
 *
 * Threads: one thread calls cleaner_round() and cleaner_set(); clean_run() and
 * on_clean_ended() run on the committer's.
 */
#include "httpd/cleaner.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/store/store_audit.h"
#include "core/store/email/store_message.h"
#include "core/store/email/store_purge.h"
#include "httpd/recurring.h"

struct cleaner {
	struct recurring job;
	const struct clock *clock;
	/* The time for which each kind of data is kept; 0 means for ever. */
	_Atomic int64_t keep_ms[PURGE_KINDS];
	_Atomic int64_t keep_messages_ms;
	_Atomic int64_t keep_audit_ms;
	_Atomic int64_t messages_max_bytes; /* 0 means no bound */
	_Atomic(char *) database;
	struct message_bound bound; /* used on the committer's thread, like what follows */
	struct purge purges[PURGE_KINDS];
	int64_t audit_removed; /* entries, in this walk */
	struct clean clean;
	bool cleaned; /* store_clean() has nothing left; until the round has ended */
};

/* Returns the time from before which nothing is kept; 0: everything is. */
static int64_t old_us(int64_t keep_ms, int64_t now_us)
{
	int64_t us = now_us - keep_ms * 1000;

	return keep_ms > 0 && us > 0 ? us : 0;
}

/* A walk continues where the last round stopped. When it has ended, the next
 * one starts at the beginning, because emails that waited may be done by then.
 * A walk for content skips no row, so it never starts again. */
static int purge(struct cleaner *cleaner, struct db *db, enum purge_kind kind, int64_t now_us,
	struct err *err)
{
	struct purge *purge = &cleaner->purges[kind];
	int result;

	purge->kind = kind;
	purge->before_us = old_us(atomic_load(&cleaner->keep_ms[kind]), now_us);
	if (purge->before_us == 0)
		return 0;
	result = store_purge_step(db, purge, now_us, CLEANER_BUDGET_US, err);
	if (result == 0 && kind != PURGE_CONTENT)
		purge->seq = 0;
	return result;
}

static int purge_audit(struct cleaner *cleaner, struct db *db, int64_t now_us, struct err *err)
{
	int64_t before_us = old_us(atomic_load(&cleaner->keep_audit_ms), now_us);
	int removed = before_us ? store_audit_clean(db, before_us, CLEANER_ROWS, err) : 0;

	if (removed > 0)
		cleaner->audit_removed += removed;
	return removed < 0 ? -1 : removed == CLEANER_ROWS;
}

static int purge_messages(struct cleaner *cleaner, struct db *db, int64_t now_us, struct err *err)
{
	int64_t keep_ms = atomic_load(&cleaner->keep_messages_ms);
	const struct message_left old = {now_us - keep_ms * 1000, INT64_MAX};
	int removed = 0;

	if (keep_ms > 0)
		removed = store_message_clean(
			db, atomic_load(&cleaner->database), &old, CLEANER_ROWS, err);
	return removed < 0 ? -1 : removed == CLEANER_ROWS;
}

/* Finds out where there are too many messages; then, in the next rounds,
 * removes those. The next walk begins with the round after that. */
static int bound_messages(struct cleaner *cleaner, struct db *db, int64_t now_us, struct err *err)
{
	struct message_bound *bound = &cleaner->bound;
	struct message_cut cut = {.cut_us = now_us, .left_us = bound->last.us};
	int result;

	if (!bound->too_many) {
		bound->max_bytes = atomic_load(&cleaner->messages_max_bytes);
		result = bound->max_bytes > 0
				 ? store_message_bound(db, bound, CLEANER_BOUND_ROWS, err)
				 : 0;
		if (result == 0 && bound->too_many)
			return 1;
	} else {
		result = store_message_clean(
			db, atomic_load(&cleaner->database), &bound->last, CLEANER_ROWS, err);
		if (result < 0 || store_message_cut(db, &cut, err) < 0)
			return -1;
		result = result == CLEANER_ROWS;
	}
	if (result == 0)
		*bound = (struct message_bound){0};
	return result;
}

static int clean_run(struct db *db, void *arg, struct err *err)
{
	struct cleaner *cleaner = arg;
	int64_t now_us = clock_now_us(cleaner->clock);
	/* Once in a round, however many messages it removes: all companies that have staged emails
	 * are looked at. */
	int more = cleaner->cleaned ? 0
				    : store_clean(db, &cleaner->clean, now_us, CLEANER_ROWS, err);

	cleaner->cleaned = more == 0;
	if (more >= 0) {
		int old = purge_messages(cleaner, db, now_us, err);
		int many = old < 0 ? -1 : bound_messages(cleaner, db, now_us, err);
		int entries = many < 0 ? -1 : purge_audit(cleaner, db, now_us, err);

		more = entries < 0 ? -1 : more | old | many | entries;
	}
	for (int kind = 0; more >= 0 && kind < PURGE_KINDS; kind++) {
		int result = purge(cleaner, db, (enum purge_kind)kind, now_us, err);

		more = result < 0 ? -1 : more | result;
	}
	return more;
}

static void tell_purged(struct cleaner *cleaner)
{
	struct purge *purges = cleaner->purges;

	if (purges[PURGE_EMAILS].removed + purges[PURGE_CONTENT].removed +
			purges[PURGE_EVENTS].removed + cleaner->audit_removed >
		0)
		log_info(cleaner->job.log, "purged", "emails",
			LOG_INT(purges[PURGE_EMAILS].removed), "contents",
			LOG_INT(purges[PURGE_CONTENT].removed), "events",
			LOG_INT(purges[PURGE_EVENTS].removed), "audit_entries",
			LOG_INT(cleaner->audit_removed));
	cleaner->audit_removed = 0;
	for (int kind = 0; kind < PURGE_KINDS; kind++)
		purges[kind].removed = 0;
}

static void on_clean_ended(void *arg, int result)
{
	struct cleaner *cleaner = arg;

	if (result <= 0)
		cleaner->cleaned = false;
	if (result < 0) { /* the transaction was rolled back */
		memset(cleaner->purges, 0, sizeof(cleaner->purges));
		cleaner->bound = (struct message_bound){0};
		cleaner->clean = (struct clean){0};
		cleaner->audit_removed = 0;
	} else if (result == 0) {
		tell_purged(cleaner);
	}
}

struct cleaner *cleaner_new(struct committer *committer, const struct clock *clock, struct log *log)
{
	struct cleaner *cleaner = mem_new(struct cleaner);

	cleaner->clock = clock;
	cleaner->job = (struct recurring){
		.committer = committer,
		.log = log,
		.every_us = CLEANER_EVERY_MS * INT64_C(1000),
		.failed = "clean_failed",
		.run = clean_run,
		.ended = on_clean_ended,
		.arg = cleaner,
	};
	return cleaner;
}

void cleaner_free(struct cleaner *cleaner)
{
	if (cleaner)
		free(atomic_load(&cleaner->database));
	free(cleaner);
}

void cleaner_set(struct cleaner *cleaner, const struct conf *conf)
{
	atomic_store(&cleaner->keep_ms[PURGE_EMAILS], conf->retention.emails_ms);
	atomic_store(&cleaner->keep_ms[PURGE_CONTENT], conf->retention.content_ms);
	atomic_store(&cleaner->keep_ms[PURGE_EVENTS], conf->retention.events_ms);
	atomic_store(&cleaner->keep_audit_ms, conf->retention.audit_ms);
	atomic_store(&cleaner->keep_messages_ms, conf->retention.messages_ms);
	atomic_store(&cleaner->messages_max_bytes, conf->retention.messages_max_bytes);
	/* The database does not change while this process runs. */
	if (atomic_load(&cleaner->database) == NULL)
		atomic_store(&cleaner->database, mem_strdup(conf->store.database));
	recurring_hurry(&cleaner->job);
}

bool cleaner_round(struct cleaner *cleaner, int64_t now_us)
{
	return recurring_round(&cleaner->job, now_us);
}
