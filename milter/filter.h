/*
 * filter: the milter protocol, through libmilter.
 */
#ifndef POSTERN_MILTER_FILTER_H
#define POSTERN_MILTER_FILTER_H

#include "core/conf/conf.h"
#include "milter/service.h"

/* Registers the callbacks and listens on the socket, which must not exist yet and is for our
 * own user only (mode 0600). Connections wait in the backlog until filter_start(). service must
 * last until the process ends. */
int filter_open(struct service *service, const struct conf *conf, struct err *err);

/* Serves connections in threads of libmilter until the process ends. These threads block all
 * signals. */
int filter_start(struct err *err);

/* True if libmilter has ended: by an error, or by a signal that has reached it (see main.c). */
bool filter_has_ended(void);

#endif
