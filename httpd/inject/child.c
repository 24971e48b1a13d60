/*
 * child: a program that httpd talks to over its standard input and output.
 *
 * Its standard error is a memfd: unlike a pipe it never fills up, so a program
 * that complains about every message does not block.
 *
 * Threads: the worker's.
 */
#include "httpd/inject/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum { SAID_MAX = 512 };

struct child {
	pid_t pid;
	int errors; /* the file */
	off_t heard;
};

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int spawn(char *const *argv, int io, int errors, pid_t *pid_r)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, io, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, io, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	failed = posix_spawn(pid_r, argv[0], &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

int child_start(char *const *argv, int *fd_r, struct child **child_r, struct err *err)
{
	int io[2] = {-1, -1}, errors = memfd_create("errors", MFD_CLOEXEC), failed = 0;
	struct child *child;
	pid_t pid = 0;

	/* With O_APPEND several processes do not overwrite each other's output. Our end of the
	 * socket pair, the first, is non-blocking. */
	if (errors < 0 || fcntl(errors, F_SETFL, O_APPEND) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io) < 0 ||
		fcntl(io[0], F_SETFL, O_NONBLOCK) < 0)
		failed = errno;
	if (failed == 0)
		failed = spawn(argv, io[1], errors, &pid);
	close_fd(io[1]);
	if (failed) {
		close_fd(io[0]);
		close_fd(errors);
		return err_set(err,
			failed == ENOENT || failed == EACCES ? ERR_CONFIG : ERR_TEMPORARY,
			"cannot run %s: %s", argv[0], strerror(failed));
	}
	child = mem_new(struct child);
	child->pid = pid;
	child->errors = errors;
	*child_r = child;
	*fd_r = io[0];
	return 0;
}

char *child_said(struct child *child)
{
	_cleanup_free_ char *text = NULL;
	char said[SAID_MAX];
	struct stat info;
	off_t from;
	ssize_t n;

	if (fstat(child->errors, &info) < 0 || info.st_size <= child->heard)
		return NULL;
	from = info.st_size - child->heard > SAID_MAX ? info.st_size - SAID_MAX : child->heard;
	n = pread(child->errors, said, sizeof(said), from);
	child->heard = info.st_size;
	if (n <= 0)
		return NULL;
	for (ssize_t i = 0; i < n; i++)
		if (ascii_is_control(said[i]))
			said[i] = ' ';
	text = mem_dup(said, (size_t)n);
	str_utf8_mend(text);
	return str_trim(text, strlen(text));
}

void child_end(struct child *child)
{
	if (child == NULL)
		return;
	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	close_fd(child->errors);
	free(child);
}
