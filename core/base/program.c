/*
 * program: runs another program and collects its output if wanted.
 *
 * Standard error goes to a file in memory, so that nobody has to read it while the program
 * runs.
 */
#include "core/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum { READ_BYTES = 4096, LINE_BYTES = 4096 };

static int cannot_run(const char *name, int number, struct err *err)
{
	bool temporary = number == EAGAIN || number == ENOMEM || number == EMFILE ||
			 number == ENFILE;

	return err_set(err, temporary ? ERR_TEMPORARY : ERR_CONFIG, "cannot run %s: %s", name,
		strerror(number));
}

int program_start(char *const *argv, const int files[static 3], pid_t *pid_r, struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all;
	int failed;

	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (files[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, files[i], i);
		else
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
	failed = posix_spawnp(pid_r, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed ? cannot_run(argv[0], failed, err) : 0;
}

/* Returns the timeout for poll(). */
static int left_ms(int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_monotonic_us();

	return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

/* Reads until the program closes its output. */
static int read_output(
	int fd, const char *name, int64_t deadline_us, struct buf *output, struct err *err)
{
	struct pollfd stream = {.fd = fd, .events = POLLIN};

	for (;;) {
		char piece[READ_BYTES];
		ssize_t n;

		if (poll(&stream, 1, left_ms(deadline_us)) == 0)
			return err_set(err, ERR_TEMPORARY, "%s takes too long", name);
		n = read(fd, piece, sizeof(piece));
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return 0;
		if (n > 0)
			buf_add(output, piece, (size_t)n);
		if (output->len > PROGRAM_OUTPUT_MAX)
			return err_set(err, ERR_TOO_LARGE, "%s prints more than %d bytes", name,
				PROGRAM_OUTPUT_MAX);
	}
}

static int judge(const char *name, int status, int complaints, bool silent, struct err *err)
{
	_cleanup_free_ char *why = program_last_line(complaints);
	bool exited = WIFEXITED(status);

	if (status == 0)
		return 0;
	if (exited && WEXITSTATUS(status) == 1 && !*why && silent)
		return err_set(err, ERR_NOT_FOUND, "%s found nothing", name);
	return err_set(err, ERR_CONFIG, "%s failed (%s %d)%s%s", name,
		exited ? "exit status" : "signal", exited ? WEXITSTATUS(status) : WTERMSIG(status),
		*why ? ": " : "", why);
}

int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r, struct err *err)
{
	int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	int complaints = program_complaints(err);
	int fds[2], status, result = -1;
	pid_t pid;

	if (complaints < 0)
		return -1;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		close(complaints);
		return cannot_run(argv[0], errno, err);
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	result = program_start(argv, (int[]){-1, fds[1], complaints}, &pid, err);
	close(fds[1]);
	if (result == 0) {
		result = read_output(fds[0], argv[0], deadline_us, output_r, err);
		if (result < 0)
			kill(pid, SIGKILL);
		if (program_end(pid, argv[0], left_ms(deadline_us), &status,
			    result < 0 ? NULL : err) < 0)
			result = -1;
		else if (result == 0)
			result = judge(argv[0], status, complaints, output_r->len == 0, err);
	}
	close(fds[0]);
	close(complaints);
	return result;
}

int program_file(const char *name, struct err *err)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	if (file < 0)
		err_set(err, ERR_TEMPORARY, "cannot make a file in memory: %s", strerror(errno));
	return file;
}

/* The file has its full size from the start, as a hole, and is sealed so that it cannot grow. */
int program_complaints(struct err *err)
{
	int file = memfd_create("complaints", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file >= 0 && ftruncate(file, PROGRAM_COMPLAINTS_MAX) == 0 &&
		fcntl(file, F_ADD_SEALS, F_SEAL_GROW) == 0)
		return file;
	err_set(err, ERR_TEMPORARY, "cannot make a file in memory: %s", strerror(errno));
	if (file >= 0)
		close(file);
	return -1;
}

char *program_last_line(int complaints)
{
	char tail[LINE_BYTES];
	off_t size = lseek(complaints, 0, SEEK_CUR);
	off_t from = size > LINE_BYTES ? size - LINE_BYTES : 0;
	ssize_t len = pread(complaints, tail, (size_t)(size - from), from);
	const char *line;

	while (len > 0 && ascii_is_space(tail[len - 1]))
		len--;
	if (len <= 0)
		return mem_strdup("");
	line = memrchr(tail, '\n', (size_t)len);
	line = line ? line + 1 : tail;
	return mem_dup(line, (size_t)(tail + len - line));
}

int program_end(pid_t pid, const char *name, int64_t timeout_ms, int *status_r, struct err *err)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	int ready = -1;

	while (end.fd >= 0 && ready < 0)
		ready = poll(&end, 1, left_ms(deadline_us));
	if (end.fd < 0)
		cannot_run(name, errno, err);
	else
		close(end.fd);
	if (ready <= 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, status_r, 0) < 0 && errno == EINTR) {
	}
	if (ready == 0)
		return err_set(err, ERR_TEMPORARY, "%s takes too long", name);
	return ready < 0 ? -1 : 0;
}
