/*
 * postfix_run: the name of a run is the boot id and the modification time of master(8)'s pid
 * file.
 *
 * Each start of master rewrites queue/pid/master.pid, and stat(2) needs only search permission
 * for the directory. The file remains when Postfix stops, so the run is over when nobody
 * listens on the socket of cleanup(8). Processes inherit that socket: if only master is killed,
 * the run lasts until the last cleanup process has finished. If this process may not connect to
 * the socket (it is not in the group postdrop), the run lasts until the next start.
 *
 * Threads: any; a mutex protects the paths.
 */
#include "core/postfix/postfix_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/socket.h"

struct postfix_run {
	char boot[40]; /* "" if unknown */
	pthread_mutex_t mutex;
	char *pid_file, *cleanup; /* NULL if unknown */
};

struct postfix_run *postfix_run_new(void)
{
	struct postfix_run *run = mem_new(struct postfix_run);
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file) {
		if (fgets(run->boot, sizeof(run->boot), file))
			run->boot[strcspn(run->boot, "\n")] = '\0';
		fclose(file);
	}
	pthread_mutex_init(&run->mutex, NULL);
	return run;
}

void postfix_run_free(struct postfix_run *run)
{
	if (run == NULL)
		return;
	pthread_mutex_destroy(&run->mutex);
	free(run->pid_file);
	free(run->cleanup);
	free(run);
}

void postfix_run_watch(struct postfix_run *run, const char *queue_directory)
{
	pthread_mutex_lock(&run->mutex);
	free(run->pid_file);
	free(run->cleanup);
	run->pid_file = mem_printf("%s/pid/master.pid", queue_directory);
	run->cleanup = mem_printf("%s/public/cleanup", queue_directory);
	pthread_mutex_unlock(&run->mutex);
}

/* The caller holds the mutex. */
static bool is_over(const struct postfix_run *run)
{
	int number = run->cleanup ? socket_look(run->cleanup) : 0;

	return number == ECONNREFUSED || number == ENOENT;
}

bool postfix_run_is_over(struct postfix_run *run)
{
	bool over;

	pthread_mutex_lock(&run->mutex);
	over = is_over(run);
	pthread_mutex_unlock(&run->mutex);
	return over;
}

void postfix_run_name(struct postfix_run *run, char name_r[static POSTFIX_RUN_SIZE])
{
	struct stat status;

	name_r[0] = '\0';
	pthread_mutex_lock(&run->mutex);
	if (run->pid_file && stat(run->pid_file, &status) == 0 && !is_over(run))
		snprintf(name_r, POSTFIX_RUN_SIZE, "%s %lld.%09ld", run->boot,
			(long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
	pthread_mutex_unlock(&run->mutex);
}
