/*
 * committer_private: the committer as its two files see it.
 */
#ifndef POSTERN_DB_COMMITTER_PRIVATE_H
#define POSTERN_DB_COMMITTER_PRIVATE_H

#include <pthread.h>

#include "core/db/committer.h"
#include "core/db/db_file.h"

enum { COMMITTER_BATCH_MAX = 512 };

struct commit_outcome {
	struct commit_job *job;
	int result;
	struct err err;
};

enum committer_kind { COMMITTER_INLINE, COMMITTER_THREADED, COMMITTER_SHARED };

struct committer {
	struct db *db; /* ours, with the path, unless it is inline */
	char *path;
	struct db_file_id file;
	enum committer_kind kind;
	pthread_t thread;

	pthread_mutex_t mutex;
	pthread_cond_t wake; /* a job has come, or stopping */
	struct commit_job *first;
	struct commit_job **end;
	bool stopping;
	bool committing; /* one of those that wait */
	struct committer_stats stats;

	size_t n;
	struct commit_outcome batch[COMMITTER_BATCH_MAX];
};

/* Both with the mutex. A batch is of all that wait, up to its size. */
void committer_enqueue(struct committer *committer, struct commit_job *job);
void committer_take_batch(struct committer *committer);

/* Without it: commits the batch and tells each job. A job belongs to its owner
 * again as soon as it was told. */
void committer_finish_batch(struct committer *committer);

#endif
