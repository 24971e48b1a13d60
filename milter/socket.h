/*
 * socket: the file of the milter's Unix-domain socket.
 *
 * libmilter makes the socket and listens on it; here is what stands around it:
 * that only one milter at a time owns the path, that one left behind by a
 * crash is removed and a live one is not, and who may connect.
 */
#ifndef POSTERN_MILTER_SOCKET_H
#define POSTERN_MILTER_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "milter/service.h"

/*
 * janitor: what the milter looks after while it waits for signals.
 */

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

struct socket;

/* Locks the path and clears it of a socket on which nobody listens. A lock on
 * the file PATH.lock keeps a second milter away for as long as it lasts.
 * ERR_CONFIG says what is in the way. */
int socket_lock(const char *path, struct socket **socket_r, struct err *err);

/* Gives up the lock; the socket is not touched. */
void socket_free(struct socket *socket);
DEFINE_CLEANUP(socket, socket_free)

/* Lets others connect to the socket that was made meanwhile, as the octal mode
 * says. Its group is that of the folder when that is set-gid. */
int socket_publish(struct socket *socket, const char *mode, struct err *err);

/* Whether the path still leads to the published socket. */
bool socket_is_named(const struct socket *socket);

/* Removes the file, so that nobody new connects; another's is left alone. */
void socket_hide(struct socket *socket);

#endif
