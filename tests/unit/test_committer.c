/*
 * committer: whoever is told of success is on disk, whatever happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/db/committer.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/temp_db.h"

static const char sql_items[] = "SELECT count(*) FROM item";

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	OK(db_exec(temp->db,
		"CREATE TABLE item (number INTEGER PRIMARY KEY, data TEXT)",
		&why));
	return 0;
}

/* A job that adds an item, with many bytes of data. */
struct item {
	struct commit_job job;
	int64_t number;
	size_t bytes;
	int result;
	enum err_code code;
	int told; /* how often */
};

static int insert_item(
	struct db *db, int64_t number, const char *data, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO item (number, data) VALUES ($number, $data)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$number", number);
	db_bind_text(stmt, "$data", data);
	return db_run(stmt, err);
}

static int run_item(struct db *db, void *arg, struct err *err)
{
	const struct item *item = arg;
	_cleanup_free_ char *data = mem_alloc(item->bytes + 1, 1);

	memset(data, 'x', item->bytes);
	return insert_item(db, item->number, data, err);
}

/* Adds the item and something that must not stay, and then fails. */
static int run_and_fail(struct db *db, void *arg, struct err *err)
{
	if (insert_item(db, 999999, NULL, err) != 0)
		return -1;
	run_item(db, arg, NULL);
	return err_set(err, ERR_INVALID, "no");
}

static void note_item(void *arg, int result, const struct err *err)
{
	struct item *item = arg;

	item->result = result;
	item->code = err->code;
	item->told++;
}

static void init_item(struct item *item, int64_t number)
{
	*item = (struct item){
		.job = {.run = run_item, .done = note_item, .arg = item},
		.number = number,
	};
}

static bool has_item(struct db *db, int64_t number)
{
	static const char sql_has[] =
		"SELECT 1 FROM item WHERE number = $number";
	struct db_stmt *stmt;
	int found;

	OK(db_prepare(db, sql_has, &stmt, &why));
	db_bind_int(stmt, "$number", number);
	found = db_step(stmt, NULL);
	assert_int_not_equal(found, -1);
	if (found)
		db_reset(stmt);
	return found == 1;
}

/* Holds the committer's thread, so that what is submitted meanwhile is one
 * batch. */
struct gate {
	struct commit_job job;
	sem_t closed, open;
};

