/* child: programs are spoken with, heard and ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/child.h"

/* A shell script that runs. */
struct running {
	struct child *child;
	int fd;
};

static struct running start(const char *script)
{
	char shell[] = "/bin/sh", option[] = "-c";
	_cleanup_free_ char *text = mem_strdup(script);
	char *argv[] = {shell, option, text, NULL};
	struct running running = {.fd = -1};
	struct err err = ERR_INIT;

	assert_int_equal(child_start(argv, &running.fd, &running.child, &err), 0);
	return running;
}

static void end(struct running *running)
{
	close(running->fd);
	child_end(running->child);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* All that it writes until it closes its output, or to the end of a line. */
static void hear(const struct running *running, char *text, size_t size)
{
	struct pollfd fd = {.fd = running->fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n;

	do {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		n = read(running->fd, text + len, size - 1 - len);
		assert_true(n >= 0);
		len += (size_t)n;
	} while (n > 0 && text[len - 1] != '\n');
	text[len] = '\0';
}

static void test_input_and_output(void **state)
{
	struct running running = start("read line; echo heard $line; read line");
	char text[100];

	(void)state;
	assert_int_equal(write(running.fd, "this\n", 5), 5);
	hear(&running, text, sizeof(text));
	assert_string_equal(text, "heard this\n");
	assert_int_equal(read(running.fd, text, 1), -1); /* does not block */
	end(&running);
}

static void test_errors(void **state)
{
	struct running running = start(
		"echo one >&2; echo two >&2; echo; read x; echo \"  three\1\" >&2");
	char text[100];
	char *said;

	(void)state;
	hear(&running, text, sizeof(text));
	said = child_said(running.child);
	assert_string_equal(said, "one two");
	free(said);
	assert_null(child_said(running.child));
	assert_int_equal(write(running.fd, "\n", 1), 1);
	hear(&running, text, sizeof(text));
	said = child_said(running.child);
	assert_string_equal(said, "three");
	free(said);
	end(&running);
}

/* A pipe would be full by then. Of much, the end is told. */
static void test_many_errors(void **state)
{
	struct running running = start(
		"i=0; while [ $i -lt 20000 ]; do echo complaint $i; i=$((i+1)); done >&2");
	char text[100];
	char *said;

	(void)state;
	hear(&running, text, sizeof(text));
	said = child_said(running.child);
	assert_true(strlen(said) < 1000);
	assert_non_null(strstr(said, "complaint 19998 complaint 19999"));
	free(said);
	end(&running);
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

/* With what it has started: sendmail(1) has postdrop(1) do the work. */
static void test_end_kills_all(void **state)
{
	struct running running = start("sleep 600 & echo $!; wait");
	char text[100];
	pid_t pid;

	(void)state;
	hear(&running, text, sizeof(text));
	pid = atoi(text);
	assert_true(pid > 1 && is_running(pid));
	end(&running);
	for (int i = 0; i < 6000 && is_running(pid); i++)
		usleep(10000);
	assert_false(is_running(pid));
}

/* Nothing of ours is open in the child, and its signals are the default, but
 * for two that glibc keeps for itself (32 and 33). */
static void test_nothing_inherited(void **state)
{
	struct running running;
	char text[100];

	(void)state;
	signal(SIGTERM, SIG_IGN);
	running = start(
		"for fd in /proc/$$/fd/*; do test ! -e $fd || test ${fd##*/} -le 2 || exit 9; "
		"done; grep -q 'SigIgn:.*[08]0000000$' /proc/self/status && echo well");
	signal(SIGTERM, SIG_DFL);
	hear(&running, text, sizeof(text));
	assert_string_equal(text, "well\n");
	end(&running);
}

static void test_missing_program(void **state)
{
	char path[] = "/nowhere/program";
	char *argv[] = {path, NULL};
	struct child *child = NULL;
	struct err err = ERR_INIT;
	int fd = -1;

	(void)state;
	assert_int_equal(child_start(argv, &fd, &child, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(fd, -1);
	child_end(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_and_output),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_many_errors),
		cmocka_unit_test(test_end_kills_all),
		cmocka_unit_test(test_nothing_inherited),
		cmocka_unit_test(test_missing_program),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
