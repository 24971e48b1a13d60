/*
 * postfix_run: the boot id, and the process that holds Postfix's master.pid.
 *
 * master(8) keeps that file in the queue locked while it lives. Only root may
 * read it, so its process is found by the lock, which anybody may see. That is
 * a long list; once found, a process is known by its number and the time of
 * its start. In a container the boot id alone would not tell.
 *
 * Threads: any; a mutex is held while /proc is read.
 */
#include "core/postfix/postfix_run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"

enum {
	BOOT_SIZE = 40,
	STAT_SIZE = 512,
	START_FIELD = 22, /* of /proc/PID/stat, from 1; the name is the 2nd */
};

struct process {
	long pid; /* 0: none */
	unsigned long long start;
};

struct postfix_run {
	pthread_mutex_t mutex;
	char boot[BOOT_SIZE];
	char *pid_file; /* NULL: not known */
	struct process master;
};

/* The beginning of a file, as text; "" when it cannot be read. */
static void read_start(const char *path, char *text_r, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text_r, size - 1);
		close(fd);
	}
	text_r[n > 0 ? n : 0] = '\0';
}

struct postfix_run *postfix_run_new(void)
{
	struct postfix_run *run = mem_new(struct postfix_run);

	pthread_mutex_init(&run->mutex, NULL);
	read_start("/proc/sys/kernel/random/boot_id", run->boot,
		sizeof(run->boot));
	run->boot[strcspn(run->boot, "\n")] = '\0';
	return run;
}

void postfix_run_free(struct postfix_run *run)
{
	if (run == NULL)
		return;
	pthread_mutex_destroy(&run->mutex);
	free(run->pid_file);
	free(run);
}

void postfix_run_watch(struct postfix_run *run, const char *queue_directory)
{
	pthread_mutex_lock(&run->mutex);
	free(run->pid_file);
	run->pid_file = mem_printf("%s/pid/master.pid", queue_directory);
	run->master = (struct process){0};
	pthread_mutex_unlock(&run->mutex);
}

/* The process when it is a master; none otherwise. */
static struct process master_of(long pid)
{
	static const char name[] = "(master) ";
	char path[40], text[STAT_SIZE];
	struct process process = {.pid = pid};
	const char *at;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	read_start(path, text, sizeof(text));
	at = strstr(text, name);
	if (at == NULL)
		return (struct process){0};
	at += strlen(name);
	for (int field = 3; at && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (at == NULL)
		return (struct process){0};
	process.start = strtoull(at, NULL, 10);
	return process;
}

/* The number of the file alone: what the list has for its device is not what
 * stat(2) tells on each file system. */
static struct process find_master(const char *pid_file)
{
	struct process found = {0};
	unsigned long long inode;
	struct stat status;
	char line[256];
	FILE *locks;
	long pid;

	if (stat(pid_file, &status) < 0)
		return found;
	locks = fopen("/proc/locks", "re");
	if (locks == NULL)
		return found;
	while (found.pid == 0 && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*s %*s %*s %*s %ld %*x:%*x:%llu", &pid,
			    &inode) == 2 &&
			inode == status.st_ino)
			found = master_of(pid);
	fclose(locks);
	return found;
}

static bool is_alive(const struct process *process)
{
	struct process now;

	if (process->pid == 0)
		return false;
	now = master_of(process->pid);
	return now.pid != 0 && now.start == process->start;
}

void postfix_run_name(
	struct postfix_run *run, char name_r[static POSTFIX_RUN_SIZE])
{
	name_r[0] = '\0';
	pthread_mutex_lock(&run->mutex);
	if (!is_alive(&run->master))
		run->master = run->pid_file ? find_master(run->pid_file)
					    : (struct process){0};
	if (run->master.pid != 0)
		snprintf(name_r, POSTFIX_RUN_SIZE, "%s %ld %llu", run->boot,
			run->master.pid, run->master.start);
	pthread_mutex_unlock(&run->mutex);
}
