/*
 * committer: group commit on a thread of its own, on that of a waiting caller, or inside the
 * caller.
 *
 * Invariant: a job is in the queue, or in the batch, or its done() was called. done() reports
 * success only after the COMMIT with the job, and, if any job of the batch is not lazy, after that
 * is durable.
 *
 * SQLite may roll back the whole transaction itself when the disk is full or fails, so each job is
 * followed by a check if the transaction is still open. If not, the earlier jobs are lost, and
 * later statements must not run: they would commit on their own.
 *
 * Threads: the mutex guards the queue, stopping, committing, gathering, callers, the results of
 * waiters, and stats. The handle and the batch belong to the committer's thread; in a shared
 * committer, to the thread that has set committing; inline, to the caller.
 */
#include "core/db/committer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/str.h"
#include "core/base/thread.h"

enum { BATCH_MAX = 512, TRIES_MAX = 5, SHARES_MAX = 64 };
#define FAILURE_TOLD_US (60 * SECOND_US)

struct commit_outcome {
	struct commit_job *job;
	int result;
	struct err err;
};

struct queue {
	struct commit_job *first;
	struct commit_job **end;
};

enum committer_kind { COMMITTER_INLINE, COMMITTER_THREADED, COMMITTER_SHARED };

struct committer {
	struct db *db; /* owned by the committer, with the path, unless it is inline */
	char *path;
	struct db_identity identity;
	enum committer_kind kind;
	pthread_t thread;

	pthread_mutex_t inlined; /* recursive: an inline committer has one caller at a time */
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* a job was queued, or stopping is set */
	struct queue urgent, lengthy, patient;
	bool lengthy_is_next;    /* the last transaction was of other jobs */
	char last_long[ID_SIZE]; /* the company of the last long job */
	int64_t until_us;        /* when the patience of the first patient job ends */
	bool stopping;
	bool committing;          /* a waiter is committing */
	bool grouped;             /* the last transaction of a waiter had several jobs */
	unsigned callers;         /* that are expected, also while they wait */
	struct waiter *gathering; /* waits for more jobs before it commits; NULL: none does */
	struct committer_stats stats;
	/* Of the last transaction that failed: a kind of job in it, and when (monotonic). */
	int (*failed_run)(struct db *db, void *arg, struct err *err);
	int64_t failed_us;

	size_t n;
	struct commit_outcome batch[BATCH_MAX];
};

static void outcome_init(struct commit_outcome *outcome, struct commit_job *job)
{
	outcome->job = job;
	outcome->result = 0;
	outcome->err = ERR_INIT;
}

static void add_to_batch(struct committer *committer, struct commit_job *job)
{
	outcome_init(&committer->batch[committer->n++], job);
}

static void init_queue(struct queue *queue)
{
	*queue = (struct queue){.end = &queue->first};
}

static bool is_lazy(const struct committer *committer)
{
	for (size_t i = 0; i < committer->n; i++)
		if (!committer->batch[i].job->lazy)
			return false;
	return true;
}

/* Takes patient jobs. Before their patience is over, none of them makes a transaction wait for the
 * disk that else would not. */
static void take_patient(struct committer *committer)
{
	struct queue *queue = &committer->patient;
	bool all = committer->n == 0 || !is_lazy(committer) || committer->stopping ||
		   clock_monotonic_us() >= committer->until_us;

	while (queue->first && committer->n < BATCH_MAX && (all || queue->first->lazy)) {
		add_to_batch(committer, queue->first);
		queue->first = queue->first->next;
		committer->stats.waiting--;
	}
	if (queue->first == NULL)
		queue->end = &queue->first;
}

/* Takes the first long job of another company than the last one was for, if there is one. */
static void take_long(struct committer *committer)
{
	struct queue *queue = &committer->lengthy;
	struct commit_job **at = &queue->first, *job;

	while (*at && str_eq((*at)->company_id, committer->last_long))
		at = &(*at)->next;
	if (*at == NULL)
		at = &queue->first;
	job = *at;
	*at = job->next;
	if (*at == NULL)
		queue->end = at;
	snprintf(committer->last_long, sizeof(committer->last_long), "%s", job->company_id);
	add_to_batch(committer, job);
	committer->stats.waiting--;
}

/* The share of a company in a transaction. */
struct share {
	const char *company_id;
	unsigned weight;
	bool full; /* the rest of its jobs waits for the next transaction, in order */
};

