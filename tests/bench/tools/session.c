/*
 * session: a connection that asks and waits for the answer.
 *
 * Invariant: begin <= end <= SESSION_INPUT.
 * Threads: one at a time.
 */
#include "tests/bench/tools/session.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_unix(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int connect_found(const struct addrinfo *found)
{
	const int on = 1;
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, found->ai_addr, found->ai_addrlen) == 0)
		return fd;
	close(fd);
	return -1;
}

static int connect_tcp(const char *address)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(address, ':');
	struct addrinfo *found;
	char host[64];
	int fd;

	if (colon == NULL)
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -1;
	fd = connect_found(found);
	freeaddrinfo(found);
	return fd;
}

int session_open(struct session *session, const char *address)
{
	session->begin = session->end = 0;
	session->fd = address[0] == '/' ? connect_unix(address) : connect_tcp(address);
	return session->fd < 0 ? -1 : 0;
}

void session_close(struct session *session)
{
	if (session->fd >= 0)
		close(session->fd);
	session->fd = -1;
}

int session_write(struct session *session, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(session->fd, at, len, MSG_NOSIGNAL);

		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Reads more behind what is there, which is moved to the front. */
static int fill(struct session *session)
{
	size_t kept = session->end - session->begin;
	ssize_t n;

	memmove(session->input, session->input + session->begin, kept);
	session->begin = 0;
	session->end = kept;
	n = recv(session->fd, session->input + kept, SESSION_INPUT - kept, 0);
	if (n <= 0)
		return -1;
	session->end += (size_t)n;
	return 0;
}

const char *session_line(struct session *session)
{
	char *line, *end;

	while ((end = memchr(session->input + session->begin, '\n',
			session->end - session->begin)) == NULL)
		if (fill(session) < 0)
			return NULL;
	line = session->input + session->begin;
	session->begin = (size_t)(end + 1 - session->input);
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	return line;
}

int session_skip(struct session *session, size_t len)
{
	for (;;) {
		size_t there = session->end - session->begin;

		if (len <= there) {
			session->begin += len;
			return 0;
		}
		len -= there;
		session->begin = session->end;
		if (fill(session) < 0)
			return -1;
	}
}
