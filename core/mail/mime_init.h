/*
 * mime_init: makes GMime ready.
 */
#ifndef POSTERN_MAIL_MIME_INIT_H
#define POSTERN_MAIL_MIME_INIT_H

/* Whoever calls GMime calls this before; any thread, any number of times. */
void mime_init(void);

#endif
