/*
 * committer: whoever is told of success is on disk, though the process is
 * killed or the disk is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/commit_rig.h"

/* A process that is killed while it commits. */
struct victim {
	struct commit_item item;
	int pipe;
};

static void tell_parent(void *arg, int result, const struct err *err)
{
	struct victim *victim = arg;

	(void)err;
	if (result == 0 &&
		write(victim->pipe, &victim->item.number, sizeof(victim->item.number)) < 0)
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

		commit_rig_item(&victim->item, number);
		victim->item.bytes = 3000;
		victim->item.job.done = tell_parent;
		victim->item.job.arg = victim;
		victim->pipe = to;
		committer_submit(committer, &victim->item.job);
		if (number % 16 == 0)
			committer_run(committer, commit_rig_run_one, NULL, NULL);
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
			commit_for_ever(temp->name, ends[1], (int64_t)round * 1000000);
		}
		close(ends[1]);
		n = kill_after(child, ends[0], 200 + (size_t)round * 37, told);
		close(ends[0]);
		assert_true(n >= 200);

		OK(db_open(temp->name, DB_WRITE, &temp->db, &why));
		for (size_t i = 0; i < n; i++)
			assert_true(commit_rig_has(temp->db, told[i]));
		OK(db_check(temp->db, &why));
		db_close(TAKE_PTR(temp->db));
	}
	free(told);
}

/* A small file system of its own, which only this process sees. */
static void mount_small(const char *folder, const char *size)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", folder, "tmpfs", 0, size) != 0)
		_exit(77);
}

/* A real full disk. */
static int fill_disk(void *arg)
{
	const char *folder = arg;
	struct temp_db temp = {.folder = (char *)folder};
	_cleanup_free_ char *path = temp_db_file(&temp, "full.db");
	struct commit_item items[40];
	struct committer *committer;
	int failures = 0;

	mount_small(folder, "size=1m");
	OK(db_open(path, DB_CREATE, &temp.db, &why));
	OK(db_exec(temp.db, "CREATE TABLE item (number INTEGER PRIMARY KEY, data TEXT)", &why));
	OK(committer_new(path, &committer, &why));
	for (int i = 0; i < 40; i++) {
		commit_rig_item(&items[i], i);
		items[i].bytes = 50000;
		committer_submit(committer, &items[i].job);
		if (i % 3 == 0)
			committer_run(committer, commit_rig_run_one, NULL, NULL);
	}
	committer_free(committer);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(items[i].told, 1);
		assert_int_equal(items[i].result, commit_rig_has(temp.db, i) ? 0 : -1);
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
	return db_exec(db, "INSERT OR REPLACE INTO item VALUES (1, zeroblob(600000))", err);
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
	OK(db_exec(temp.db, "CREATE TABLE item (number INTEGER PRIMARY KEY, data BLOB)", &why));
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
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, commit_rig_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(killed),
		TEST(disk_full),
		TEST(disk_full_of_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
