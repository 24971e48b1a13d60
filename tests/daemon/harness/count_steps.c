/*
 * count_steps: for LD_PRELOAD. Counts, for each thread of a process, what does not depend on
 * whatever else the machine runs:
 * - the steps of SQLite's programs, which are the same on every machine;
 * - the CPU time of the longest turn of an event loop, for which all of its other clients wait;
 * - the CPU time of the longest write transaction, for which all other writers wait.
 * They are in the file that POSTERN_STEPS names, as struct counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 256,
	VM_STEP = 4,   /* SQLITE_STMTSTATUS_VM_STEP */
	TXN_WRITE = 2, /* SQLITE_TXN_WRITE */
};

static struct counts {
	struct {
		_Atomic uint64_t is_loop; /* it has waited in epoll */
		_Atomic uint64_t steps;
		_Atomic uint64_t turn_ns, write_ns; /* the longest; readers may reset them */
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

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void note_longest(_Atomic uint64_t *longest, uint64_t ns)
{
	if (ns > *longest)
		*longest = ns;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* The write transaction of this thread. */
static _Thread_local struct {
	void *db; /* NULL: none */
	uint64_t began_ns;
} writing;

int sqlite3_step(void *stmt)
{
	static int (*step)(void *);
	static int (*status)(void *, int, int);
	static int (*readonly)(void *);
	static void *(*db_of)(void *);
	static int (*txn_state)(void *, const char *);
	uint64_t before_ns = 0;
	bool writes;
	void *db;
	int result;

	if (step == NULL) {
		status = (int (*)(void *, int, int))next("sqlite3_stmt_status");
		readonly = (int (*)(void *))next("sqlite3_stmt_readonly");
		db_of = (void *(*)(void *))next("sqlite3_db_handle");
		txn_state = (int (*)(void *, const char *))next("sqlite3_txn_state");
		step = (int (*)(void *))next("sqlite3_step");
	}
	db = db_of(stmt);
	writes = writing.db ? db == writing.db : !readonly(stmt);
	if (writes && writing.db == NULL)
		before_ns = cpu_ns();
	result = step(stmt);
	all->threads[own_index()].steps += (uint64_t)status(stmt, VM_STEP, 1);
	if (!writes)
		return result;
	if (writing.db == NULL) {
		writing.db = db;
		writing.began_ns = before_ns;
	}
	if (txn_state(db, NULL) != TXN_WRITE) {
		note_longest(&all->threads[own_index()].write_ns, cpu_ns() - writing.began_ns);
		writing.db = NULL;
	}
	return result;
}

int epoll_wait(int fd, void *events, int n, int timeout_ms)
{
	static int (*wait)(int, void *, int, int);
	static _Thread_local uint64_t began_ns;
	int result;

	if (wait == NULL)
		wait = (int (*)(int, void *, int, int))next("epoll_wait");
	all->threads[own_index()].is_loop = 1;
	if (began_ns)
		note_longest(&all->threads[own_index()].turn_ns, cpu_ns() - began_ns);
	result = wait(fd, events, n, timeout_ms);
	began_ns = cpu_ns();
	return result;
}