static struct share *share_of(struct share *shares, size_t *n, const char *company_id)
{
	for (size_t i = 0; i < *n; i++)
		if (str_eq(shares[i].company_id, company_id))
			return &shares[i];
	if (*n == SHARES_MAX)
		return NULL;
	shares[*n] = (struct share){.company_id = company_id};
	return &shares[(*n)++];
}

/* True if the job does not fit into the share of its company, or there are too many companies. */
static bool has_to_wait(struct share *shares, size_t *n, const struct commit_job *job)
{
	struct share *share;
	unsigned weight = job->weight > 0 ? job->weight : 1;

	if (job->company_id == NULL)
		return false;
	share = share_of(shares, n, job->company_id);
	if (share == NULL)
		return true;
	share->full |= share->weight > 0 && share->weight + weight > COMMIT_SHARE;
	share->weight += share->full ? 0 : weight;
	return share->full;
}

/* Takes urgent jobs, of each company up to its share; the others keep their order. Leaves one place
 * for patient jobs. */
static void take_urgent(struct committer *committer)
{
	struct queue *queue = &committer->urgent;
	struct commit_job **at = &queue->first;
	struct share shares[SHARES_MAX];
	size_t n = 0;

	while (*at && committer->n < BATCH_MAX - 1) {
		struct commit_job *job = *at;

		if (has_to_wait(shares, &n, job)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		add_to_batch(committer, job);
		committer->stats.waiting--;
	}
	if (*at == NULL)
		queue->end = at;
}

/* Patient jobs come last: the first job of a transaction needs no savepoint, which makes a job with
 * many rows much cheaper. */
static void take_batch(struct committer *committer)
{
	bool others = committer->urgent.first || committer->patient.first;

	committer->n = 0;
	if (committer->lengthy.first && (committer->lengthy_is_next || !others)) {
		committer->lengthy_is_next = false;
		take_long(committer);
		return;
	}
	committer->lengthy_is_next = true;
	take_urgent(committer);
	take_patient(committer);
}

/* True if the queued jobs are to be committed now. Needs the mutex. */
static bool is_batch_due(const struct committer *committer)
{
	return committer->urgent.first || committer->lengthy.first || committer->stopping ||
	       committer->stats.waiting >= BATCH_MAX ||
	       (committer->patient.first && clock_monotonic_us() >= committer->until_us);
}

/* An empty batch means the end. */
static void wait_for_batch(struct committer *committer)
{
	pthread_mutex_lock(&committer->mutex);
	while (!is_batch_due(committer)) {
		const struct timespec until = {
			.tv_sec = committer->until_us / 1000000,
			.tv_nsec = committer->until_us % 1000000 * 1000,
		};

		if (committer->patient.first == NULL)
			pthread_cond_wait(&committer->wake, &committer->mutex);
		else
			pthread_cond_clockwait(
				&committer->wake, &committer->mutex, CLOCK_MONOTONIC, &until);
	}
	take_batch(committer);
	pthread_mutex_unlock(&committer->mutex);
}

/* The transaction ended during a job; the job's error says why, if it has one. */
static int fail_lost(const struct commit_outcome *outcome, struct err *err)
{
	if (outcome->err.code != ERR_NONE) {
		*err = outcome->err;
		return -1;
	}
	return err_set(
		err, ERR_TEMPORARY, "the database gave up the transaction: disk full or failing?");
}

/* An attempt to commit a batch, and how it failed. */
struct attempt {
	bool repeatable;       /* the engine may have it repeated */
	bool guarded;          /* each job but the first has a savepoint */
	bool unguarded_failed; /* a job that has none has failed: all is to be repeated, guarded */
	bool unsynced;         /* it was committed nevertheless */
};

/* Runs one job, in a savepoint if guarded; the first job needs none, because nothing precedes it in
 * the transaction. Returns the job's result in outcome; -1 only if the transaction is lost, or is
 * to be repeated: because another job than the first has failed unguarded, or since the savepoint
 * keeps the locks of the jobs before it, which may be those of a deadlock. */
static int run_job(struct db *db, struct commit_outcome *outcome, bool first, bool guarded,
	struct attempt *attempt, struct err *err)
{
	struct commit_job *job = outcome->job;

	if (guarded && db_savepoint(db, err) != 0)
		return -1;
	db_set_actor(db, job->actor);
	outcome->result = job->run(db, job->arg, &outcome->err);
	db_set_actor(db, NULL);
	assert(outcome->result >= 0 || outcome->err.code != ERR_NONE);
	if (!db_in_transaction(db) ||
		(outcome->result < 0 && attempt->repeatable && db_repeatable(db)))
		return fail_lost(outcome, err);
	if (outcome->result >= 0)
		return guarded ? db_release(db, err) : 0;
	if (first) {
		db_rollback(db);
		return db_begin(db, err);
	}
	if (!guarded) {
		attempt->unguarded_failed = true;
		return err_copy(err, &outcome->err);
	}
	db_undo(db);
	return db_in_transaction(db) ? 0 : fail_lost(outcome, err);
}

static bool is_repeatable(const struct committer *committer)
{
	for (size_t i = 0; i < committer->n; i++)
		if (!committer->batch[i].job->repeatable)
			return false;
	return true;
}

/* Savepoints make the statements of a job dearer, and hardly any job fails. So a job has none if it
 * and all before it can be repeated. */
static int commit_batch(struct committer *committer, struct attempt *attempt, struct err *err)
{
	struct db *db = committer->db;
	bool guarded = attempt->guarded;

	if (committer->path && db_same(committer->path, &committer->identity, err) != 0)
		return -1;
	if (db_begin(db, err) != 0)
		return -1;
	for (size_t i = 0; i < committer->n; i++) {
		struct commit_outcome *outcome = &committer->batch[i];

		guarded |= !outcome->job->repeatable;
		if (run_job(db, outcome, i == 0, guarded && i > 0, attempt, err) != 0) {
			db_rollback(db);
			return -1;
		}
	}
	if (is_lazy(committer))
		return db_commit_lazy(db, err);
	if (db_commit(db, err) == 0)
		return 0;
	attempt->unsynced = db_unsynced(db);
	return -1;
}

/* Commits the batch, and repeats it when it failed for no fault of its own and all of its jobs can
 * be repeated. Returns 0 or -1. */
static int commit_repeatedly(struct committer *committer, bool *unsynced_r, struct err *err)
{
	bool repeatable = is_repeatable(committer), guarded = false;
	int tries = 1;

	for (;;) {
		bool last = tries == TRIES_MAX;
		struct attempt attempt = {
			.repeatable = repeatable && !last, .guarded = guarded || last};
		struct err why = ERR_INIT;

		if (commit_batch(committer, &attempt, &why) == 0)
			return 0;
		*unsynced_r = attempt.unsynced;
		if (attempt.unguarded_failed) {
			guarded = true;
		} else if (repeatable && !last && !attempt.unsynced &&
			   db_repeatable(committer->db)) {
			/* Lets the other side of a deadlock get its turn. */
			const struct timespec pause = {
				.tv_nsec = (1 + clock_monotonic_us() % 5) * tries * 1000 * 1000};

			nanosleep(&pause, NULL);
			tries++;
		} else {
			return err_copy(err, &why);
		}
		for (size_t i = 0; i < committer->n; i++)
			outcome_init(&committer->batch[i], committer->batch[i].job);
	}
}

static void finish_batch(struct committer *committer);

/* A posted statement fails with the transaction, so nobody knows whose it was: each job is
 * committed by itself. */
static void finish_one_by_one(struct committer *committer)
{
	struct commit_job *jobs[BATCH_MAX];
	size_t n = committer->n;

	for (size_t i = 0; i < n; i++)
		jobs[i] = committer->batch[i].job;
	for (size_t i = 0; i < n; i++) {
		committer->n = 0;
		add_to_batch(committer, jobs[i]);
		finish_batch(committer);
	}
}

/* A failure is told until a job of that kind succeeds: others may need no room on a full disk. */
static void note_end(struct committer *committer, bool committed, const struct err *err)
{
	struct committer_stats *stats = &committer->stats;

	stats->jobs += committer->n;
	stats->commits += committed;
	stats->failed += !committed;
	stats->db = *db_counts(committer->db);
	if (!committed) {
		snprintf(stats->failure, sizeof(stats->failure), "%s", err->text);
		committer->failed_run = committer->batch[0].job->run;
		committer->failed_us = clock_monotonic_us();
		return;
	}
	for (size_t i = 0; i < committer->n; i++)
		if (committer->batch[i].result >= 0 &&
			committer->batch[i].job->run == committer->failed_run)
			stats->failure[0] = '\0';
}

/* Commits the batch and reports to each job, without the mutex. A job belongs to its owner again as
 * soon as its done() is called. */
static void finish_batch(struct committer *committer)
{
	struct err err = ERR_INIT;
	bool unsynced = false;
	bool committed = commit_repeatedly(committer, &unsynced, &err) == 0;
	size_t n = committer->n;

	db_make_room(committer->db);
	if (!committed && !unsynced && n > 1 && err.code != ERR_TEMPORARY &&
		is_repeatable(committer)) {
		finish_one_by_one(committer);
		return;
	}
	pthread_mutex_lock(&committer->mutex);
	note_end(committer, committed, &err);
	pthread_mutex_unlock(&committer->mutex);
	for (size_t i = 0; i < n; i++) {
		/* A copy, because done() may submit and so start a new batch. */
		struct commit_outcome outcome = committer->batch[i];
		struct commit_job *job = outcome.job;

		job->unsynced = unsynced && outcome.result >= 0;
		if (committed)
			job->done(job->arg, outcome.result, &outcome.err);
		else
			job->done(job->arg, -1, &err);
	}
}

static void *thread_main(void *arg)
{
	struct committer *committer = arg;

	for (;;) {
		wait_for_batch(committer);
		if (committer->n == 0)
			return NULL;
		finish_batch(committer);
	}
}

static struct committer *make_committer(struct db *db, enum committer_kind kind)
{
	struct committer *committer = mem_new(struct committer);
	pthread_mutexattr_t recursive;

	committer->db = db;
	committer->kind = kind;
	init_queue(&committer->urgent);
	init_queue(&committer->lengthy);
	init_queue(&committer->patient);
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&committer->inlined, &recursive);
	pthread_mutexattr_destroy(&recursive);
	pthread_mutex_init(&committer->mutex, NULL);
	pthread_cond_init(&committer->wake, NULL);
	return committer;
}

