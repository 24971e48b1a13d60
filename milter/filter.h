/*
 * filter: the milter protocol, as libmilter speaks it.
 */
#ifndef POSTERN_MILTER_FILTER_H
#define POSTERN_MILTER_FILTER_H

#include "core/conf/conf.h"
#include "milter/service.h"

/* Tells libmilter all it needs to know and has it listen on the socket, which
 * must not be there yet; nobody but our own user may connect to it. From here
 * on connections wait until filter_start() has them served. service must last
 * until the process ends. */
int filter_open(struct service *service, const struct conf *conf, struct err *err);

/* Serves connections, in threads of libmilter, until the process ends. All
 * signals are blocked in these threads. */
int filter_start(struct err *err);

enum filter_state {
	FILTER_SERVES,
	FILTER_STOPPED, /* libmilter was given a signal and ended, as told */
	FILTER_FAILED,  /* libmilter gave up */
};
enum filter_state filter_state(void);

#endif
