/*
 * socket: addresses of sockets, and the file of a Unix-domain socket.
 *
 * The caller creates the socket and listens. This part ensures that only one daemon owns the
 * path, removes a socket left behind by a crash but not a live one, and sets who may connect.
 */
#ifndef POSTERN_BASE_SOCKET_H
#define POSTERN_BASE_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct socket;

/* An address of any family that is used here. */
union socket_address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Parses `127.0.0.1:80` or `[::1]:80`; the port may be 0. False for any other text, as with a name
 * of a host. */
bool socket_parse(const char *text, union socket_address *address_r, socklen_t *len_r);

/* Connects to a Unix-domain socket. type as for socket(2), with SOCK_NONBLOCK if the caller
 * waits itself. Returns 0, or an errno. */
int socket_connect(const char *path, int type, int *fd_r);

/* Returns 0 if a process listens on the Unix-domain socket, otherwise the errno of connecting.
 * No connection is made, so the process does not notice. */
int socket_look(const char *path);

/* The use of a socket, for error texts. */
struct socket_use {
	const char *program;       /* such as `milter` */
	const char *setting;       /* the setting with the path */
	const char *folder_advice; /* what creates its directory */
};

/* Locks the path and removes a socket on which nobody listens. The lock, on PATH.lock, keeps a
 * second daemon away while it lasts. ERR_CONFIG says what is in the way. */
int socket_lock(
	const char *path, const struct socket_use *use, struct socket **socket_r, struct err *err);

/* Releases the lock. The socket's file stays. */
void socket_free(struct socket *socket);
DEFINE_CLEANUP(socket, socket_free)

/* Sets the octal mode of the socket, which now exists, so that others can connect. group "": it
 * keeps its group, which is that of the directory if that is set-gid. */
int socket_publish(struct socket *socket, const char *mode, const char *group, struct err *err);

/* True if the path still names the published socket. */
bool socket_is_named(const struct socket *socket);

/* Removes the file, so that nobody new connects. Another process's socket is not removed. */
void socket_hide(struct socket *socket);

#endif