static int run_gate(struct db *db, void *arg, struct err *err)
{
	struct gate *gate = arg;

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

static void close_gate(struct committer *committer, struct gate *gate)
{
	sem_init(&gate->closed, 0, 0);
	sem_init(&gate->open, 0, 0);
	gate->job = (struct commit_job){
		.run = run_gate, .done = ignore, .arg = gate};
	committer_submit(committer, &gate->job);
	while (sem_wait(&gate->closed) != 0)
		;
}

static struct committer *start(const struct temp_db *temp)
{
	struct committer *committer;

	OK(committer_new(temp->path, &committer, &why));
	return committer;
}

static struct committer *start_shared(const struct temp_db *temp)
{
	struct committer *committer;

	OK(committer_new_shared(temp->path, &committer, &why));
	return committer;
}

static int run_nothing(struct db *db, void *arg, struct err *err)
{
	(void)db;
	(void)arg;
	(void)err;
	return 0;
}

/* Nothing is written to a file that nobody finds again. */
static void test_replaced_file(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	_cleanup_free_ char *aside = temp_db_file(temp, "aside.db");
	struct err err = ERR_INIT;

	assert_int_equal(committer_run(committer, run_nothing, NULL, &err), 0);
	assert_int_equal(rename(temp->path, aside), 0);
	assert_int_equal(committer_run(committer, run_nothing, NULL, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(rename(aside, temp->path), 0);
	assert_int_equal(committer_run(committer, run_nothing, NULL, &err), 0);
	committer_free(committer);
}

/* A batch waits for the disk unless all its jobs are lazy. */
static void test_lazy_jobs(void **state)
{
	static const struct {
		bool lazy[2];
		int syncs;
	} cases[] = {
		{{false, false}, 1},
		{{true, false}, 1},
		{{false, true}, 1},
		{{true, true}, 0},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct committer *committer = start(temp);
		struct item items[2];
		struct gate gate;
		int before;

		/* The first sync of a handle is one of the folder as well. */
		OK(committer_run(committer, run_nothing, NULL, &why));
		before = count_syncs();
		close_gate(committer, &gate);
		for (int j = 0; j < 2; j++) {
			init_item(&items[j], (int64_t)i * 2 + j);
			items[j].job.lazy = cases[i].lazy[j];
			committer_submit(committer, &items[j].job);
		}
		sem_post(&gate.open);
		committer_free(committer);
		assert_int_equal(count_syncs() - before, 1 + cases[i].syncs);
		assert_true(has_item(temp->db, items[0].number));
		assert_true(has_item(temp->db, items[1].number));
	}
}

static void test_one_commit_for_all(void **state)
{
	enum { JOBS = 300 };
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item items[JOBS];
	struct gate gate;

	close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		init_item(&items[i], i);
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	OK(committer_run(
		committer, run_item, &(struct item){.number = JOBS}, &why));
	assert_int_equal(committer_stats(committer).jobs, JOBS + 2);
	assert_in_range(committer_stats(committer).commits, 2, 3);
	committer_free(committer);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, 0);
	}
	assert_int_equal(temp_db_number(temp->db, sql_items), JOBS + 1);
}

static void test_large_batches_are_cut(void **state)
{
	enum { JOBS = 1500 };
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item *items = mem_alloc(JOBS, sizeof(*items));
	struct gate gate;

	close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		init_item(&items[i], i);
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	committer_free(committer);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(items[i].told, 1);
	assert_int_equal(temp_db_number(temp->db, sql_items), JOBS);
	free(items);
}

static void test_failure_is_undone_alone(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item items[4];
	struct gate gate;

	close_gate(committer, &gate);
	for (int i = 0; i < 4; i++) {
		init_item(&items[i], i < 3 ? i : 0); /* the last: a double */
		if (i == 1)
			items[i].job.run = run_and_fail;
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	committer_free(committer);
	assert_int_equal(items[0].result, 0);
	assert_int_equal(items[1].result, -1);
	assert_int_equal(items[1].code, ERR_INVALID);
	assert_int_equal(items[2].result, 0);
	assert_int_equal(items[3].result, -1);
	assert_int_equal(items[3].code, ERR_EXISTS);
	assert_true(has_item(temp->db, 0));
	assert_true(has_item(temp->db, 2));
	assert_int_equal(temp_db_number(temp->db, sql_items), 2);
}

static int run_one(struct db *db, void *arg, struct err *err)
{
	(void)db;
	(void)arg;
	(void)err;
	return 1;
}

static int limit_pages(struct db *db, void *arg, struct err *err)
{
	static const char sql_limit[] = "PRAGMA max_page_count=60";
	struct db_stmt *stmt;

	(void)arg;
	if (db_prepare(db, sql_limit, &stmt, err) != 0 || db_step(stmt, err) != 1)
		return -1;
	db_reset(stmt);
	return 0;
}

/* The engine is full in the middle of a batch. What was told is what is there,
 * and afterwards it goes on. */
static void test_full(void **state)
{
	enum { JOBS = 5, LARGE = 2 };
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item items[JOBS], after;
	struct gate gate;

	OK(committer_run(committer, limit_pages, NULL, &why));
	close_gate(committer, &gate);
	for (int i = 0; i < JOBS; i++) {
		init_item(&items[i], i);
		items[i].bytes = i == LARGE ? 1 << 20 : 10;
		committer_submit(committer, &items[i].job);
	}
	sem_post(&gate.open);
	/* In the batch, or in the next one; the one after that is free. */
	committer_run(committer, run_one, NULL, NULL);
	init_item(&after, JOBS);
	OK(committer_run(committer, run_item, &after, &why));
	committer_free(committer);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, has_item(temp->db, i) ? 0 : -1);
	}
	assert_int_equal(items[LARGE].result, -1);
	assert_int_equal(items[LARGE].code, ERR_TEMPORARY);
	OK(db_check(temp->db, &why));
}

/* The engine gives up the whole transaction, as it does on i/o errors. */
static int run_and_lose(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	db_rollback(db);
	return err_set(err, ERR_TEMPORARY, "gone");
}

static int run_and_lose_silently(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	db_rollback(db);
	return 0;
}

static void test_lost_transaction(void **state)
{
	static const struct {
		int (*run)(struct db *db, void *arg, struct err *err);
		int first; /* of the items; each case has its own */
	} cases[] = {
		{run_and_lose, 10},
		{run_and_lose_silently, 20},
	};
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		struct item items[3], after;
		struct gate gate;

		close_gate(committer, &gate);
		for (int i = 0; i < 3; i++) {
			init_item(&items[i], cases[c].first + i);
			if (i == 1)
				items[i].job.run = cases[c].run;
			committer_submit(committer, &items[i].job);
		}
		sem_post(&gate.open);
		init_item(&after, cases[c].first + 3);
		/* In the batch, or in the next one. */
		committer_run(committer, run_item, &after, NULL);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(items[i].told, 1);
			assert_int_equal(items[i].result, -1);
			assert_int_equal(items[i].code, ERR_TEMPORARY);
			assert_false(has_item(temp->db, cases[c].first + i));
		}
	}
	committer_free(committer);
}