static void destroy_committer(struct committer *committer)
{
	pthread_cond_destroy(&committer->wake);
	pthread_mutex_destroy(&committer->mutex);
	pthread_mutex_destroy(&committer->inlined);
	free(committer->path);
	free(committer);
}

/* A committer with its own handle. */
static int make_with_handle(
	const char *path, enum committer_kind kind, struct committer **committer_r, struct err *err)
{
	struct committer *committer;
	struct db *db;

	if (db_open(path, DB_WRITE, &db, err) != 0)
		return -1;
	committer = make_committer(db, kind);
	committer->path = mem_strdup(path);
	db_same(path, &committer->identity, NULL);
	*committer_r = committer;
	return 0;
}

int committer_new(const char *path, struct committer **committer_r, struct err *err)
{
	struct committer *committer;

	if (make_with_handle(path, COMMITTER_THREADED, &committer, err) != 0)
		return -1;
	if (thread_start(&committer->thread, thread_main, committer, err) < 0) {
		db_close(committer->db);
		destroy_committer(committer);
		return -1;
	}
	*committer_r = committer;
	return 0;
}

int committer_new_shared(const char *path, struct committer **committer_r, struct err *err)
{
	return make_with_handle(path, COMMITTER_SHARED, committer_r, err);
}

struct committer *committer_new_inline(struct db *db)
{
	return make_committer(db, COMMITTER_INLINE);
}

