/*
 * milter_ask: the MTA's side of the milter protocol, version 6.
 *
 * A packet is its length (4 bytes, network order), a letter, and data. The milter has announced
 * which commands it does not answer; for the others the answer is read. Numbers and letters are
 * those of libmilter/mfdef.h, which only the milter may include. Blocks.
 */
#include "cli/milter_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum {
	VERSION = 6,
	ALL_ACTIONS = 0x1ff,
	/* Any step may be skipped or go unanswered; header values have no leading space. */
	ALL_STEPS = 0xfffff,
	TIMEOUT_S = 60,
	PACKET_MAX = 1024 * 1024,
	OPTIONS_LEN = 12,
};

/* The flags by which the milter skips a step, or does not answer it. */
static const struct step {
	char command;
	uint32_t left_out;
	uint32_t unanswered;
} steps[] = {
	{'C', 0x1, 0x1000},
	{'M', 0x4, 0x4000},
	{'R', 0x8, 0x8000},
	{'L', 0x20, 0x80},
};

struct session {
	int fd;
	uint32_t steps; /* as negotiated by the milter */
	struct buf out;
	struct buf in; /* the last packet: its letter and its data */
};

static int cannot_ask(const char *why, struct err *err)
{
	return err_set(err, ERR_TEMPORARY, "cannot ask postern-milter about the rules: %s", why);
}

static void add_packet(struct session *session, char command, const void *data, size_t len)
{
	uint32_t length = htonl((uint32_t)len + 1);

	buf_add(&session->out, &length, sizeof(length));
	buf_add_char(&session->out, command);
	buf_add(&session->out, data, len);
}

