/*
 * listener: the listening socket that all workers share, and which of them
 * accepts.
 *
 * Each worker has a listener, with its own descriptor of the shared socket. A
 * worker accepts one connection per iteration of its event loop. It accepts
 * none while it is at its limit, or has more than its share of all connections;
 * otherwise the worker that wakes first would get them all. Clients that nobody
 * accepts wait in the kernel's backlog.
 */
#ifndef POSTERN_HTTPD_TRANSPORT_LISTENER_H
#define POSTERN_HTTPD_TRANSPORT_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

struct listener;
struct worker;

enum { LISTENER_NAME_SIZE = 128 };

/* Binds `address:port` or `[v6]:port` and listens; numeric addresses only. The
 * caller owns the descriptor, which is non-blocking. name_r gets the bound
 * address, with the real port when port 0 was asked for. */
int listener_bind(
	const char *address, int *fd_r, char name_r[static LISTENER_NAME_SIZE], struct err *err);

/* The prefix of an address that is the path of a Unix-domain socket. */
#define LISTENER_UNIX "unix:"

/* Binds the path and listens. Nobody can connect before socket_publish(). */
int listener_bind_path(const char *path, int *fd_r, struct err *err);

/* True if only clients on this host can connect: a loopback address or a
 * Unix-domain socket. */
bool listener_is_on_loopback(int fd);

/* Makes the listener of the worker's evhttp, on the shared socket. It accepts
 * once the worker's loop runs. */
int listener_new(struct worker *worker, struct listener **listener_r, struct err *err);
/* Free it after the worker's evhttp. NULL is fine. */
void listener_free(struct listener *listener);

/* Accepts on another socket from now on, unless the listener is stopped. Takes
 * the descriptor. Clients in the backlog of the old socket are cut off when its
 * last descriptor is closed. */
int listener_move(struct listener *listener, int fd, struct err *err);

/* Call it on the worker's thread, before its loop runs. */
void listener_enter_thread(struct listener *listener);

/* Count a connection that was accepted, and one that has ended. */
void listener_opened(struct listener *listener);
void listener_closed(struct listener *listener);
size_t listener_connections(const struct listener *listener);

/* Starts or pauses accepting: the limit or the connections of other workers may
 * have changed. */
void listener_check(struct listener *listener);

/* Stops accepting, for good. NULL is fine. */
void listener_stop(struct listener *listener);
bool listener_is_stopped(const struct listener *listener);

#endif