void committer_free(struct committer *committer)
{
	if (committer == NULL)
		return;
	if (committer->kind == COMMITTER_THREADED) {
		pthread_mutex_lock(&committer->mutex);
		committer->stopping = true;
		pthread_cond_signal(&committer->wake);
		pthread_mutex_unlock(&committer->mutex);
		pthread_join(committer->thread, NULL);
	}
	assert(committer->stats.waiting == 0 && !committer->committing);
	if (committer->kind != COMMITTER_INLINE)
		db_close(committer->db);
	destroy_committer(committer);
}

/* Adds a job to its queue. Needs the mutex. */
static void enqueue(struct committer *committer, struct commit_job *job)
{
	struct queue *queue = &committer->urgent;

	if (job->patient)
		queue = &committer->patient;
	else if (job->company_id && job->weight > COMMIT_SHARE)
		queue = &committer->lengthy;
	if (job->patient && queue->first == NULL)
		committer->until_us = clock_monotonic_us() + COMMIT_PATIENCE_MS * 1000LL;
	job->next = NULL;
	*queue->end = job;
	queue->end = &job->next;
	committer->stats.waiting++;
}

void committer_submit(struct committer *committer, struct commit_job *job)
{
	assert(committer->kind != COMMITTER_SHARED);
	if (committer->kind == COMMITTER_INLINE) {
		pthread_mutex_lock(&committer->inlined);
		committer->n = 0;
		add_to_batch(committer, job);
		finish_batch(committer);
		pthread_mutex_unlock(&committer->inlined);
		return;
	}
	pthread_mutex_lock(&committer->mutex);
	enqueue(committer, job);
	pthread_cond_signal(&committer->wake);
	pthread_mutex_unlock(&committer->mutex);
}

