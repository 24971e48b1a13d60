/*
 * committer_run: jobs whose submitters wait for them.
 *
 * With a shared committer one of those that wait commits for all. Invariant:
 * while the queue is not empty somebody commits, or the first in it is awake
 * and about to.
 *
 * Threads: any; the committer's mutex guards what a waiter is told.
 */
#include "core/db/committer_private.h"

/* One who waits for a job. */
struct waiter {
	struct committer *committer;
	int (*run)(struct db *db, void *arg, struct err *err);
	void *arg;
	struct err *err;
	int result;
	bool finished;
	pthread_cond_t done; /* finished, or it is this one's turn to commit */
};

static int waiter_run(struct db *db, void *arg, struct err *err)
{
	struct waiter *waiter = arg;

	return waiter->run(db, waiter->arg, err);
}

static void waiter_done(void *arg, int result, const struct err *err)
{
	struct waiter *waiter = arg;

	pthread_mutex_lock(&waiter->committer->mutex);
	waiter->result = result;
	if (result < 0 && waiter->err != NULL)
		*waiter->err = *err;
	waiter->finished = true;
	pthread_cond_signal(&waiter->done);
	pthread_mutex_unlock(&waiter->committer->mutex);
}

/* With the mutex, but not during the commit: commits all that wait, and has one
 * of those that came meanwhile go on. */
static void commit_for_all(struct committer *committer)
{
	committer->committing = true;
	committer_take_batch(committer);
	pthread_mutex_unlock(&committer->mutex);
	committer_finish_batch(committer);
	pthread_mutex_lock(&committer->mutex);
	committer->committing = false;
	if (committer->first != NULL) {
		struct waiter *next = committer->first->arg;

		pthread_cond_signal(&next->done);
	}
}

static void run_shared(struct waiter *waiter, struct commit_job *job)
{
	struct committer *committer = waiter->committer;

	pthread_mutex_lock(&committer->mutex);
	committer_enqueue(committer, job);
	while (!waiter->finished) {
		if (committer->committing)
			pthread_cond_wait(&waiter->done, &committer->mutex);
		else
			commit_for_all(committer);
	}
	pthread_mutex_unlock(&committer->mutex);
}

static void submit_and_wait(struct waiter *waiter, struct commit_job *job)
{
	struct committer *committer = waiter->committer;

	committer_submit(committer, job);
	pthread_mutex_lock(&committer->mutex);
	while (!waiter->finished)
		pthread_cond_wait(&waiter->done, &committer->mutex);
	pthread_mutex_unlock(&committer->mutex);
}

int committer_run(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg,
	struct err *err)
{
	struct waiter waiter = {
		.committer = committer, .run = run, .arg = arg, .err = err};
	struct commit_job job = {
		.run = waiter_run, .done = waiter_done, .arg = &waiter};

	pthread_cond_init(&waiter.done, NULL);
	if (committer->kind == COMMITTER_SHARED)
		run_shared(&waiter, &job);
	else
		submit_and_wait(&waiter, &job);
	pthread_cond_destroy(&waiter.done);
	return waiter.result;
}
