/*
 * serve: the thread in which libmilter waits for connections.
 *
 * libmilter looks whether it shall stop every five seconds and after each
 * connection, and filter_stop() itself returns only then. So a second thread
 * calls that, while connections wake the first one.
 *
 * Threads: main's. The result belongs to the serving thread until joined.
 */
#include "milter/serve.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "milter/filter.h"

enum { WAKE_MS = 50 }; /* between attempts to wake libmilter */

struct serve {
	pthread_t thread;
	void (*on_end)(void);
	bool well;
};

static void *run_filter(void *arg)
{
	struct serve *serve = arg;

	serve->well = filter_run();
	serve->on_end();
	return NULL;
}

int serve_start(void (*on_end)(void), struct serve **serve_r, struct err *err)
{
	struct serve *serve = mem_new(struct serve);
	int error;

	serve->on_end = on_end;
	error = pthread_create(&serve->thread, NULL, run_filter, serve);
	if (error != 0) {
		free(serve);
		return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s",
			strerror(error));
	}
	*serve_r = serve;
	return 0;
}

static void *stop_filter(void *arg)
{
	filter_stop();
	return arg;
}

/* The thread sanitizer does not know pthread_clockjoin_np(). Should the time of
 * day jump, libmilter still wakes by itself. */
static bool joined_within(pthread_t thread, long wait_ms)
{
	const struct timespec end = clock_deadline(CLOCK_REALTIME, wait_ms);

	return pthread_timedjoin_np(thread, NULL, &end) == 0;
}

bool serve_stop(struct serve *serve, struct socket *socket)
{
	pthread_t stopper;
	bool started = pthread_create(&stopper, NULL, stop_filter, NULL) == 0;
	bool well;

	if (!started)
		filter_stop();
	do
		socket_wake(socket);
	while (!joined_within(serve->thread, WAKE_MS));
	if (started)
		pthread_join(stopper, NULL);
	well = serve->well;
	free(serve);
	return well;
}
