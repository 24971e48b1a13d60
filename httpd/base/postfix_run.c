/*
 * postfix_run: the boot id, and the time of Postfix's master.pid.
 *
 * master(8) writes the file when it starts. It is in the queue, as the socket
 * is. In a container the boot id alone would not tell.
 *
 * Threads: any; holds no state.
 */
#include "httpd/base/postfix_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

void postfix_run_boot(char boot_r[static POSTFIX_RUN_BOOT_SIZE])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, boot_r, POSTFIX_RUN_BOOT_SIZE - 1);
		close(fd);
	}
	if (n <= 0)
		n = stpcpy(boot_r, "-") - boot_r;
	boot_r[n] = '\0';
	boot_r[strcspn(boot_r, "\n")] = '\0';
}

/* QUEUE/pid/master.pid of unix:QUEUE/public/NAME; NULL for another server. */
static char *pid_file(const char *smtp_server)
{
	static const char un[] = "unix:", folder[] = "/public/";
	const char *found = smtp_server ? strstr(smtp_server, folder) : NULL;
	_cleanup_free_ char *queue = NULL;

	if (found == NULL || !str_starts(smtp_server, un))
		return NULL;
	smtp_server += strlen(un);
	queue = mem_dup(smtp_server, (size_t)(found - smtp_server));
	return mem_printf("%s/pid/master.pid", queue);
}

void postfix_run_name(const char *boot, const char *smtp_server,
	char name_r[static IDEMPOTENCY_RUN_SIZE])
{
	_cleanup_free_ char *path = pid_file(smtp_server);
	struct stat status = {0};

	if (path && stat(path, &status) < 0)
		status = (struct stat){0};
	snprintf(name_r, IDEMPOTENCY_RUN_SIZE, "%s %lld.%09ld", boot,
		(long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}
