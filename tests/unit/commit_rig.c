/*
 * commit_rig: jobs that add items, and a gate that makes a batch of them.
 *
 * Threads: those of the test; what a job runs, the committer's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/commit_rig.h"

int commit_rig_setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	OK(db_exec(temp->db, "CREATE TABLE item (number INTEGER PRIMARY KEY, data TEXT)", &why));
	return 0;
}

int commit_rig_insert(struct db *db, int64_t number, const char *data, struct err *err)
{
	static const char sql_insert[] = "INSERT INTO item (number, data) VALUES ($number, $data)";
	struct db_stmt *stmt;

	if (db_start(db, sql_insert, DB_PARAMS(DB_INT("$number", number), DB_TEXT("$data", data)),
		    &stmt, err) != 0)
		return -1;
	return db_run(stmt, err);
}

int commit_rig_run_item(struct db *db, void *arg, struct err *err)
{
	const struct commit_item *item = arg;
	_cleanup_free_ char *data = mem_alloc(item->bytes + 1, 1);

	memset(data, 'x', item->bytes);
	return commit_rig_insert(db, item->number, data, err);
}

int commit_rig_run_and_fail(struct db *db, void *arg, struct err *err)
{
	if (commit_rig_insert(db, 999999, NULL, err) != 0)
		return -1;
	commit_rig_run_item(db, arg, NULL);
	return err_set(err, ERR_INVALID, "no");
}

int commit_rig_run_one(struct db *db, void *arg, struct err *err)
{
	(void)db;
	(void)arg;
	(void)err;
	return 1;
}

void commit_rig_note(void *arg, int result, const struct err *err)
{
	struct commit_item *item = arg;

	item->result = result;
	item->code = err->code;
	item->told++;
}

void commit_rig_item(struct commit_item *item, int64_t number)
{
	*item = (struct commit_item){
		.job = {.run = commit_rig_run_item, .done = commit_rig_note, .arg = item},
		.number = number,
	};
}

bool commit_rig_has(struct db *db, int64_t number)
{
	static const char sql_has[] = "SELECT 1 FROM item WHERE number = $number";
	struct db_stmt *stmt;
	int found;

	OK(db_start(db, sql_has, DB_PARAMS(DB_INT("$number", number)), &stmt, &why));
	found = db_step(stmt, NULL);
	assert_int_not_equal(found, -1);
	if (found)
		db_reset(stmt);
	return found == 1;
}

static int run_gate(struct db *db, void *arg, struct err *err)
{
	struct commit_gate *gate = arg;

	(void)db;
	(void)err;
	sem_post(&gate->closed);
	while (sem_wait(&gate->open) != 0)
		;
	return 0;
}

static void ignore(void *arg, int result, const struct err *err)
{
	(void)arg;
	(void)result;
	(void)err;
}

void commit_rig_close_gate(struct committer *committer, struct commit_gate *gate)
{
	sem_init(&gate->closed, 0, 0);
	sem_init(&gate->open, 0, 0);
	gate->job = (struct commit_job){.run = run_gate, .done = ignore, .arg = gate};
	committer_submit(committer, &gate->job);
	while (sem_wait(&gate->closed) != 0)
		;
}

struct committer *commit_rig_start(const struct temp_db *temp)
{
	struct committer *committer;

	OK(committer_new(temp->name, &committer, &why));
	return committer;
}

struct committer *commit_rig_start_shared(const struct temp_db *temp)
{
	struct committer *committer;

	OK(committer_new_shared(temp->name, &committer, &why));
	return committer;
}

int64_t commit_rig_count(struct db *db)
{
	static const char sql_count[] = "SELECT count(*) FROM item";

	return temp_db_number(db, sql_count);
}
