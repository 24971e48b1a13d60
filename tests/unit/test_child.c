/* child: programs are fed, reaped, timed out and described. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/child.h"

static struct {
	struct event_base *base;
	int done;
	int status;
	char errors[1024];
} seen;

static int set_up(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	seen.base = event_base_new();
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	event_base_free(seen.base);
	return 0;
}

static void on_done(void *arg, int status, const char *errors)
{
	(void)arg;
	seen.done++;
	seen.status = status;
	snprintf(seen.errors, sizeof(seen.errors), "%s", errors);
}

/* Runs a shell script to its end. */
static void run(
	const char *script, const char *input, size_t len, int64_t timeout_ms)
{
	char shell[] = "/bin/sh", option[] = "-c";
	_cleanup_free_ char *text = mem_strdup(script);
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	char *argv[] = {shell, option, text, NULL};
	struct child_spec spec = {
		.argv = argv,
		.input = &bytes,
		.timeout_ms = timeout_ms,
		.done = on_done,
	};
	struct child *child;
	struct err err = ERR_INIT;

	buf_add(&bytes, input, len);
	assert_int_equal(child_start(seen.base, &spec, &child, &err), 0);
	event_base_dispatch(seen.base);
	assert_int_equal(seen.done, 1);
}

static void test_exit_status_and_errors(void **state)
{
	(void)state;
	run("cat >/dev/null; echo first >&2; echo second >&2; exit 75", "x", 1,
		10000);
	assert_true(WIFEXITED(seen.status));
	assert_int_equal(WEXITSTATUS(seen.status), 75);
	assert_string_equal(seen.errors, "first\nsecond\n");
}

static void test_large_input_arrives_whole(void **state)
{
	_cleanup_buf_ struct buf input = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		buf_add_char(&input, (char)i);
	run("test $(wc -c) = 1000000", input.data, input.len, 10000);
	assert_int_equal(WEXITSTATUS(seen.status), 0);
}

static void test_child_that_does_not_read(void **state)
{
	_cleanup_buf_ struct buf input = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		buf_add_char(&input, 'a');
	run("exec <&-; exit 3", input.data, input.len, 10000);
	assert_int_equal(WEXITSTATUS(seen.status), 3);
}

/* Starts a program that counts its input once we are gone, and reaped. */
static void start_and_die(const char *path)
{
	char shell[] = "/bin/sh", option[] = "-c";
	_cleanup_free_ char *script = mem_printf(
		"while kill -0 %d 2>/dev/null; do sleep 0.01; done; "
		"wc -c >%s.new; mv %s.new %s",
		getpid(), path, path, path);
	char *argv[] = {shell, option, script, NULL};
	struct buf input = BUF_INIT;
	struct child_spec spec = {.argv = argv,
		.input = &input,
		.timeout_ms = 60000,
		.done = on_done};
	struct child *child = NULL;

	for (int i = 0; i < 1000000; i++)
		buf_add_char(&input, 'a');
	_exit(child_start(event_base_new(), &spec, &child, NULL) < 0);
}

static void test_input_outlives_us(void **state)
{
	char folder[] = "/tmp/postern-unit.XXXXXX";
	_cleanup_free_ char *path = NULL;
	int status;
	unsigned long count = 0;
	FILE *file = NULL;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = mem_printf("%s/count", folder);
	pid = fork();
	if (pid == 0)
		start_and_die(path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 6000 && file == NULL; i++) {
		usleep(10000);
		file = fopen(path, "r");
	}
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &count), 1);
	assert_int_equal(count, 1000000);
	fclose(file);
	unlink(path);
	rmdir(folder);
}

static void test_timeout_kills(void **state)
{
	(void)state;
	run("exec sleep 60", "x", 1, 50);
	assert_true(WIFSIGNALED(seen.status));
	assert_int_equal(WTERMSIG(seen.status), SIGKILL);
}

/* Nobody may reap it, so one that has ended may still be there. */
static bool is_running(pid_t pid)
{
	_cleanup_free_ char *path = mem_printf("/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");
	char state = 'Z';

	if (file == NULL)
		return false;
	assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
	fclose(file);
	return state != 'Z';
}

