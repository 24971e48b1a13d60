/*
 * count_steps: for LD_PRELOAD: how many steps of its own programs SQLite takes
 * in each thread of a process, which is what a request costs whatever the
 * machine. They are in the file that POSTERN_STEPS names, as struct counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 256, VM_STEP = 4 /* SQLITE_STMTSTATUS_VM_STEP */ };

static struct counts {
	struct {
		_Atomic uint64_t is_loop; /* it has waited in epoll */
		_Atomic uint64_t steps;
	} threads[THREADS];
} none, *all = &none;

static atomic_uint threads;
static _Thread_local unsigned own = THREADS;

static unsigned own_index(void)
{
	if (own == THREADS)
		own = threads++ % THREADS;
	return own;
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("POSTERN_STEPS");
	int fd = -1;
	void *map = MAP_FAILED;

	/* The daemon alone; what it runs must not count there. */
	if (file && strstr(program_invocation_name, "postern-httpd"))
		fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		map = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		all = map;
}

int sqlite3_step(void *stmt)
{
	static int (*step)(void *);
	static int (*status)(void *, int, int);
	int result;

	if (step == NULL) {
		status = (int (*)(void *, int, int))dlsym(RTLD_NEXT, "sqlite3_stmt_status");
		step = (int (*)(void *))dlsym(RTLD_NEXT, "sqlite3_step");
	}
	result = step(stmt);
	all->threads[own_index()].steps += (uint64_t)status(stmt, VM_STEP, 1);
	return result;
}

int epoll_wait(int fd, void *events, int n, int timeout_ms)
{
	static int (*wait)(int, void *, int, int);

	if (wait == NULL)
		wait = (int (*)(int, void *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
	all->threads[own_index()].is_loop = 1;
	return wait(fd, events, n, timeout_ms);
}
