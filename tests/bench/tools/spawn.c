/*
 * spawn: runs a command again and again, so many at once, and prints how long
 * that took as a JSON object: count, failed, seconds.
 *
 * usage: spawn PARALLEL COUNT INPUT COMMAND [ARGUMENT...]
 *
 * INPUT is the file that each gets as its standard input.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/clock.h"

static int start(char *const *argv, const posix_spawn_file_actions_t *files)
{
	pid_t pid;

	return posix_spawn(&pid, argv[0], files, NULL, argv, environ);
}

/* The number of those that failed; waits for all. */
static long run(
	char *const *argv, const posix_spawn_file_actions_t *files, long parallel, long count)
{
	long running = 0, failed = 0;
	int status;

	while (count > 0 || running > 0) {
		if (count > 0 && running < parallel) {
			count--;
			if (start(argv, files) == 0)
				running++;
			else
				failed++;
			continue;
		}
		wait(&status);
		running--;
		failed += status != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t files;
	int64_t began_us = clock_monotonic_us();
	long parallel, count, failed;

	if (argc < 5) {
		fputs("usage: spawn PARALLEL COUNT INPUT COMMAND...\n", stderr);
		return EX_USAGE;
	}
	parallel = strtol(argv[1], NULL, 10);
	count = strtol(argv[2], NULL, 10);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, argv[3], O_RDONLY, 0);
	failed = run(argv + 4, &files, parallel, count);
	posix_spawn_file_actions_destroy(&files);
	printf("{\"count\": %ld, \"failed\": %ld, \"seconds\": %.6f}\n", count, failed,
		(double)(clock_monotonic_us() - began_us) / 1e6);
	return failed ? EX_TEMPFAIL : EX_OK;
}
