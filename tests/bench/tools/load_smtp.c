/*
 * load_smtp: messages over a session that is kept open, one command at a time
 * as smtp-source(1) does it. An item is a message as it goes over the wire,
 * with CRLF, dots doubled, and without the dot at its end.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/tools/load.h"

enum { COMMAND_MAX = 512 };

/* The code of the whole reply (RFC 5321 4.2.1), or -1. */
static long reply(struct session *session)
{
	const char *line;

	do
		line = session_line(session);
	while (line && line[0] && line[1] && line[2] && line[3] == '-');
	return line ? strtol(line, NULL, 10) : -1;
}

/* Sends a command with up to two pieces: 0 when the reply is of the class that
 * the digit names. */
static int command(struct session *session, const char *verb, const char *rest, int wanted)
{
	char text[COMMAND_MAX];
	int len = snprintf(text, sizeof(text), "%s%s\r\n", verb, rest);

	if (session_write(session, text, (size_t)len) < 0)
		return -1;
	return reply(session) / 100 == wanted ? 0 : -1;
}

static int smtp_greet(struct session *session, const void *arg)
{
	const struct load_envelope *envelope = arg;

	if (reply(session) / 100 != 2)
		return -1;
	if (command(session, "EHLO ", "localhost", 2) < 0)
		return -1;
	return envelope->login ? command(session, "AUTH PLAIN ", envelope->login, 2) : 0;
}

/* Up to the data. */
static int begin(struct session *session, const char *sender, const char *recipient)
{
	if (command(session, "MAIL FROM:", sender, 2) < 0 ||
		command(session, "RCPT TO:", recipient, 2) < 0)
		return -1;
	return command(session, "DATA", "", 3);
}

/* The item's own recipient, and the rest of it; false when it has none. */
static bool take_recipient(struct load_item *item, char recipient[static COMMAND_MAX])
{
	const char *end = memchr(item->data, '\n', item->len);
	size_t len = end ? (size_t)(end - item->data) : 0;

	if (len == 0 || len >= COMMAND_MAX)
		return false;
	memcpy(recipient, item->data, len);
	recipient[len] = '\0';
	item->data += len + 1;
	item->len -= len + 1;
	return true;
}

static int smtp_exchange(
	struct session *session, const struct load_item *item, const void *arg, int *done_r)
{
	const struct load_envelope *envelope = arg;
	bool own = strcmp(envelope->recipient, "-") == 0;
	struct load_item rest = *item;
	char recipient[COMMAND_MAX];
	long code;

	if (own && !take_recipient(&rest, recipient))
		return -1;
	if (begin(session, envelope->sender, own ? recipient : envelope->recipient) < 0 ||
		session_write(session, rest.data, rest.len) < 0 ||
		session_write(session, ".\r\n", 3) < 0)
		return -1;
	code = reply(session);
	*done_r = code / 100 == 2;
	return code / 100 == 2 || code / 100 == 5 ? 0 : -1;
}

const struct load_protocol load_smtp = {smtp_greet, smtp_exchange};
