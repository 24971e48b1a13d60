/*
 * pg_library: loads libpq, and finds its functions.
 */
#include "core/db/pg_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Its interface has had this version since 2005. */
#define LIBRARY "libpq.so.5"

struct pg_library pq;

static struct err failure; /* why libpq was not loaded */

/* Finds a function of the library. False if this libpq is too old to have it. */
static bool find_function(void *library, const char *name, void *function_r)
{
	void *function = dlsym(library, name);

	/* POSIX gives both kinds of pointers the same representation. */
	memcpy(function_r, &function, sizeof(function));
	if (function == NULL)
		err_set(&failure, ERR_CONFIG, "%s is too old for a database on a server: %s",
			LIBRARY, dlerror());
	return function != NULL;
}

static void load(void)
{
	/* It stays until the process ends. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (library == NULL) {
		err_set(&failure, ERR_CONFIG,
			"a database on a server needs %s (package libpq5 or libpq): %s", LIBRARY,
			dlerror());
		return;
	}
#define FIND(name_)                                                                                \
	if (!find_function(library, "PQ" #name_, &pq.name_))                                       \
		return;
	PG_LIBRARY_FUNCTIONS(FIND)
#undef FIND
}

int pg_library_load(struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return failure.code == ERR_NONE ? 0 : err_copy(err, &failure);
}
