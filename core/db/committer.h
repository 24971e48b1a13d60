/*
 * committer: group commit.
 *
 * Jobs from any thread are queued. One thread, its own or that of a caller, runs waiting jobs in
 * one transaction, of each company up to its share, and commits: one fsync serves them all. If a
 * job fails, only this job is undone: by its savepoint, or by running the others again. If the
 * commit or the sync fails, or the engine rolls the transaction back (disk full), all its jobs
 * fail. A job is durable when done() reports its result, unless it is lazy. No job learns any
 * result earlier, because what it saw of other jobs may still be undone.
 */
#ifndef POSTERN_DB_COMMITTER_H
#define POSTERN_DB_COMMITTER_H

#include "core/db/db.h"

struct committer;

enum {
	COMMIT_PATIENCE_MS = 250,
	COMMIT_SHARE = 32,
	COMMIT_LONG = COMMIT_SHARE + 1,
	COMMIT_GATHER_MS = 5,
	COMMIT_GATHER_MAX_MS = 10,
};

/* The submitter owns a job, and must not touch it until done() is called. Both functions run on the
 * committer's thread and must block on nothing but the database; done() usually hands the job back
 * to its owner.
 *
 * run is called once, unless the job is repeatable, in a transaction that it must not end. If it
 * returns 0 or more, done gets that number once the job is durable; if it returns -1, or the
 * transaction is lost, done gets -1 and the reason. err is never NULL. */
struct commit_job {
	int (*run)(struct db *db, void *arg, struct err *err);
	void (*done)(void *arg, int result, const struct err *err);
	void *arg;
	/* Need not be durable: its writes survive the process, and are lost in a power failure
	 * unless a later commit of any process has made them durable. */
	bool lazy;
	/* run may be called again, if the first call was rolled back: it sets all that it leaves in
	 * arg anew. A transaction with such jobs alone is repeated when db_repeatable() says so. */
	bool repeatable;
	/* Nobody waits for it: it is committed with the next job that is not patient, unless it
	 * would be the one for which the commit has to be durable, or after COMMIT_PATIENCE_MS with
	 * all jobs so far, and so costs hardly a commit of its own. It runs after those that are
	 * not patient. */
	bool patient;
	/* The company that the job is for, if it is for one. Belongs to the submitter, like the
	 * job. */
	const char *company_id;
	/* What it writes, counted in small emails; 0 is 1. A transaction has at most
	 * COMMIT_SHARE of a company, so that what one company writes at once holds up others by no
	 * more. A job beyond that, which has a company and is not patient, is long: it has a
	 * transaction of its own. Long jobs alternate with the other jobs that wait, and their
	 * companies take turns. */
	unsigned weight;
	/* The actor of audit entries; NULL: none. Belongs to the submitter, like the job. */
	const struct db_actor *actor;
	/* For done, with -1: the transaction was committed but could not be synced, or a server did
	 * not say if it was committed. Others may see the job's writes, and a power failure may
	 * undo them. */
	bool unsynced;
	struct commit_job *next; /* used by the committer */
};

/* Opens its own handle on the database and starts the thread. Returns 0 or -1. */
int committer_new(const char *path, struct committer **committer_r, struct err *err);

/* The same without a thread, for callers that wait anyway: a caller that finds no commit in
 * progress commits its own job at once, together with all that wait, which saves two thread
 * switches. Only for committer_run(). */
int committer_new_shared(const char *path, struct committer **committer_r, struct err *err);

/* A committer without a thread: each job runs and commits inside the call that submits it, on db,
 * which stays the caller's. For tests. */
struct committer *committer_new_inline(struct db *db);

/* Finishes all jobs, including done(), then ends the thread. */
void committer_free(struct committer *committer);
DEFINE_CLEANUP(committer, committer_free)

/* Queues the job and returns. Call it from any thread, also from done(); not with a shared
 * committer. */
void committer_submit(struct committer *committer, struct commit_job *job);

/* Runs one job, which has to be repeatable, and waits until it is durable or has failed. Returns
 * the result of run, or -1. Not to be called from run() or done(). */
int committer_run(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg, struct err *err);
/* Runs a job as committer_run() does. *unsynced_r is that of the job. */
int committer_run_told(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg, bool *unsynced_r,
	struct err *err);

/* Tells a shared committer how many callers of committer_run() to expect: 1 when a thread will
 * probably call it within milliseconds, -1 after the call, or when it will not come. While
 * transactions have several jobs, a commit waits for all that are expected:
 * COMMIT_GATHER_MS, and as long again whenever one of them came in that time, COMMIT_GATHER_MAX_MS
 * at most. */
void committer_expect(struct committer *committer, int callers);

/* Statistics since the start. */
struct committer_stats {
	uint64_t commits; /* transactions that were committed */
	uint64_t failed;  /* transactions that could not be committed */
	/* Why a transaction failed within the last minute; "": none did, or a job of that kind has
	 * succeeded since. */
	char failure[ERR_TEXT_MAX];
	uint64_t jobs;       /* jobs that were finished, with success or not */
	uint64_t waiting;    /* jobs that are not in a transaction yet */
	struct db_counts db; /* counts of its handle */
};
struct committer_stats committer_stats(struct committer *committer);

#endif
