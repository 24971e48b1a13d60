/*
 * serve: the thread in which libmilter waits for connections.
 */
#ifndef POSTERN_MILTER_SERVE_H
#define POSTERN_MILTER_SERVE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "milter/socket.h"

struct serve;

/* Begins to serve what filter_open() has prepared. on_end is called on that
 * thread when it ends, for whatever reason. */
int serve_start(void (*on_end)(void), struct serve **serve_r, struct err *err);

/* Ends the thread, at once, and frees serve. False when libmilter had failed.
 * socket is the one that it listens on. */
bool serve_stop(struct serve *serve, struct socket *socket);

#endif
