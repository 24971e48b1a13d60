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
 * on connections wait until filter_start() has them served. service must last
 * until the process ends. */
int filter_open(
	struct service *service, const struct conf *conf, struct err *err);

/* Serves connections, in threads of libmilter, until the process ends. */
int filter_start(struct err *err);

/* Whether libmilter has given up, and serves no more. */
bool filter_has_ended(void);

#endif
