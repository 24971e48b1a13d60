/*
 * postfix_limit: asks postconf(1) for message_size_limit.
 *
 * Threads: any.
 */
#include "httpd/inject/postfix_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* Runs the program and reads the beginning of its output. */
static int run(char *const *argv, char *output, size_t size, int *status_r)
{
	posix_spawn_file_actions_t files;
	int fds[2], failed;
	pid_t pid;
	ssize_t n;
	size_t len = 0;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO);
	failed = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	if (failed == 0) {
		while (len + 1 < size &&
			(n = read(fds[0], output + len, size - 1 - len)) > 0)
			len += (size_t)n;
		while (waitpid(pid, status_r, 0) < 0 && errno == EINTR) {
		}
	}
	output[len] = '\0';
	close(fds[0]);
	return failed;
}

int postfix_limit_read(const char *config_dir, int64_t *bytes_r, struct err *err)
{
	char postconf[] = "postconf", option[] = "-c", only_value[] = "-h",
	     name[] = "message_size_limit", output[64];
	_cleanup_free_ char *dir = mem_strdup(config_dir);
	_cleanup_free_ char *text = NULL;
	char *default_argv[] = {postconf, only_value, name, NULL};
	char *argv[] = {postconf, option, dir, only_value, name, NULL};
	int status = 0, failed;

	failed = run(str_empty(dir) ? default_argv : argv, output,
		sizeof(output), &status);
	if (failed)
		return err_set(err, ERR_CONFIG, "cannot run postconf: %s",
			strerror(failed));
	text = str_trim(output, strlen(output));
	if (status != 0 || str_int(text, 0, INT64_MAX, bytes_r) < 0)
		return err_set(err, ERR_CONFIG,
			"postconf -h message_size_limit failed");
	return 0;
}
