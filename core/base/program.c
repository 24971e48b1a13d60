/*
 * program: runs another program and collects what it prints.
 *
 * Its output is read through a pipe to the end; a program that closes it but
 * goes on running is waited for only as long as any other.
 *
 * Threads: any; holds no state.
 */
#include "core/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { READ_BYTES = 4096 };

struct run {
	const char *name;
	pid_t pid;
	int output;
	int64_t deadline_us;
};

/* Standard output goes to the pipe, the rest is as ours. */
static int start(char *const *argv, struct run *run, struct err *err)
{
	posix_spawn_file_actions_t files;
	int fds[2], failed;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, ERR_TEMPORARY, "cannot run %s: %s", argv[0],
			strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO);
	failed = posix_spawnp(&run->pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	if (failed) {
		close(fds[0]);
		return err_set(err, ERR_CONFIG, "cannot run %s: %s", argv[0],
			strerror(failed));
	}
	run->output = fds[0];
	return 0;
}

/* Until fd can be read. */
static int await(const struct run *run, int fd, struct err *err)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	int ready;

	do {
		int64_t left_us = run->deadline_us - clock_monotonic_us();

		ready = poll(&wanted, 1,
			left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready > 0)
		return 0;
	return err_set(err, ERR_TEMPORARY, "%s takes too long", run->name);
}

static int read_output(const struct run *run, struct buf *output, struct err *err)
{
	ssize_t n;

	do {
		if (await(run, run->output, err) < 0)
			return -1;
		n = read(run->output, buf_reserve(output, READ_BYTES),
			READ_BYTES);
		if (n > 0)
			buf_wrote(output, (size_t)n);
		if (output->len > PROGRAM_OUTPUT_MAX)
			return err_set(err, ERR_TOO_LARGE,
				"%s prints more than %d bytes", run->name,
				PROGRAM_OUTPUT_MAX);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return 0;
}

static int await_end(const struct run *run, struct err *err)
{
	int fd = pidfd_open(run->pid, 0), result;

	if (fd < 0)
		return err_set(err, ERR_TEMPORARY, "cannot wait for %s: %s",
			run->name, strerror(errno));
	result = await(run, fd, err);
	close(fd);
	return result;
}

static int finish(const struct run *run, int result, struct err *err)
{
	int status = 0;

	close(run->output);
	if (result < 0)
		kill(run->pid, SIGKILL);
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (result == 0 && status != 0)
		return err_set(err, ERR_CONFIG, "%s failed (%s %d)", run->name,
			WIFEXITED(status) ? "exit status" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status)
					  : WTERMSIG(status));
	return result;
}

int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r,
	struct err *err)
{
	struct run run = {
		.name = argv[0],
		.deadline_us = clock_monotonic_us() + timeout_ms * 1000,
	};
	int result;

	if (start(argv, &run, err) < 0)
		return -1;
	result = read_output(&run, output_r, err);
	if (result == 0)
		result = await_end(&run, err);
	return finish(&run, result, err);
}
