/*
 * recurring: a job of the committer that is submitted again at intervals.
 */
#include "httpd/recurring.h"

#include "core/base/log.h"

static int run_round(struct db *db, void *arg, struct err *err)
{
	const struct recurring *recurring = arg;

	return recurring->run(db, recurring->arg, err);
}

static void on_round_done(void *arg, int result, const struct err *err)
{
	struct recurring *recurring = arg;

	if (result < 0 && !recurring->failing)
		log_warn(recurring->log, recurring->failed, "error", err->text);
	recurring->failing = result < 0;
	recurring->more = result > 0;
	if (recurring->ended)
		recurring->ended(recurring->arg, result);
	atomic_store(&recurring->busy, false);
}

bool recurring_round(struct recurring *recurring, int64_t now_us)
{
	if (atomic_load(&recurring->busy))
		return true;
	if (now_us < recurring->next_us && !recurring->more)
		return false;
	if (!recurring->more)
		recurring->next_us = now_us + recurring->every_us;
	recurring->job = (struct commit_job){.run = run_round,
		.done = on_round_done,
		.arg = recurring,
		.lazy = true,
		.patient = recurring->patient};
	atomic_store(&recurring->busy, true);
	committer_submit(recurring->committer, &recurring->job);
	return true;
}

void recurring_hurry(struct recurring *recurring)
{
	recurring->next_us = 0;
}
