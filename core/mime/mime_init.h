/*
 * mime_init: makes GMime ready.
 */
#ifndef POSTERN_MIME_MIME_INIT_H
#define POSTERN_MIME_MIME_INIT_H

/* Whoever calls GMime calls this before; any thread, any number of times. A
 * server does it before its threads. */
void mime_init(void);

#endif
