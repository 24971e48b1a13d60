/*
 * listener: the socket that all workers accept from, and which of them does.
 *
 * Each worker has a listener, on a descriptor of its own for the same socket. A
 * worker accepts one connection in a round of its loop, and none while it is at
 * its limit or has more than its share of all connections: else whoever wakes
 * first has them all. Clients that nobody accepts wait in the kernel's queue.
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
 * descriptor is the caller's and does not block. name_r is what was bound,
 * with the real port when 0 was asked for. */
int listener_bind(
	const char *address, int *fd_r, char name_r[static LISTENER_NAME_SIZE], struct err *err);

/* What an address begins with that is the path of a Unix-domain socket. */
#define LISTENER_UNIX "unix:"

/* Binds the path and listens. Nobody can connect before socket_publish(). */
int listener_bind_path(const char *path, int *fd_r, struct err *err);

/* Whether only who is on this host can connect to it. */
bool listener_is_on_loopback(int fd);

/* For the worker's evhttp, on the socket that the workers share; accepts once
 * the worker's loop runs. */
int listener_new(struct worker *worker, struct listener **listener_r, struct err *err);
/* After the worker's evhttp. NULL is fine. */
void listener_free(struct listener *listener);

/* Accepts on another socket from now on, unless it was stopped; the descriptor
 * is given away. Who waits in the queue of the old one is cut off. */
int listener_move(struct listener *listener, int fd, struct err *err);

/* Called on the worker's thread, before its loop. */
void listener_enter_thread(struct listener *listener);

/* A connection was accepted; one has ended. */
void listener_opened(struct listener *listener);
void listener_closed(struct listener *listener);
size_t listener_connections(const struct listener *listener);

/* The limit or other workers' connections may have changed: accepts or not. */
void listener_check(struct listener *listener);

/* Accepts no more, for good. NULL is fine. */
void listener_stop(struct listener *listener);
bool listener_is_stopped(const struct listener *listener);

#endif
