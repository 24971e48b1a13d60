/*
 * count_syncs: fdatasync(), which the program has before libc has it.
 */
#include "tests/unit/count_syncs.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int syncs;
static atomic_bool failing;
static _Atomic int64_t log_size;

static bool is_log(int fd)
{
	char link[40], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path));
	return len > 4 && memcmp(path + len - 4, "-wal", 4) == 0;
}

int fdatasync(int fd)
{
	struct stat info;
	int result;

	syncs++;
	if (failing) {
		errno = EIO;
		return -1;
	}
	if (fstat(fd, &info) < 0)
		return -1;
	result = (int)syscall(SYS_fdatasync, fd);
	if (result == 0 && is_log(fd))
		log_size = info.st_size;
	return result;
}

int count_syncs(void)
{
	return syncs;
}

int64_t count_syncs_log_size(void)
{
	return log_size;
}

void count_syncs_fail(bool fail)
{
	failing = fail;
}
