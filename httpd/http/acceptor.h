/*
 * acceptor: when a worker takes new connections.
 *
 * All workers accept from one listening socket, each through a descriptor of
 * its own. A worker takes one connection in a round of its loop, and none
 * while it is at the limit or has more than its share: else whoever wakes
 * first has them all.
 */
#ifndef POSTERN_HTTPD_ACCEPTOR_H
#define POSTERN_HTTPD_ACCEPTOR_H

#include <stdbool.h>

#include "core/base/err.h"

struct acceptor;
struct worker;

/* For the worker's evhttp; accepts once its loop runs. */
int acceptor_new(
	struct worker *worker, struct acceptor **acceptor_r, struct err *err);
/* After the worker's evhttp. NULL is fine. */
void acceptor_free(struct acceptor *acceptor);

/* Called on the worker's thread, before its loop. */
void acceptor_enter_thread(struct acceptor *acceptor);

/* The number of connections or the limit has changed: accepts, or does not. */
void acceptor_check(struct acceptor *acceptor);

/* A connection was accepted: the next one is for who comes first. */
void acceptor_took_one(struct acceptor *acceptor);

/* Accepts no more, for good. NULL is fine. */
void acceptor_stop(struct acceptor *acceptor);
bool acceptor_is_stopped(const struct acceptor *acceptor);

#endif
