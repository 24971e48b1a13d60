/*
 * smtp_stream: a socket that does not block, and what could not be written yet.
 *
 * Threads: the worker's.
 */
#include "httpd/inject/smtp_stream.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "httpd/inject/smtp_server.h"

struct smtp_stream {
	struct smtp_stream_spec spec;
	int fd;
	struct event *read;
	struct event *write; /* added while something waits */
	struct buf out;
	size_t sent; /* of out */
};

static void on_stream_readable(evutil_socket_t fd, short what, void *arg)
{
	struct smtp_stream *stream = arg;

	(void)fd;
	(void)what;
	stream->spec.readable(stream->spec.arg);
}

static void on_stream_writable(evutil_socket_t fd, short what, void *arg)
{
	struct smtp_stream *stream = arg;

	(void)fd;
	(void)what;
	stream->spec.writable(stream->spec.arg);
}

int smtp_stream_open(const struct smtp_stream_spec *spec,
	struct smtp_stream **stream_r, struct err *err)
{
	struct smtp_stream *stream;
	int fd;

	if (smtp_server_connect(spec->server, &fd, err) < 0)
		return -1;
	stream = mem_new(struct smtp_stream);
	stream->spec = *spec;
	stream->fd = fd;
	stream->read = event_new(spec->base, fd, EV_READ | EV_PERSIST,
		on_stream_readable, stream);
	stream->write = event_new(
		spec->base, fd, EV_WRITE, on_stream_writable, stream);
	event_add(stream->read, NULL);
	*stream_r = stream;
	return 0;
}

void smtp_stream_free(struct smtp_stream *stream)
{
	if (stream == NULL)
		return;
	event_free(stream->read);
	event_free(stream->write);
	close(stream->fd);
	buf_free(&stream->out);
	free(stream);
}

struct buf *smtp_stream_out(struct smtp_stream *stream)
{
	return &stream->out;
}

bool smtp_stream_is_flushed(const struct smtp_stream *stream)
{
	return stream->sent == stream->out.len;
}

static bool must_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
	       errno == ENOTCONN;
}

int smtp_stream_flush(struct smtp_stream *stream, struct err *err)
{
	while (!smtp_stream_is_flushed(stream)) {
		ssize_t n = send(stream->fd, stream->out.data + stream->sent,
			stream->out.len - stream->sent, MSG_NOSIGNAL);

		if (n >= 0) {
			stream->sent += (size_t)n;
			continue;
		}
		if (!must_wait())
			return err_set(err, ERR_TEMPORARY,
				"cannot write to %s: %s", stream->spec.server,
				strerror(errno));
		event_add(stream->write, NULL);
		return 0;
	}
	buf_clear(&stream->out);
	stream->sent = 0;
	return 1;
}

ssize_t smtp_stream_read(
	struct smtp_stream *stream, char *to, size_t size, struct err *err)
{
	ssize_t n = recv(stream->fd, to, size, 0);

	if (n > 0)
		return n;
	if (n < 0 && must_wait())
		return 0;
	return err_set(err, ERR_TEMPORARY, "%s: %s", stream->spec.server,
		n == 0 ? "the connection was closed" : strerror(errno));
}
