/*
 * milter_greet: the option negotiation of the milter protocol, version 6.
 *
 * A packet is a length (4 bytes, network byte order), a command letter and data. The first
 * packet in each direction is SMFIC_OPTNEG with version, actions and steps, 4 bytes each
 * (libmilter/mfdef.h, which only the milter may include).
 *
 * Threads: any.
 */
#include "core/postfix/milter_greet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/socket.h"

enum {
	VERSION = 6,
	ALL_ACTIONS = 0x1ff,
	ALL_STEPS = 0xfffff,
	HEAD_LEN = 5, /* length and letter of a packet */
};

static const char OPTNEG = 'O', QUIT = 'Q';

/* The packet is small, so it always fits into the socket's send buffer. */
static int send_packet(int fd, char letter, const uint32_t *data, size_t n)
{
	char packet[HEAD_LEN + 3 * sizeof(*data)];
	size_t len = n * sizeof(*data);
	uint32_t length = htonl((uint32_t)len + 1);

	memcpy(packet, &length, sizeof(length));
	packet[sizeof(length)] = letter;
	if (len)
		memcpy(packet + HEAD_LEN, data, len);
	return send(fd, packet, HEAD_LEN + len, MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* Reads the command letter of the answer. Its data is not needed. */
static int receive_letter(int fd, int timeout_ms, char *letter_r)
{
	int64_t end_us = clock_monotonic_us() + timeout_ms * INT64_C(1000);
	char head[HEAD_LEN];
	size_t n = 0;

	while (n < sizeof(head)) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left_ms = (end_us - clock_monotonic_us()) / 1000;
		ssize_t got;

		if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) == 0)
			return ETIMEDOUT;
		got = recv(fd, head + n, sizeof(head) - n, 0);
		if (got == 0)
			return EPROTO;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		n += got > 0 ? (size_t)got : 0;
	}
	*letter_r = head[HEAD_LEN - 1];
	return 0;
}

int milter_greet(const char *path, int timeout_ms)
{
	const uint32_t options[] = {htonl(VERSION), htonl(ALL_ACTIONS), htonl(ALL_STEPS)};
	char letter = '\0';
	int fd = -1, number = socket_connect(path, SOCK_STREAM | SOCK_NONBLOCK, &fd);

	/* EAGAIN: the milter does not accept connections, and its backlog is full. */
	if (number)
		return number == EAGAIN ? ETIMEDOUT : number;
	number = send_packet(fd, OPTNEG, options, sizeof(options) / sizeof(*options));
	if (number == 0)
		number = receive_letter(fd, timeout_ms, &letter);
	if (number == 0 && letter != OPTNEG)
		number = EPROTO;
	if (number == 0)
		send_packet(fd, QUIT, NULL, 0);
	close(fd);
	return number;
}
