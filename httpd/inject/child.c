/*
 * child: a program that is run with some bytes as its standard input.
 *
 * The input is a file in memory, not a pipe: when we are killed while the
 * program reads, it still gets all of it. Half a message must never be mistaken
 * for a whole one.
 *
 * The child is over when its pidfd is readable; what it wrote to standard
 * error is then in the pipe.
 *
 * Threads: the worker's.
 */
#include "httpd/inject/child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"

enum { ERRORS_MAX = 1024 };

struct child {
	struct child_spec spec;
	pid_t pid;
	int pidfd;
	int err;
	struct event *ended; /* with the timeout */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void child_free(struct child *child)
{
	if (child->ended)
		event_free(child->ended);
	close_fd(&child->err);
	close_fd(&child->pidfd);
	free(child);
}

/* How it ended; what cannot be told counts as killed. */
static int reap(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return SIGKILL;
	return status;
}

/* With what it has started: sendmail(1) has postdrop(1) do the work. */
static void kill_group(const struct child *child)
{
	kill(-child->pid, SIGKILL);
}

static void on_child_ended(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;
	char errors[ERRORS_MAX];
	ssize_t n;
	int status;

	(void)fd;
	if (what & EV_TIMEOUT) { /* comes back here when it is gone */
		kill_group(child);
		event_add(child->ended, NULL);
		return;
	}
	status = reap(child);
	n = read(child->err, errors, sizeof(errors) - 1);
	errors[n > 0 ? n : 0] = '\0';
	child->spec.done(child->spec.arg, status, errors);
	child_free(child);
}

static int write_all(int fd, const struct buf *input)
{
	size_t written = 0;

	while (written < input->len) {
		ssize_t n = write(
			fd, input->data + written, input->len - written);

		if (n < 0 && errno != EINTR)
			return -1;
		written += n > 0 ? (size_t)n : 0;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

/* A file in memory with the whole input. */
static int make_input(const struct buf *input)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write_all(fd, input) < 0)
		close_fd(&fd);
	return fd;
}

/* A pipe whose reading end does not block. */
static int make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	return fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

static int spawn(char *const *argv, int in, int err, pid_t *pid_r)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	posix_spawn_file_actions_addopen(
		&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	failed = posix_spawn(pid_r, argv[0], &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

/* Makes the descriptors and starts the program. */
static int launch(struct child *child, struct err *err)
{
	int in = make_input(child->spec.input), errors[2] = {-1, -1};
	int failed = 0;

	if (in < 0 || make_pipe(errors) < 0)
		failed = errno;
	if (failed == 0)
		failed = spawn(child->spec.argv, in, errors[1], &child->pid);
	close_fd(&in);
	close_fd(&errors[1]);
	child->err = errors[0];
	if (failed)
		return err_set(err,
			failed == ENOENT || failed == EACCES ? ERR_CONFIG
							     : ERR_TEMPORARY,
			"cannot run %s: %s", child->spec.argv[0],
			strerror(failed));
	return 0;
}

int child_start(struct event_base *base, const struct child_spec *spec,
	struct child **child_r, struct err *err)
{
	const struct timeval timeout = {
		.tv_sec = spec->timeout_ms / 1000,
		.tv_usec = spec->timeout_ms % 1000 * 1000,
	};
	struct child *child = mem_new(struct child);

	child->spec = *spec;
	child->err = child->pidfd = -1;
	if (launch(child, err) < 0) {
		child_free(child);
		return -1;
	}
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd < 0) {
		err_set(err, ERR_TEMPORARY, "pidfd_open: %s", strerror(errno));
		child_kill(child);
		return 1;
	}
	child->ended = event_new(
		base, child->pidfd, EV_READ, on_child_ended, child);
	event_add(child->ended, &timeout);
	*child_r = child;
	return 0;
}

void child_kill(struct child *child)
{
	kill_group(child);
	reap(child);
	child_free(child);
}
