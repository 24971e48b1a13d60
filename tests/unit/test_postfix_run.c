/* postfix_run: what makes another run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/postfix/postfix_run.h"
#include "tests/unit/fake_master.h"

static void test_unknown_queue(void **state)
{
	struct postfix_run *run = postfix_run_new();
	char name[POSTFIX_RUN_SIZE];

	(void)state;
	postfix_run_name(run, name);
	assert_string_equal(name, "");
	postfix_run_watch(run, "/nonexistent");
	postfix_run_name(run, name);
	assert_string_equal(name, "");
	postfix_run_free(run);
}

static void assert_name(const char *queue, const char *expected)
{
	struct postfix_run *run = postfix_run_new();
	char name[POSTFIX_RUN_SIZE];

	postfix_run_watch(run, queue);
	for (int i = 0; i < 2; i++) { /* found, then known */
		postfix_run_name(run, name);
		assert_string_equal(name, expected);
	}
	postfix_run_free(run);
}

/* The file stays when master dies: only a living one is a run. */
static void test_life(void **state)
{
	struct fake_master *master = fake_master_new();
	struct postfix_run *run = postfix_run_new();
	char name[POSTFIX_RUN_SIZE], again[POSTFIX_RUN_SIZE];

	(void)state;
	postfix_run_watch(run, master->queue);
	postfix_run_name(run, name);
	assert_string_equal(name, "");
	fake_master_start(master);
	postfix_run_name(run, name);
	assert_string_not_equal(name, "");
	assert_name(master->queue, name);
	prctl(PR_SET_NAME, "other"); /* the lock alone does not do */
	postfix_run_name(run, again);
	assert_string_equal(again, "");
	fake_master_stop(master);
	assert_name(master->queue, "");
	fake_master_start(master);
	assert_name(master->queue, name);
	fake_master_stop(master);
	postfix_run_free(run);
	fake_master_free(master);
}

/* A process that has the lock until it is killed. */
static pid_t start_other(struct fake_master *master)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		fake_master_start(master);
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void stop_other(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_each_is_another(void **state)
{
	struct fake_master *master = fake_master_new();
	struct postfix_run *run = postfix_run_new();
	char names[2][POSTFIX_RUN_SIZE], none[POSTFIX_RUN_SIZE];

	(void)state;
	postfix_run_watch(run, master->queue);
	for (int i = 0; i < 2; i++) {
		pid_t pid = start_other(master);

		postfix_run_name(run, names[i]);
		assert_string_not_equal(names[i], "");
		stop_other(pid);
		postfix_run_name(run, none);
		assert_string_equal(none, "");
	}
	assert_string_not_equal(names[0], names[1]);
	postfix_run_free(run);
	fake_master_free(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_queue),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_each_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
