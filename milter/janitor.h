/*
 * janitor: what the milter looks after while it waits for signals.
 */
#ifndef POSTERN_MILTER_JANITOR_H
#define POSTERN_MILTER_JANITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "milter/service.h"
#include "milter/socket.h"

enum {
	JANITOR_ROUND_MS = 2 * 1000,
	JANITOR_COUNTS_MS = 60 * 60 * 1000,
};

struct janitor {
	struct service *service;     /* not owned */
	const struct socket *socket; /* not owned */
	int64_t counted_us;          /* when the counts were last looked at */
};

/* now_us is of a clock that never goes back. */
void janitor_begin(struct janitor *janitor, struct service *service,
	const struct socket *socket, int64_t now_us);

/* One round, every JANITOR_ROUND_MS: logs the counts once an hour when they
 * have changed. False when the socket is gone, so that nobody new can come. */
bool janitor_round(struct janitor *janitor, int64_t now_us);

#endif
