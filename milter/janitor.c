/*
 * janitor: looks at the clock and at the socket.
 *
 * Whoever removes the file of the socket, or puts another one in its place,
 * cuts the milter off while it lives: it listens where no name leads.
 *
 * Threads: main's.
 */
#include "milter/janitor.h"

void janitor_begin(struct janitor *janitor, struct service *service,
	const struct socket *socket, int64_t now_us)
{
	*janitor = (struct janitor){service, socket, now_us};
}

bool janitor_round(struct janitor *janitor, int64_t now_us)
{
	struct service *service = janitor->service;

	if (now_us - janitor->counted_us >= (int64_t)JANITOR_COUNTS_MS * 1000) {
		janitor->counted_us = now_us;
		counts_log(&service->counts, service->log);
	}
	return socket_is_named(janitor->socket);
}
