/*
 * burst: how libmilter reads, for a milter that is asked often.
 *
 * The lock holds the table of connections and whose turn it is. What a
 * connection has is used by one thread at a time, as libmilter sees to it.
 */
#include "milter/burst.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"

enum {
	/* Of a connection's buffer; a message of usual size fits. */
	BUFFER = 16 * 1024,
	/* With this timeout libmilter asks whether to keep a connection. */
	ASKED_TO_KEEP_MS = 1,
	/* So long it stays with its thread... */
	KEEP_MS = 20,
	/* ...unless so many others do: a thread costs memory. */
	KEPT_MAX = 64,
	/* When a thread does not begin with what it was given, go on anyway. */
	HANDED_WAIT_S = 1,
};

struct conn {
	char *data; /* BUFFER bytes, or NULL */
	size_t at;
	size_t len;
	bool ended; /* the client has closed it */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t begun;
	struct conn **conns; /* by descriptor */
	int size;
	int handed; /* no thread has begun with this one; -1: none */
	int last;   /* handed out before */
	int kept;
} bursts = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.begun = PTHREAD_COND_INITIALIZER,
	.handed = -1,
	.last = -1,
};

/* With the lock. */
static struct conn *find(int fd)
{
	return fd >= 0 && fd < bursts.size ? bursts.conns[fd] : NULL;
}

static struct conn *look_up(int fd)
{
	struct conn *conn;

	pthread_mutex_lock(&bursts.lock);
	conn = find(fd);
	pthread_mutex_unlock(&bursts.lock);
	return conn;
}

/* With the lock: waits for the one handed out before, then this one is it. */
static void hand_out(int fd)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANDED_WAIT_S;
	while (bursts.handed >= 0 && pthread_cond_timedwait(&bursts.begun,
					     &bursts.lock, &until) == 0) {
	}
	bursts.handed = bursts.last = fd;
}

/* With the lock: a thread has begun with it, or it is closed. */
static void has_begun(int fd)
{
	if (bursts.handed != fd)
		return;
	bursts.handed = -1;
	pthread_cond_broadcast(&bursts.begun);
}

/* With the lock. */
static void make_room(int fd)
{
	int size = bursts.size ? bursts.size : 64;

	while (size <= fd)
		size *= 2;
	if (size == bursts.size)
		return;
	bursts.conns = mem_grow(
		bursts.conns, (size_t)size, sizeof(*bursts.conns));
	memset(bursts.conns + bursts.size, 0,
		(size_t)(size - bursts.size) * sizeof(*bursts.conns));
	bursts.size = size;
}

int burst_accept(int listener, struct sockaddr *address, socklen_t *len)
{
	int fd = accept(listener, address, len);

	if (fd < 0)
		return fd;
	pthread_mutex_lock(&bursts.lock);
	make_room(fd);
	bursts.conns[fd] = mem_new(struct conn);
	hand_out(fd);
	pthread_mutex_unlock(&bursts.lock);
	return fd;
}

int burst_close(int fd)
{
	struct conn *conn;

	pthread_mutex_lock(&bursts.lock);
	conn = find(fd);
	if (conn) {
		bursts.conns[fd] = NULL;
		has_begun(fd);
	}
	pthread_mutex_unlock(&bursts.lock);
	if (conn)
		free(conn->data);
	free(conn);
	return close(fd);
}

/* Reads what is there, without waiting: whether libmilter finds something to
 * read, be it the end or an error. */
static bool fill(struct conn *conn, int fd)
{
	ssize_t n;

	if (conn->at < conn->len || conn->ended)
		return true;
	if (conn->data == NULL)
		conn->data = mem_grow(NULL, 1, BUFFER);
	n = recv(fd, conn->data, BUFFER, MSG_DONTWAIT);
	conn->at = 0;
	conn->len = n > 0 ? (size_t)n : 0;
	conn->ended = n == 0;
	return n >= 0;
}

/* Whether one more may wait for its next command; if so, it counts. */
static bool keep(void)
{
	bool may;

	pthread_mutex_lock(&bursts.lock);
	may = bursts.kept < KEPT_MAX;
	bursts.kept += may;
	pthread_mutex_unlock(&bursts.lock);
	return may;
}

static void keep_no_more(void)
{
	pthread_mutex_lock(&bursts.lock);
	bursts.kept--;
	pthread_mutex_unlock(&bursts.lock);
}

/* A thread waits for its connection. */
static int poll_one(struct conn *conn, struct pollfd *poll_fd, int timeout_ms)
{
	bool kept;
	int n;

	if ((poll_fd->events & POLLIN) == 0)
		return poll(poll_fd, 1, timeout_ms);
	if (fill(conn, poll_fd->fd)) {
		poll_fd->revents = POLLIN;
		return 1;
	}
	if (timeout_ms > ASKED_TO_KEEP_MS)
		return poll(poll_fd, 1, timeout_ms);
	kept = keep();
	n = poll(poll_fd, 1, kept ? KEEP_MS : timeout_ms);
	if (kept)
		keep_no_more();
	if (n == 0) {
		free(conn->data);
		conn->data = NULL;
	}
	return n;
}

/* With the lock: leaves one connection ready of all that are, the next one in
 * turn. The pipe among them is none. How many are left ready. */
static int leave_one(struct pollfd *fds, nfds_t n)
{
	struct pollfd *chosen = NULL;
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].revents == 0 || find(fds[i].fd) == NULL)
			continue;
		if (chosen == NULL ||
			(chosen->fd <= bursts.last && fds[i].fd > bursts.last))
			chosen = &fds[i];
	}
	for (nfds_t i = 0; i < n; i++) {
		if (&fds[i] != chosen && find(fds[i].fd))
			fds[i].revents = 0;
		ready += fds[i].revents != 0;
	}
	if (chosen)
		hand_out(chosen->fd);
	return ready;
}

int burst_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct conn *conn;
	int ready;

	if (n == 1) {
		pthread_mutex_lock(&bursts.lock);
		conn = find(fds->fd);
		if (conn)
			has_begun(fds->fd);
		pthread_mutex_unlock(&bursts.lock);
		return conn ? poll_one(conn, fds, timeout_ms)
			    : poll(fds, 1, timeout_ms);
	}
	ready = poll(fds, n, timeout_ms);
	if (ready <= 0)
		return ready;
	pthread_mutex_lock(&bursts.lock);
	ready = leave_one(fds, n);
	pthread_mutex_unlock(&bursts.lock);
	return ready;
}

ssize_t burst_read(int fd, void *to, size_t size)
{
	struct conn *conn = look_up(fd);
	size_t n;

	if (conn == NULL || (conn->at == conn->len && !conn->ended))
		return read(fd, to, size);
	n = conn->len - conn->at < size ? conn->len - conn->at : size;
	memcpy(to, conn->data + conn->at, n);
	conn->at += n;
	return (ssize_t)n;
}