static int defer_orphan(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	return db_exec(db,
		"PRAGMA defer_foreign_keys=ON;"
		"INSERT INTO email_content (seq, html, text)"
		" VALUES (7, '', '')",
		err);
}

static void test_commit_fails(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item good, bad, denied;
	struct gate gate;

	close_gate(committer, &gate);
	init_item(&good, 1);
	init_item(&bad, 2);
	init_item(&denied, 3);
	bad.job.run = defer_orphan;
	denied.job.run = run_and_fail;
	committer_submit(committer, &good.job);
	committer_submit(committer, &bad.job);
	committer_submit(committer, &denied.job);
	sem_post(&gate.open);
	committer_free(committer);
	assert_int_equal(good.result, -1);
	assert_int_equal(bad.result, -1);
	assert_int_equal(denied.result, -1);
	/* No verdict on what another has undone. */
	assert_int_equal(denied.code, good.code);
	assert_int_equal(temp_db_number(temp->db, sql_items), 0);
}

static int no_waiting(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	db_set_wait(db, 0);
	return 0;
}

static void test_begin_fails(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = start(temp);
	struct item item;
	struct err err = ERR_INIT;

	init_item(&item, 1);
	OK(committer_run(committer, no_waiting, NULL, &why));
	OK(db_begin(temp->db, &why));
	assert_int_equal(committer_run(committer, run_item, &item, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	db_rollback(temp->db);
	OK(committer_run(committer, run_item, &item, &why));
	committer_free(committer);
	assert_int_equal(temp_db_number(temp->db, sql_items), 1);
}

static void test_results(void **state)
{
	struct temp_db *temp = *state;
	struct committer *kinds[] = {start(temp), start_shared(temp),
		committer_new_inline(temp->db)};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct item item = {.number = (int64_t)i};
		struct err err = ERR_INIT;

		assert_int_equal(committer_run(kinds[i], run_one, NULL, &err), 1);
		assert_int_equal(
			committer_run(kinds[i], run_item, &item, &err), 0);
		assert_int_equal(err.code, ERR_NONE);
		assert_int_equal(
			committer_run(kinds[i], run_item, &item, &err), -1);
		assert_int_equal(err.code, ERR_EXISTS);
		assert_int_equal(
			committer_run(kinds[i], run_item, &item, NULL), -1);
		assert_int_equal(committer_stats(kinds[i]).jobs, 4);
		assert_int_equal(committer_stats(kinds[i]).commits, 4);
		committer_free(kinds[i]);
		assert_false(db_in_transaction(temp->db));
		assert_true(has_item(temp->db, (int64_t)i));
	}
}

/* A chain: each done() submits the next. */
struct chain {
	struct item item;
	struct committer *committer;
	int left;
	sem_t *end;
};

static void go_on(void *arg, int result, const struct err *err)
{
	struct chain *chain = arg;

	note_item(&chain->item, result, err);
	if (--chain->left == 0) {
		sem_post(chain->end);
		return;
	}
	chain->item.number++;
	committer_submit(chain->committer, &chain->item.job);
}

static void test_submit_from_done(void **state)
{
	struct temp_db *temp = *state;
	struct committer *kinds[] = {start(temp), committer_new_inline(temp->db)};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct chain chain = {.committer = kinds[i], .left = 20};
		sem_t end;

		sem_init(&end, 0, 0);
		chain.end = &end;
		init_item(&chain.item, (int64_t)i * 1000);
		chain.item.job.done = go_on;
		chain.item.job.arg = &chain;
		chain.item.job.run = run_item;
		committer_submit(kinds[i], &chain.item.job);
		while (sem_wait(&end) != 0)
			;
		committer_free(kinds[i]);
		assert_int_equal(chain.item.told, 20);
		assert_int_equal(chain.item.result, 0);
	}
	assert_int_equal(temp_db_number(temp->db, sql_items), 40);
}

enum { THREADS = 6, JOBS_OF_EACH = 150 };

struct submitter {
	struct committer *committer;
	int number;
	int failures;
};

static void *submit_many(void *arg)
{
	struct submitter *submitter = arg;
	struct item *items = mem_alloc(JOBS_OF_EACH, sizeof(*items));

	for (int i = 0; i < JOBS_OF_EACH; i++) {
		init_item(&items[i], submitter->number * 10000 + i);
		if (committer_run(submitter->committer, run_item, &items[i],
			    NULL) != 0)
			submitter->failures++;
	}
	free(items);
	return NULL;
}