static int send_out(struct session *session, struct err *err)
{
	size_t sent = 0;

	while (sent < session->out.len) {
		ssize_t n = send(session->fd, session->out.data + sent, session->out.len - sent,
			MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return cannot_ask(strerror(errno), err);
		sent += n > 0 ? (size_t)n : 0;
	}
	buf_clear(&session->out);
	return 0;
}

static int receive(struct session *session, size_t len, struct err *err)
{
	buf_clear(&session->in);
	while (session->in.len < len) {
		size_t left = len - session->in.len;
		ssize_t n = recv(session->fd, buf_reserve(&session->in, left), left, 0);

		if (n == 0)
			return cannot_ask("it closed the connection", err);
		if (n < 0 && errno != EINTR)
			return cannot_ask(strerror(errno), err);
		buf_wrote(&session->in, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

static int read_packet(struct session *session, struct err *err)
{
	uint32_t length;

	if (send_out(session, err) < 0 || receive(session, sizeof(length), err) < 0)
		return -1;
	memcpy(&length, session->in.data, sizeof(length));
	length = ntohl(length);
	if (length == 0 || length > PACKET_MAX)
		return cannot_ask("it does not speak the milter protocol", err);
	return receive(session, length, err);
}

/* Connects to the milter and negotiates the protocol. */
static int open_session(struct session *session, const char *path, struct err *err)
{
	const uint32_t options[] = {htonl(VERSION), htonl(ALL_ACTIONS), htonl(ALL_STEPS)};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = TIMEOUT_S};

	if (strlen(path) >= sizeof(address.sun_path))
		return cannot_ask("the path of its socket is too long", err);
	strcpy(address.sun_path, path);
	session->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (session->fd < 0)
		return cannot_ask(strerror(errno), err);
	setsockopt(session->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(session->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(session->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, ERR_TEMPORARY,
			"cannot ask postern-milter about the rules, at %s: %s", path,
			strerror(errno));
	add_packet(session, 'O', options, sizeof(options));
	if (read_packet(session, err) < 0)
		return -1;
	if (session->in.data[0] != 'O' || session->in.len < OPTIONS_LEN + 1)
		return cannot_ask("it refuses the milter protocol", err);
	memcpy(&session->steps, session->in.data + 1 + 8, sizeof(session->steps));
	session->steps = ntohl(session->steps);
	return 0;
}

/* Sends a step. The milter decides at the end of the message, so any answer but "continue" before
 * that is a failure. */
static int take_step(
	struct session *session, char command, const void *data, size_t len, struct err *err)
{
	const struct step *step = steps;

	while (step->command != command)
		step++;
	if (session->steps & step->left_out)
		return 0;
	add_packet(session, command, data, len);
	if (session->steps & step->unanswered)
		return 0;
	if (read_packet(session, err) < 0)
		return -1;
	if (session->in.data[0] != 'c')
		return cannot_ask("it decided before the end of the message", err);
	return 0;
}

static int tell_address(struct session *session, char command, const char *address, struct err *err)
{
	_cleanup_free_ char *path = mem_printf("<%s>", address);

	return take_step(session, command, path, strlen(path) + 1, err);
}

/* Macros apply to the next command. */
static void add_macros(struct session *session, char command, const struct milter_message *message)
{
	_cleanup_buf_ struct buf data = BUF_INIT;

	buf_add_char(&data, command);
	buf_add(&data, "i", 2);
	buf_add(&data, message->queue_id, strlen(message->queue_id) + 1);
	if (command == 'M') {
		buf_add(&data, "{mail_addr}", sizeof("{mail_addr}"));
		buf_add(&data, message->sender, strlen(message->sender) + 1);
	}
	add_packet(session, 'D', data.data, data.len);
}

/* For mail from sendmail(1), which has no client, Postfix sends this one. */
static int tell_envelope(
	struct session *session, const struct milter_message *message, struct err *err)
{
	static const char client[] =
		"localhost\0"
		"4\0\0"
		"127.0.0.1";

	if (take_step(session, 'C', client, sizeof(client), err) < 0)
		return -1;
	add_macros(session, 'M', message);
	if (tell_address(session, 'M', message->sender, err) < 0)
		return -1;
	for (size_t i = 0; i < message->recipients->n; i++)
		if (tell_address(session, 'R', message->recipients->items[i], err) < 0)
			return -1;
	return 0;
}

/* Sends each field, still folded, without its last line break. */
static int tell_header(struct session *session, const char *header, struct err *err)
{
	while (*header) {
		size_t len = strcspn(header, "\n");
		const char *colon;

		while (header[len] && (header[len + 1] == ' ' || header[len + 1] == '\t'))
			len += 1 + strcspn(header + len + 1, "\n");
		colon = memchr(header, ':', len);
		if (colon) {
			_cleanup_buf_ struct buf data = BUF_INIT;
			const char *value = colon + 1;

			buf_add(&data, header, (size_t)(colon - header));
			buf_add_char(&data, '\0');
			if (value < header + len && *value == ' ')
				value++;
			buf_add(&data, value, (size_t)(header + len - value));
			buf_add_char(&data, '\0');
			if (take_step(session, 'L', data.data, data.len, err) < 0)
				return -1;
		}
		header += len + (header[len] == '\n');
	}
	return 0;
}

static int tempfailed(const char *text, struct err *err)
{
	return err_set(
		err, ERR_TEMPORARY, "postern-milter cannot tell now%s%s", *text ? ": " : "", text);
}

/* Reads the milter's changes, then its answer. */
static int read_milter_answer(
	struct session *session, enum milter_answer *answer_r, char **text, struct err *err)
{
	enum milter_answer passes = MILTER_PASSES;
	const char *reply;

	add_packet(session, 'E', NULL, 0);
	for (;;) {
		if (read_packet(session, err) < 0)
			return -1;
		switch (session->in.data[0]) {
		case 'q':
			free(*text);
			*text = mem_strdup(session->in.data + 1);
			passes = MILTER_HOLDS;
			break;
		case 'p': /* it is still at work */
			break;
		case 'a':
		case 'c':
			*answer_r = passes;
			return 0;
		case 'd':
			*answer_r = MILTER_DISCARDS;
			return 0;
		case 'y': /* `550 5.7.1 text` */
			reply = session->in.data + 1;
			free(*text);
			*text = mem_strdup(reply + strspn(reply, "0123456789. "));
			if (*reply == '4')
				return tempfailed(*text, err);
			*answer_r = MILTER_REJECTS;
			return 0;
		case 'r':
			*answer_r = MILTER_REJECTS;
			return 0;
		case 't':
			return tempfailed("", err);
		default:
			if (passes == MILTER_PASSES)
				passes = MILTER_CHANGES;
		}
	}
}

int milter_ask(const char *socket, const struct milter_message *message,
	enum milter_answer *answer_r, char **text_r, struct err *err)
{
	struct session session = {.fd = -1};
	char *text = NULL;
	int result = -1;

	if (open_session(&session, socket, err) == 0 &&
		tell_envelope(&session, message, err) == 0 &&
		tell_header(&session, message->header, err) == 0) {
		add_macros(&session, 'E', message);
		result = read_milter_answer(&session, answer_r, &text, err);
	}
	if (result == 0) {
		add_packet(&session, 'Q', NULL, 0);
		send_out(&session, NULL);
		*text_r = TAKE_PTR(text);
	}
	if (session.fd >= 0)
		close(session.fd);
	buf_free(&session.out);
	buf_free(&session.in);
	free(text);
	return result;
}
