/*
 * socket: the file of a Unix-domain socket.
 *
 * Somebody else makes the socket and listens on it; here is what stands around
 * it: that only one daemon at a time owns the path, that a socket left behind
 * by a crash is removed and a live one is not, and who may connect.
 */
#ifndef POSTERN_BASE_SOCKET_H
#define POSTERN_BASE_SOCKET_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct socket;

/* Connects to the Unix-domain socket; type as for socket(2), with SOCK_NONBLOCK
 * if the caller wants to wait by itself. 0, or an errno. */
int socket_connect(const char *path, int type, int *fd_r);

/* Whether a process listens on the Unix-domain socket: 0, or the error of
 * connecting. Nothing is connected, so that the process does not notice. */
int socket_look(const char *path);

/* What a socket is for, in the words of errors. */
struct socket_use {
	const char *program;       /* as `milter` */
	const char *setting;       /* that names the path */
	const char *folder_advice; /* where its folder comes from */
};

/* Locks the path and clears it of a socket on which nobody listens. A lock on
 * the file PATH.lock keeps a second daemon away for as long as it lasts.
 * ERR_CONFIG says what is in the way. */
int socket_lock(
	const char *path, const struct socket_use *use, struct socket **socket_r, struct err *err);

/* Gives up the lock; the socket is not touched. */
void socket_free(struct socket *socket);
DEFINE_CLEANUP(socket, socket_free)

/* Lets others connect to the socket that was made meanwhile, as the octal mode
 * says. group "": the one that it has, which is that of the folder when that is
 * set-gid. */
int socket_publish(struct socket *socket, const char *mode, const char *group, struct err *err);

/* Whether the path still leads to the published socket. */
bool socket_is_named(const struct socket *socket);

/* Removes the file, so that nobody new connects; another's is left alone. */
void socket_hide(struct socket *socket);

#endif