/* The number in a file; 0 when there is none. */
static pid_t read_pid(const char *path)
{
	FILE *file = fopen(path, "r");
	pid_t pid = 0;

	assert_non_null(file);
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

/* What the child has started ends with it. It is given as long as it needs to
 * start something. */
static void test_timeout_kills_its_children(void **state)
{
	char path[] = "/tmp/test_child.XXXXXX";
	_cleanup_free_ char *script = NULL;
	pid_t pid = 0;

	(void)state;
	close(mkstemp(path));
	script = mem_printf("sleep 600 & echo $! >%s; wait", path);
	for (int64_t ms = 100; pid == 0 && ms < 60000; ms *= 2) {
		run(script, "x", 1, ms);
		pid = read_pid(path);
	}
	unlink(path);
	assert_true(pid > 0);
	for (int i = 0; i < 6000 && is_running(pid); i++)
		usleep(10000);
	assert_false(is_running(pid));
}

/* Nothing of ours is open in the child, and its signals are the default, but
 * for two that glibc keeps for itself (32 and 33). */
static void test_nothing_inherited(void **state)
{
	(void)state;
	signal(SIGTERM, SIG_IGN);
	run("for fd in /proc/$$/fd/*; do "
	    "test ! -e $fd || test ${fd##*/} -le 2 || exit 9; done; "
	    "grep -q 'SigIgn:.*[08]0000000$' /proc/self/status",
		"x", 1, 10000);
	signal(SIGTERM, SIG_DFL);
	assert_int_equal(WEXITSTATUS(seen.status), 0);
}

/* As when the parent of the daemon ignores SIGCHLD: the system reaps. */
static void test_lost_child_is_no_success(void **state)
{
	(void)state;
	signal(SIGCHLD, SIG_IGN);
	run("sleep 0.2; exit 0", "x", 1, 10000);
	signal(SIGCHLD, SIG_DFL);
	assert_true(WIFSIGNALED(seen.status));
}

static void test_missing_program(void **state)
{
	char path[] = "/nowhere/program";
	char *argv[] = {path, NULL};
	struct buf input = BUF_INIT;
	struct child_spec spec = {.argv = argv, .input = &input, .done = on_done};
	struct child *child = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(child_start(seen.base, &spec, &child, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(seen.done, 0);
}

static void test_kill(void **state)
{
	char path[] = "/bin/sleep", seconds[] = "60";
	char *argv[] = {path, seconds, NULL};
	struct buf input = BUF_INIT;
	struct child_spec spec = {.argv = argv,
		.input = &input,
		.timeout_ms = 60000,
		.done = on_done};
	struct child *child = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(child_start(seen.base, &spec, &child, &err), 0);
	child_kill(child);
	event_base_dispatch(seen.base);
	assert_int_equal(seen.done, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_true(str_eq(argv[0], "/bin/sleep"));
}

/* Takes the place of libc's. */
static bool no_pidfd;

int pidfd_open(pid_t pid, unsigned flags)
{
	errno = ENOMEM;
	return no_pidfd ? -1 : (int)syscall(SYS_pidfd_open, pid, flags);
}

/* It has run, for whatever time. */
static void test_started_but_lost(void **state)
{
	char path[] = "/bin/sleep", seconds[] = "60";
	char *argv[] = {path, seconds, NULL};
	struct buf input = BUF_INIT;
	struct child_spec spec = {.argv = argv, .input = &input, .done = on_done};
	struct child *child = NULL;
	struct err err = ERR_INIT;

	(void)state;
	no_pidfd = true;
	assert_int_equal(child_start(seen.base, &spec, &child, &err), 1);
	no_pidfd = false;
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	event_base_dispatch(seen.base);
	assert_int_equal(seen.done, 0);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_exit_status_and_errors),
		test(test_large_input_arrives_whole),
		test(test_child_that_does_not_read),
		test(test_input_outlives_us),
		test(test_timeout_kills),
		test(test_timeout_kills_its_children),
		test(test_nothing_inherited),
		test(test_lost_child_is_no_success),
		test(test_missing_program),
		test(test_kill),
		test(test_started_but_lost),
	};
	int failed = cmocka_run_group_tests_name("child", tests, NULL, NULL);

	libevent_global_shutdown();
	return failed;
}
