/*
 * db_watch: one handle, and a statement that costs the server next to nothing.
 *
 * Threads: the mutex guards why and stopping; the handle belongs to the thread.
 */
#include "core/db/db_watch.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

enum {
	INTERVAL_MS = 1000,
	AWAY_INTERVAL_MS = 250, /* while the server does not answer */
	WAIT_MS = 1000,
};

struct db_watch {
	char *url;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* stopping is set */
	bool stopping;
	struct err why; /* ERR_NONE: the server has answered */
};

static int ask(const char *url, struct db **db, struct err *err)
{
	int64_t version;

	if (*db == NULL) {
		if (db_open(url, DB_READ, db, err) != 0)
			return -1;
		db_set_wait(*db, WAIT_MS);
	}
	return db_version(*db, &version, err);
}

/* Waits, and returns whether the thread is to end. */
static bool rest(struct db_watch *watch, int ms)
{
	int64_t until_us = clock_monotonic_us() + ms * INT64_C(1000);
	const struct timespec until = {
		.tv_sec = until_us / 1000000,
		.tv_nsec = until_us % 1000000 * 1000,
	};
	bool stopping;

	pthread_mutex_lock(&watch->mutex);
	while (!watch->stopping && clock_monotonic_us() < until_us)
		pthread_cond_clockwait(&watch->wake, &watch->mutex, CLOCK_MONOTONIC, &until);
	stopping = watch->stopping;
	pthread_mutex_unlock(&watch->mutex);
	return stopping;
}

static void *thread_main(void *arg)
{
	struct db_watch *watch = arg;
	struct db *db = NULL;
	bool there;

	do {
		struct err why = ERR_INIT;

		there = ask(watch->url, &db, &why) == 0;
		pthread_mutex_lock(&watch->mutex);
		watch->why = why;
		pthread_mutex_unlock(&watch->mutex);
	} while (!rest(watch, there ? INTERVAL_MS : AWAY_INTERVAL_MS));
	db_close(db);
	return NULL;
}

int db_watch_new(const char *url, struct db_watch **watch_r, struct err *err)
{
	struct db_watch *watch = mem_new(struct db_watch);
	sigset_t all, old;
	int failed;

	watch->url = mem_strdup(url);
	watch->why = ERR_INIT;
	pthread_mutex_init(&watch->mutex, NULL);
	pthread_cond_init(&watch->wake, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&watch->thread, NULL, thread_main, watch);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed == 0) {
		*watch_r = watch;
		return 0;
	}
	pthread_cond_destroy(&watch->wake);
	pthread_mutex_destroy(&watch->mutex);
	free(watch->url);
	free(watch);
	return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s", strerror(failed));
}

void db_watch_free(struct db_watch *watch)
{
	if (watch == NULL)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->stopping = true;
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->mutex);
	pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->wake);
	pthread_mutex_destroy(&watch->mutex);
	free(watch->url);
	free(watch);
}

int db_watch_look(struct db_watch *watch, struct err *err)
{
	int result = 0;

	pthread_mutex_lock(&watch->mutex);
	if (watch->why.code != ERR_NONE)
		result = err_copy(err, &watch->why);
	pthread_mutex_unlock(&watch->mutex);
	return result;
}
