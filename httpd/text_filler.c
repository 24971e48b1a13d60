/*
 * text_filler: keeps the text index of emails up to date.
 *
 * Invariant: there is one job. While busy is set, the committer owns it, and
 * all else that on_filler_done() writes.
 *
 * Threads: one thread calls text_filler_round(); filler_run() and
 * on_filler_done() run on the committer's.
 */
#include "httpd/text_filler.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store_text_index.h"

struct text_filler {
	struct commit_job job;
	struct committer *committer;
	struct log *log;
	int64_t next_us; /* monotonic: no round before, unless there is more */
	atomic_bool busy;
	bool more;
	bool failing;
};

static int filler_run(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	return store_text_index_fill(db, TEXT_FILLER_BUDGET_US, err);
}

static void on_filler_done(void *arg, int result, const struct err *err)
{
	struct text_filler *filler = arg;

	if (result < 0 && !filler->failing)
		log_warn(filler->log, "text_index_failed", "error", err->text);
	filler->failing = result < 0;
	filler->more = result > 0;
	atomic_store(&filler->busy, false);
}

struct text_filler *text_filler_new(struct committer *committer, struct log *log)
{
	struct text_filler *filler = mem_new(struct text_filler);

	filler->job.run = filler_run;
	filler->job.done = on_filler_done;
	filler->job.arg = filler;
	filler->job.lazy = true;
	filler->committer = committer;
	filler->log = log;
	return filler;
}

void text_filler_free(struct text_filler *filler)
{
	free(filler);
}

bool text_filler_round(struct text_filler *filler, int64_t now_us)
{
	if (atomic_load(&filler->busy))
		return true;
	if (now_us < filler->next_us && !filler->more)
		return false;
	filler->next_us = now_us + TEXT_FILLER_EVERY_MS * INT64_C(1000);
	atomic_store(&filler->busy, true);
	committer_submit(filler->committer, &filler->job);
	return true;
}