/* The first commits, and does not get on until it may; the others come
 * meanwhile. */
struct sharer {
	struct committer *committer;
	pthread_t thread;
	int number;
	sem_t open;
	atomic_bool running;
	int result;
};

static int run_when_open(struct db *db, void *arg, struct err *err)
{
	struct sharer *sharer = arg;

	sharer->running = true;
	while (sharer->number == 0 && sem_wait(&sharer->open) != 0)
		;
	return insert_item(db, sharer->number, NULL, err);
}

static void *share(void *arg)
{
	struct sharer *sharer = arg;

	sharer->result = committer_run(
		sharer->committer, run_when_open, sharer, NULL);
	return NULL;
}

/* Returns when the thread's job is in the committer's hands. */
static void start_sharer(
	struct sharer *sharer, struct committer *committer, int number)
{
	*sharer = (struct sharer){.committer = committer, .number = number};
	sem_init(&sharer->open, 0, 0);
	assert_int_equal(pthread_create(&sharer->thread, NULL, share, sharer), 0);
	while (number == 0 ? !sharer->running
			   : committer_stats(committer).waiting < (size_t)number)
		sched_yield();
}

static void run_many_threads(struct temp_db *temp, struct committer *committer)
{
	struct submitter submitters[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		submitters[i] = (struct submitter){committer, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many,
					 &submitters[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(submitters[i].failures, 0);
	}
	assert_int_equal(committer_stats(committer).jobs, THREADS * JOBS_OF_EACH);
	committer_free(committer);
	assert_int_equal(
		temp_db_number(temp->db, sql_items), THREADS * JOBS_OF_EACH);
}

static void test_many_threads(void **state)
{
	run_many_threads(*state, start(*state));
}

static void test_many_threads_share(void **state)
{
	run_many_threads(*state, start_shared(*state));
}

/* Who waits while another commits is in the next commit, with all the others. */
static void test_shared_batches(void **state)
{
	struct temp_db *temp = *state;
	struct committer *committer = start_shared(temp);
	struct sharer sharers[THREADS];

	for (int i = 0; i < THREADS; i++)
		start_sharer(&sharers[i], committer, i);
	sem_post(&sharers[0].open);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(sharers[i].thread, NULL);
		assert_int_equal(sharers[i].result, 0);
		sem_destroy(&sharers[i].open);
	}
	assert_int_equal(committer_stats(committer).jobs, THREADS);
	assert_int_equal(committer_stats(committer).commits, 2);
	committer_free(committer);
	assert_int_equal(temp_db_number(temp->db, sql_items), THREADS);
}

static void test_no_database(void **state)
{
	static const char path[] = "/nonexistent/postern.db";
	struct committer *committer = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(committer_new(path, &committer, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_int_equal(committer_new_shared(path, &committer, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_null(committer);
	committer_free(NULL);
}

/* A process that is killed while it commits. */
struct victim {
	struct item item;
	int pipe;
};

static void tell_parent(void *arg, int result, const struct err *err)
{
	struct victim *victim = arg;

	(void)err;
	if (result == 0 && write(victim->pipe, &victim->item.number,
				   sizeof(victim->item.number)) < 0)
		_exit(1);
	free(victim);
}

static void commit_for_ever(const char *path, int to, int64_t first)
{
	struct committer *committer;

	if (committer_new(path, &committer, NULL) != 0)
		_exit(1);
	for (int64_t number = first;; number++) {
		struct victim *victim = mem_new(struct victim);

		init_item(&victim->item, number);
		victim->item.bytes = 3000;
		victim->item.job.done = tell_parent;
		victim->item.job.arg = victim;
		victim->pipe = to;
		committer_submit(committer, &victim->item.job);
		if (number % 16 == 0)
			committer_run(committer, run_one, NULL, NULL);
	}
}

/* Reads what was told, kills after some, and reads the rest. */
static size_t kill_after(pid_t child, int from, size_t some, int64_t *told)
{
	size_t n = 0;

	while (read(from, &told[n], sizeof(*told)) == sizeof(*told))
		if (++n == some)
			kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return n;
}

static void test_killed(void **state)
{
	enum { ROUNDS = 5, MOST = 100000 };
	struct temp_db *temp = *state;
	int64_t *told = mem_alloc(MOST, sizeof(*told));

	db_close(TAKE_PTR(temp->db));
	for (int round = 0; round < ROUNDS; round++) {
		int ends[2];
		pid_t child;
		size_t n;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			close(ends[0]);
			commit_for_ever(
				temp->path, ends[1], (int64_t)round * 1000000);
		}
		close(ends[1]);
		n = kill_after(child, ends[0], 200 + (size_t)round * 37, told);
		close(ends[0]);
		assert_true(n >= 200);

		OK(db_open(temp->path, DB_WRITE, &temp->db, &why));
		for (size_t i = 0; i < n; i++)
			assert_true(has_item(temp->db, told[i]));
		OK(db_check(temp->db, &why));
		db_close(TAKE_PTR(temp->db));
	}
	free(told);
}

/* A small file system of its own, which only this process sees. */
static void mount_small(const char *folder, const char *size)
{
	if (unshare(CLONE_NEWNS) != 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", folder, "tmpfs", 0, size) != 0)
		_exit(77);
}

/* A real full disk. */
static int fill_disk(void *arg)
{
	const char *folder = arg;
	struct temp_db temp = {.folder = (char *)folder};
	_cleanup_free_ char *path = temp_db_file(&temp, "full.db");
	struct item items[40];
	struct committer *committer;
	int failures = 0;

	mount_small(folder, "size=1m");
	OK(db_open(path, DB_CREATE, &temp.db, &why));
	OK(db_exec(temp.db,
		"CREATE TABLE item (number INTEGER PRIMARY KEY, data TEXT)",
		&why));
	OK(committer_new(path, &committer, &why));
	for (int i = 0; i < 40; i++) {
		init_item(&items[i], i);
		items[i].bytes = 50000;
		committer_submit(committer, &items[i].job);
		if (i % 3 == 0)
			committer_run(committer, run_one, NULL, NULL);
	}
	committer_free(committer);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, has_item(temp.db, i) ? 0 : -1);
		if (items[i].result != 0)
			assert_int_equal(items[i].code, ERR_TEMPORARY);
		failures += items[i].result != 0;
	}
	OK(db_check(temp.db, &why));
	db_close(temp.db);
	return failures > 0 && failures < 40 ? 0 : 1;
}

/* Writes the one row anew, all of its 600 KB. */
static int rewrite(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	return db_exec(db,
		"INSERT OR REPLACE INTO item VALUES (1, zeroblob(600000))", err);
}

/* How many of some writes failed. */
static int write_often(struct committer *committer, int n)
{
	int failures = 0;

	while (n-- > 0)
		if (committer_run(committer, rewrite, NULL, NULL) < 0)
			failures++;
	return failures;
}

/* What fills the disk is the log, in which the same pages stand again and again
 * because of a reader. When that has gone there is space: the next failure is
 * the last. */
static int fill_disk_with_log(void *arg)
{
	const char *folder = arg;
	struct temp_db temp = {.folder = (char *)folder};
	_cleanup_free_ char *path = temp_db_file(&temp, "full.db");
	struct committer *committer;

	mount_small(folder, "size=4m");
	OK(db_open(path, DB_CREATE, &temp.db, &why));
	OK(db_exec(temp.db,
		"CREATE TABLE item (number INTEGER PRIMARY KEY, data BLOB)",
		&why));
	OK(committer_new(path, &committer, &why));
	assert_int_equal(write_often(committer, 20), 0);
	OK(db_exec(temp.db, "BEGIN; SELECT count(*) FROM item", &why));
	assert_true(write_often(committer, 20) > 0);
	OK(db_exec(temp.db, "COMMIT", &why));
	assert_in_range(write_often(committer, 20), 0, 1);
	committer_free(committer);
	OK(db_check(temp.db, &why));
	db_close(temp.db);
	return 0;
}

/* In a process of its own, with a disk of its own. */
static void run_on_small_disk(void **state, int (*run)(void *arg))
{
	struct temp_db *temp = *state;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run(temp->folder));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* only root may mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_disk_full(void **state)
{
	run_on_small_disk(state, fill_disk);
}

static void test_disk_full_of_log(void **state)
{
	run_on_small_disk(state, fill_disk_with_log);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_commit_for_all),
		TEST(lazy_jobs),
		TEST(replaced_file),
		TEST(large_batches_are_cut),
		TEST(failure_is_undone_alone),
		TEST(full),
		TEST(lost_transaction),
		TEST(commit_fails),
		TEST(begin_fails),
		TEST(results),
		TEST(submit_from_done),
		TEST(many_threads),
		TEST(many_threads_share),
		TEST(shared_batches),
		TEST(no_database),
		TEST(killed),
		TEST(disk_full),
		TEST(disk_full_of_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
