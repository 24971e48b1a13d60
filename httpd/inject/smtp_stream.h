/*
 * smtp_stream: bytes to and from an SMTP server, without waiting.
 *
 * What is written goes out at once as far as the socket takes it; the rest is
 * kept and goes out by itself. No bufferevent: that would go through the event
 * loop and two system calls more for each of the many small writes.
 */
#ifndef POSTERN_HTTPD_SMTP_STREAM_H
#define POSTERN_HTTPD_SMTP_STREAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct event_base;
struct smtp_stream;

struct smtp_stream_spec {
	struct event_base *base;
	const char *server; /* as smtp_server has it */
	/* There is something to read, or the end. */
	void (*readable)(void *arg);
	/* The rest that was kept can go on: flush. */
	void (*writable)(void *arg);
	void *arg;
};

/* Begins to connect. 0, or -1 when that cannot be; where it fails later,
 * reading or writing tells. The caller frees the stream. */
int smtp_stream_open(const struct smtp_stream_spec *spec,
	struct smtp_stream **stream_r, struct err *err);
void smtp_stream_free(struct smtp_stream *stream);

/* Where to add what is to be written; goes out by smtp_stream_flush(). */
struct buf *smtp_stream_out(struct smtp_stream *stream);

/* 1: all has gone out, and out is empty; 0: writable will tell when it goes on;
 * -1: the connection is dead. */
int smtp_stream_flush(struct smtp_stream *stream, struct err *err);

/* Whether all that was added has gone out. */
bool smtp_stream_is_flushed(const struct smtp_stream *stream);

/* How many bytes were read; 0: there is nothing now; -1: the connection is dead
 * or closed. */
ssize_t smtp_stream_read(
	struct smtp_stream *stream, char *to, size_t size, struct err *err);

#endif
