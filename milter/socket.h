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

#include "core/base/err.h"
#include "core/base/mem.h"

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
