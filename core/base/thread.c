/*
 * thread: threads without signals, and a thread that repeats its work at intervals.
 */
#include "core/base/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

int thread_start(pthread_t *thread_r, void *(*run)(void *arg), void *arg, struct err *err)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(thread_r, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s", strerror(failed));
	return 0;
}

struct ticker {
	int64_t (*work)(void *arg);
	void *arg;
	int64_t rest_us;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* stopping is set */
	bool stopping;       /* guarded by mutex */
};

/* Returns true if the ticker was stopped meanwhile. */
static bool rest(struct ticker *ticker)
{
	int64_t until_us = clock_monotonic_us() + ticker->rest_us;
	const struct timespec until = {
		.tv_sec = until_us / SECOND_US,
		.tv_nsec = until_us % SECOND_US * 1000,
	};
	bool stopping;

	pthread_mutex_lock(&ticker->mutex);
	while (!ticker->stopping && clock_monotonic_us() < until_us)
		pthread_cond_clockwait(&ticker->wake, &ticker->mutex, CLOCK_MONOTONIC, &until);
	stopping = ticker->stopping;
	pthread_mutex_unlock(&ticker->mutex);
	return stopping;
}

static void *tick(void *arg)
{
	struct ticker *ticker = arg;

	while (!rest(ticker))
		ticker->rest_us = ticker->work(ticker->arg);
	return NULL;
}

static void ticker_free(struct ticker *ticker)
{
	pthread_cond_destroy(&ticker->wake);
	pthread_mutex_destroy(&ticker->mutex);
	free(ticker);
}

int ticker_start(int64_t (*work)(void *arg), void *arg, int64_t first_us, struct ticker **ticker_r,
	struct err *err)
{
	struct ticker *ticker = mem_new(struct ticker);

	*ticker = (struct ticker){.work = work, .arg = arg, .rest_us = first_us};
	pthread_mutex_init(&ticker->mutex, NULL);
	pthread_cond_init(&ticker->wake, NULL);
	if (thread_start(&ticker->thread, tick, ticker, err) < 0) {
		ticker_free(ticker);
		return -1;
	}
	*ticker_r = ticker;
	return 0;
}

void ticker_stop(struct ticker *ticker)
{
	if (ticker == NULL)
		return;
	pthread_mutex_lock(&ticker->mutex);
	ticker->stopping = true;
	pthread_cond_signal(&ticker->wake);
	pthread_mutex_unlock(&ticker->mutex);
	pthread_join(ticker->thread, NULL);
	ticker_free(ticker);
}
