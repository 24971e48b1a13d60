/*
 * cleaner: has what is too old removed from the store.
 *
 * Invariant: one job, which is the committer's while busy is set; so is all
 * else that on_clean_done() writes.
 *
 * Threads: one asks for rounds; clean_run() and on_clean_done() are the
 * committer's.
 */
#include "httpd/cleaner.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store_clean.h"

struct cleaner {
	struct commit_job job;
	struct committer *committer;
	const struct clock *clock;
	struct log *log;
	int64_t next_us; /* no round before, unless there is more */
	atomic_bool busy;
	bool more;
	bool failing;
};

static int clean_run(struct db *db, void *arg, struct err *err)
{
	const struct cleaner *cleaner = arg;

	return store_clean(db, clock_now_us(cleaner->clock), CLEANER_ROWS, err);
}

static void on_clean_done(void *arg, int result, const struct err *err)
{
	struct cleaner *cleaner = arg;

	if (result < 0 && !cleaner->failing)
		log_warn(cleaner->log, "clean_failed", "error", err->text);
	cleaner->failing = result < 0;
	cleaner->more = result > 0;
	atomic_store(&cleaner->busy, false);
}

struct cleaner *cleaner_new(
	struct committer *committer, const struct clock *clock, struct log *log)
{
	struct cleaner *cleaner = mem_new(struct cleaner);

	cleaner->job.run = clean_run;
	cleaner->job.done = on_clean_done;
	cleaner->job.arg = cleaner;
	cleaner->job.lazy = true;
	cleaner->committer = committer;
	cleaner->clock = clock;
	cleaner->log = log;
	return cleaner;
}

void cleaner_free(struct cleaner *cleaner)
{
	free(cleaner);
}

void cleaner_round(struct cleaner *cleaner, int64_t now_us)
{
	if (atomic_load(&cleaner->busy) ||
		(now_us < cleaner->next_us && !cleaner->more))
		return;
	cleaner->next_us = now_us + CLEANER_EVERY_MS * INT64_C(1000);
	atomic_store(&cleaner->busy, true);
	committer_submit(cleaner->committer, &cleaner->job);
}
