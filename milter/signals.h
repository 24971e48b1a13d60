/*
 * signals: what the process is told, as something that main() waits for.
 */
#ifndef POSTERN_MILTER_SIGNALS_H
#define POSTERN_MILTER_SIGNALS_H

#include "core/base/err.h"

/* The first ones go first. */
enum signal_event {
	SIGNAL_STOP,   /* SIGTERM, SIGINT */
	SIGNAL_ENDED,  /* signals_post() */
	SIGNAL_RELOAD, /* SIGHUP; several that wait are one */
	SIGNAL_NONE,   /* time was up */
};

/* Begins to catch the signals; to be called once, in the main thread, which
 * must never block them. */
int signals_init(struct err *err);

/* Waits for the next event, but not for long. In the main thread. */
enum signal_event signals_wait(int wait_ms);

/* Makes signals_wait() return SIGNAL_ENDED. From any thread. */
void signals_post(void);

#endif
