/*
 * committer: group commit.
 *
 * Jobs queue up from any thread. One thread, of its own or that of a caller,
 * takes all that wait into one transaction, each job behind the first in a savepoint
 * of its own, and commits: one fsync serves them all. A job that fails is undone alone; a
 * commit or a sync that fails fails all its jobs, and so does an engine that gives up the
 * transaction in the middle (disk full). A job is durable when done() tells its
 * result, unless it is lazy, and no job learns any result before: what it saw
 * of jobs beside it may yet be undone.
 */
#ifndef POSTERN_DB_COMMITTER_H
#define POSTERN_DB_COMMITTER_H

#include "core/db/db.h"

struct committer;

enum { COMMIT_PATIENCE_MS = 250 };

/* Owned by the submitter, who keeps it untouched until done() is called. Both
 * functions are called on the committer's thread and must not block on
 * anything but the database; done() usually hands the job back to its owner.
 *
 * run is called once, inside a transaction that is not its own to end. When it
 * returns 0 or more, done gets that number once it is durable; when it returns
 * -1, or all was lost, done gets -1 and the reason. err is never NULL. */
struct commit_job {
	int (*run)(struct db *db, void *arg, struct err *err);
	void (*done)(void *arg, int result, const struct err *err);
	void *arg;
	/* Need not be durable: what it writes survives the process, and is lost
	 * with the machine's power unless a later commit has made it durable,
	 * of whichever process. */
	bool lazy;
	/* Nobody waits for it: it goes with the next job that is not patient,
	 * or after COMMIT_PATIENCE_MS with all that have gathered, and so costs
	 * no commit of its own. */
	bool patient;
	/* In whose name; NULL: in nobody's. The submitter's, as the job is. */
	const struct db_actor *actor;
	/* For done, with -1: the transaction was committed and could not be synced, or a server
	 * did not say whether it was committed. Others may see what the job wrote, and a loss of
	 * power may undo it. */
	bool unsynced;
	struct commit_job *next; /* the committer's */
};

/* Opens a handle of its own on the database and starts the thread. */
int committer_new(const char *path, struct committer **committer_r, struct err *err);

/* The same without a thread, for callers that wait anyway: who runs a job while
 * nobody commits does it at once, together with all that wait, and spares two
 * changes of threads. For committer_run() only. */
int committer_new_shared(const char *path, struct committer **committer_r, struct err *err);

/* One without a thread: each job runs and commits inside the call that submits
 * it, on db, which stays the caller's. For tests. */
struct committer *committer_new_inline(struct db *db);

/* Finishes all jobs, done() included, then ends the thread. */
void committer_free(struct committer *committer);
DEFINE_CLEANUP(committer, committer_free)

/* Hands the job over and returns. From any thread, also from done(). Not with a
 * shared one. */
void committer_submit(struct committer *committer, struct commit_job *job);

/* Runs one job and waits until it is durable or has failed; the result of run,
 * or -1. Not from run() or done(). */
int committer_run(struct committer *committer,
	int (*run)(struct db *db, void *arg, struct err *err), void *arg, struct err *err);

/* What it has done so far. */
struct committer_stats {
	uint64_t commits;           /* transactions that were committed */
	uint64_t failed;            /* those that could not be */
	char failure[ERR_TEXT_MAX]; /* why the last one could not be; "": it was */
	uint64_t jobs;              /* jobs that were finished, well or not */
	uint64_t waiting;           /* jobs that are not yet in a transaction */
	struct db_counts db;        /* of its handle */
};
struct committer_stats committer_stats(struct committer *committer);

#endif
