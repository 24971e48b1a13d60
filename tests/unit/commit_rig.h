/*
 * commit_rig: a temp_db with jobs for a committer, for tests of it.
 */
#ifndef POSTERN_TESTS_COMMIT_RIG_H
#define POSTERN_TESTS_COMMIT_RIG_H

#include <semaphore.h>

#include "core/db/committer.h"
#include "tests/unit/temp_db.h"

/* For cmocka: temp_db_setup(), and the empty table item (number, data). */
int commit_rig_setup(void **state);

/* On the database of the state. */
struct committer *commit_rig_start(const struct temp_db *temp);
struct committer *commit_rig_start_shared(const struct temp_db *temp);

/* A job that adds an item, with many bytes of data. */
struct commit_item {
	struct commit_job job;
	int64_t number;
	size_t bytes;
	int result;
	enum err_code code;
	int told; /* how often */
};

void commit_rig_item(struct commit_item *item, int64_t number);

/* What jobs may run; arg is the item. The second adds it and something that
 * must not stay, and fails; the third does nothing and gives 1. */
int commit_rig_run_item(struct db *db, void *arg, struct err *err);
int commit_rig_run_and_fail(struct db *db, void *arg, struct err *err);
int commit_rig_run_one(struct db *db, void *arg, struct err *err);

/* The done of an item's job: fills its last members. */
void commit_rig_note(void *arg, int result, const struct err *err);

int commit_rig_insert(struct db *db, int64_t number, const char *data, struct err *err);
bool commit_rig_has(struct db *db, int64_t number);
int64_t commit_rig_count(struct db *db);

/* Holds the committer's thread until open is posted, so that what is submitted
 * meanwhile is one batch. */
struct commit_gate {
	struct commit_job job;
	sem_t closed, open;
};

void commit_rig_close_gate(struct committer *committer, struct commit_gate *gate);

#endif
