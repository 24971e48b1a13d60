/*
 * count_syncs: fdatasync(), which the program has before libc has it.
 */
#include "tests/unit/count_syncs.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int syncs;
static atomic_bool failing;

int fdatasync(int fd)
{
	syncs++;
	if (failing) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

int count_syncs(void)
{
	return syncs;
}

void count_syncs_fail(bool fail)
{
	failing = fail;
}
