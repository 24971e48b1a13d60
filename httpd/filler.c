/*
 * filler: adds to the store what is computed from its rows afterwards.
 *
 * Invariant: there is one job. While busy is set, the committer owns it, and
 * all else that on_filler_done() writes.
 *
 * Threads: one thread calls filler_round(); filler_run() and
 * on_filler_done() run on the committer's.
 */
#include "httpd/filler.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store_outcome.h"
#include "core/store/store_text_index.h"

struct filler {
	struct commit_job job;
	struct committer *committer;
	const struct clock *clock;
	struct log *log;
	int64_t next_us; /* monotonic: no round before, unless there is more */
	atomic_bool busy;
	bool more;
	bool failing;
};

static int filler_run(struct db *db, void *arg, struct err *err)
{
	struct filler *filler = arg;
	int texts = store_text_index_fill(db, FILLER_BUDGET_US, err);
	int outcomes = texts == 0 ? store_outcome_fill(
					    db, FILLER_BUDGET_US, clock_now_us(filler->clock), err)
				  : 0;

	return texts < 0 || outcomes < 0 ? -1 : texts | outcomes;
}

static void on_filler_done(void *arg, int result, const struct err *err)
{
	struct filler *filler = arg;

	if (result < 0 && !filler->failing)
		log_warn(filler->log, "filler_failed", "error", err->text);
	filler->failing = result < 0;
	filler->more = result > 0;
	atomic_store(&filler->busy, false);
}

struct filler *filler_new(struct committer *committer, const struct clock *clock, struct log *log)
{
	struct filler *filler = mem_new(struct filler);

	filler->job.run = filler_run;
	filler->job.done = on_filler_done;
	filler->job.arg = filler;
	filler->job.lazy = true;
	filler->committer = committer;
	filler->clock = clock;
	filler->log = log;
	return filler;
}

void filler_free(struct filler *filler)
{
	free(filler);
}

bool filler_round(struct filler *filler, int64_t now_us)
{
	if (atomic_load(&filler->busy))
		return true;
	if (now_us < filler->next_us && !filler->more)
		return false;
	filler->next_us = now_us + FILLER_EVERY_MS * INT64_C(1000);
	atomic_store(&filler->busy, true);
	committer_submit(filler->committer, &filler->job);
	return true;
}