struct committer_stats committer_stats(struct committer *committer)
{
	struct committer_stats stats;

	pthread_mutex_lock(&committer->mutex);
	stats = committer->stats;
	if (clock_monotonic_us() - committer->failed_us >= FAILURE_TOLD_US)
		stats.failure[0] = '\0';
	pthread_mutex_unlock(&committer->mutex);
	return stats;
}

/*
 * Jobs whose submitters wait. In a shared committer one waiter commits for all.
 *
 * Invariant: while the queue is not empty, a waiter is committing, or the first one is awake and
 * about to.
 */

/* A thread that waits for its job. */
struct waiter {
	struct committer *committer;
	int (*run)(struct db *db, void *arg, struct err *err);
	void *arg;
	struct err *err;
	int result;
	bool finished;
	pthread_cond_t done; /* the job is finished, or this waiter is to commit */
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

/* True if every caller that is expected has queued its job. Needs the mutex. */
static bool has_all(const struct committer *committer)
{
	return committer->stats.waiting >= committer->callers;
}

/* Needs the mutex. */
static void wake_gathering(struct committer *committer)
{
	if (committer->gathering && has_all(committer))
		pthread_cond_signal(&committer->gathering->done);
}

/* Waits for the jobs of expected callers: COMMIT_GATHER_MS, and as long again whenever another job
 * came in that time, COMMIT_GATHER_MAX_MS at most. Needs the mutex. */
static void gather_jobs(struct committer *committer, struct waiter *waiter)
{
	int64_t now_us = clock_monotonic_us();
	const int64_t end_us = now_us + COMMIT_GATHER_MAX_MS * 1000LL;
	uint64_t before = 0;

	committer->gathering = waiter;
	while (!has_all(committer) && committer->stats.waiting > before && now_us < end_us) {
		int64_t step_us = now_us + COMMIT_GATHER_MS * 1000LL;
		int64_t until_us = step_us < end_us ? step_us : end_us;
		const struct timespec until = {
			.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
		int result = 0;

		before = committer->stats.waiting;
		while (!has_all(committer) && result != ETIMEDOUT)
			result = pthread_cond_clockwait(
				&waiter->done, &committer->mutex, CLOCK_MONOTONIC, &until);
		now_us = clock_monotonic_us();
	}
	committer->gathering = NULL;
}

/* Commits all queued jobs, and wakes one of the waiters that came meanwhile to go on. Needs the
 * mutex, and releases it during the commit.
 *
 * A commit costs more CPU time than most jobs, and other processes read the changed pages again
 * after each. So while there are enough callers for transactions with several jobs, a commit first
 * waits for more of them. A job without company in the last transaction does not wait. */
static void commit_for_all(struct committer *committer, struct waiter *waiter)
{
	committer->committing = true;
	if (committer->grouped)
		gather_jobs(committer, waiter);
	take_batch(committer);
	committer->grouped = committer->n > 1;
	pthread_mutex_unlock(&committer->mutex);
	finish_batch(committer);
	pthread_mutex_lock(&committer->mutex);
	committer->committing = false;
	if (committer->urgent.first != NULL) {
		struct waiter *next = committer->urgent.first->arg;

		pthread_cond_signal(&next->done);
	}
}

void committer_expect(struct committer *committer, int callers)
{
	pthread_mutex_lock(&committer->mutex);
	committer->callers += (unsigned)callers;
	wake_gathering(committer);
	pthread_mutex_unlock(&committer->mutex);
}

int committer_run_told(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg, bool *unsynced_r,
	struct err *err)
{
	struct waiter waiter = {.committer = committer, .run = run, .arg = arg, .err = err};
	struct commit_job job = {
		.run = waiter_run, .done = waiter_done, .arg = &waiter, .repeatable = true};
	bool shared = committer->kind == COMMITTER_SHARED;

	pthread_cond_init(&waiter.done, NULL);
	if (!shared)
		committer_submit(committer, &job);
	pthread_mutex_lock(&committer->mutex);
	if (shared) {
		enqueue(committer, &job);
		wake_gathering(committer);
	}
	while (!waiter.finished)
		if (shared && !committer->committing)
			commit_for_all(committer, &waiter);
		else
			pthread_cond_wait(&waiter.done, &committer->mutex);
	pthread_mutex_unlock(&committer->mutex);
	pthread_cond_destroy(&waiter.done);
	*unsynced_r = job.unsynced;
	return waiter.result;
}

int committer_run(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg, struct err *err)
{
	bool unsynced;

	return committer_run_told(committer, run, arg, &unsynced, err);
}
