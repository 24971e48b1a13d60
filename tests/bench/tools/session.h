/*
 * session: a connection that asks and waits for the answer.
 *
 * Blocking; one thread at a time.
 */
#ifndef POSTERN_BENCH_SESSION_H
#define POSTERN_BENCH_SESSION_H

#include <stddef.h>

enum { SESSION_INPUT = 16384 };

struct session {
	int fd;
	size_t begin, end; /* of what is read and not yet looked at */
	char input[SESSION_INPUT];
};

/* Connects to HOST:PORT or to the path of a Unix-domain socket: 0 or -1. */
int session_open(struct session *session, const char *address);
void session_close(struct session *session);

/* 0, or -1 when the other side is gone. */
int session_write(struct session *session, const void *data, size_t len);

/* The next line without its end, as a string that lives until the next call;
 * NULL when there is none, or none so short. */
const char *session_line(struct session *session);

/* Throws away so many bytes: 0 or -1. */
int session_skip(struct session *session, size_t len);

#endif
