/*
 * backlog_sampler: stores how many emails wait.
 *
 * Invariant: there is one job. While busy is set, the committer owns it, and
 * all else that on_sampler_done() writes.
 *
 * Threads: one thread calls backlog_sampler_round(); sampler_run() and
 * on_sampler_done() run on the committer's.
 */
#include "httpd/backlog_sampler.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store_outcome.h"

struct backlog_sampler {
	struct commit_job job;
	struct committer *committer;
	struct outbox *outbox;
	const struct clock *clock;
	struct log *log;
	int64_t next_us; /* monotonic: no sample before, unless there is more */
	atomic_bool busy;
	bool more;
	bool failing;
	char company_id[ID_SIZE]; /* the last company that was sampled */
};

/* The first round of a sample is of all; the companies follow, some a round. */
static int sampler_run(struct db *db, void *arg, struct err *err)
{
	struct backlog_sampler *sampler = arg;
	int64_t now_us = clock_now_us(sampler->clock);
	struct outbox_state state;
	int added;

	if (sampler->more)
		return store_backlog_sample_companies(
			db, sampler->company_id, BACKLOG_BUDGET_US, now_us, err);
	sampler->company_id[0] = '\0';
	outbox_state_get(sampler->outbox, &state);
	added = store_backlog_sample(db, state.emails, now_us, err);
	if (added > 0 && now_us % HOUR_US < BACKLOG_SAMPLE_S * SECOND_US &&
		store_outcome_clean(db, now_us, err) < 0)
		return -1;
	/* Of several hosts, the first one samples the companies. */
	return added;
}

static void on_sampler_done(void *arg, int result, const struct err *err)
{
	struct backlog_sampler *sampler = arg;

	if (result < 0 && !sampler->failing)
		log_warn(sampler->log, "backlog_sample_failed", "error", err->text);
	sampler->failing = result < 0;
	sampler->more = result > 0;
	atomic_store(&sampler->busy, false);
}

struct backlog_sampler *backlog_sampler_new(struct committer *committer, struct outbox *outbox,
	const struct clock *clock, struct log *log)
{
	struct backlog_sampler *sampler = mem_new(struct backlog_sampler);

	sampler->job.run = sampler_run;
	sampler->job.done = on_sampler_done;
	sampler->job.arg = sampler;
	sampler->job.lazy = true;
	sampler->job.patient = true;
	sampler->committer = committer;
	sampler->outbox = outbox;
	sampler->clock = clock;
	sampler->log = log;
	return sampler;
}

void backlog_sampler_free(struct backlog_sampler *sampler)
{
	free(sampler);
}

bool backlog_sampler_round(struct backlog_sampler *sampler, int64_t now_us)
{
	if (atomic_load(&sampler->busy))
		return true;
	if (now_us < sampler->next_us && !sampler->more)
		return false;
	if (!sampler->more)
		sampler->next_us = now_us + BACKLOG_SAMPLE_S * SECOND_US;
	atomic_store(&sampler->busy, true);
	committer_submit(sampler->committer, &sampler->job);
	return true;
}
