/*
 * signals: handlers that set a bit and wake the main thread by a pipe.
 *
 * libmilter has a thread that waits for SIGHUP, SIGINT and SIGTERM with
 * sigwait() and ends the service on each of them, SIGHUP too; there is no way
 * to tell it otherwise. But Linux offers a signal for the process to the main
 * thread first, and to others only when that one blocks it. So the main thread
 * never blocks these, and instead of waiting for them has handlers, which may
 * interrupt themselves: a handler that may not blocks its signal.
 *
 * Invariant: the pipe is open for the life of the process. Threads: as the
 * header says; a handler may interrupt any of them.
 */
#include "milter/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"

static int wake[2] = {-1, -1}; /* read, write */
static atomic_uint pending;    /* a bit for each enum signal_event */

static void post(enum signal_event event)
{
	int saved = errno;

	atomic_fetch_or(&pending, 1U << event);
	if (write(wake[1], "", 1) < 0) {
		/* The pipe is full: then main wakes up all the same. */
	}
	errno = saved;
}

static void on_signal(int number)
{
	post(number == SIGHUP ? SIGNAL_RELOAD : SIGNAL_STOP);
}

int signals_init(struct err *err)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = SA_RESTART | SA_NODEFER,
	};

	if (pipe2(wake, O_CLOEXEC) < 0 || fcntl(wake[1], F_SETFL, O_NONBLOCK) < 0)
		return err_set(err, ERR_TEMPORARY, "cannot make a pipe: %s",
			strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* The next event of those that are pending. */
static enum signal_event take(void)
{
	const unsigned bits = atomic_load(&pending);

	for (enum signal_event event = 0; event < SIGNAL_NONE; event++)
		if (bits & 1U << event) {
			atomic_fetch_and(&pending, ~(1U << event));
			return event;
		}
	return SIGNAL_NONE;
}

/* By poll(), which a handler always interrupts; false when time was up. */
static bool sleep_until_woken(int wait_ms)
{
	struct pollfd pipe = {.fd = wake[0], .events = POLLIN};
	char bytes[64];
	int woken = poll(&pipe, 1, wait_ms);

	if (woken > 0 && read(wake[0], bytes, sizeof(bytes)) < 0) {
		/* Then poll() returns at once the next time. */
	}
	return woken != 0;
}

enum signal_event signals_wait(int wait_ms)
{
	enum signal_event event;

	while ((event = take()) == SIGNAL_NONE)
		if (!sleep_until_woken(wait_ms))
			return take();
	return event;
}

void signals_post(void)
{
	post(SIGNAL_ENDED);
}
