/*
 * filter: the milter protocol, as libmilter speaks it.
 */
#ifndef POSTERN_MILTER_FILTER_H
#define POSTERN_MILTER_FILTER_H

#include <stdbool.h>

#include "core/conf/conf.h"
#include "milter/service.h"

/* Tells libmilter all it needs to know and has it listen on the socket, which
 * must not be there yet; nobody but our own user may connect to it. From here
 * on connections wait until filter_run() serves them. service must last until
 * the process ends. */
int filter_open(
	struct service *service, const struct conf *conf, struct err *err);

/* Serves connections until filter_stop() or a failure: whether it ended well. */
bool filter_run(void);

/* Has filter_run() return, and returns itself, within seconds, or as soon as a
 * connection comes in. From another thread. */
void filter_stop(void);

#endif
