/* fake_smtpd: an SMTP server on the test's own event base. */
#include "tests/unit/fake_smtpd.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"

struct client {
	struct fake_smtpd *smtpd;
	struct bufferevent *io;
	int number;
	int message;
	bool in_content;
	bool sender_taken, rcpt_taken; /* of the message */
	size_t chunk;                  /* bytes that are to come */
	LIST_ENTRY(client) link;
};

struct fake_smtpd {
	struct event_base *base;
	struct evconnlistener *listener;
	const struct smtpd_rule *rules;
	struct buf log;
	int connections, open, most, messages;
	char path[108];
	LIST_HEAD(, client) clients;
};

static const struct smtpd_rule usual[] = {
	{.on = "CONNECT", .reply = "220 fake ESMTP"},
	{.on = "EHLO",
		.reply = "250-fake\r\n250-PIPELINING\r\n250-SIZE 1000\r\n"
			 "250-8BITMIME\r\n250 SMTPUTF8"},
	{.on = "DATA", .reply = "354 go on"},
	{.on = "QUIT", .reply = "221 2.0.0 bye"},
	{.on = "CONTENT", .reply = ""},
	{.on = "UNASKED", .reply = "503 5.5.1 no recipient"},
	{.on = "", .reply = "250 2.0.0 ok"},
	{0},
};

static const struct smtpd_rule *fitting(
	const struct smtpd_rule *rules, const struct client *client, const char *line)
{
	for (; rules->on; rules++)
		if (str_starts(line, rules->on) &&
			(!rules->connection || rules->connection == client->number) &&
			(!rules->message || rules->message == client->message))
			return rules;
	return NULL;
}

static void client_free(struct client *client)
{
	LIST_REMOVE(client, link);
	client->smtpd->open--;
	bufferevent_free(client->io);
	free(client);
}

/* NULL when the connection was closed. */
static const char *answer(struct client *client, const char *line)
{
	const struct smtpd_rule *rule = fitting(client->smtpd->rules, client, line);

	if (rule == NULL)
		rule = fitting(usual, client, line);
	if (rule->reply == NULL)
		client_free(client);
	else if (rule->reply[0])
		evbuffer_add_printf(bufferevent_get_output(client->io), "%s\r\n", rule->reply);
	return rule->reply;
}

/* One line; false when the connection was closed. */
static bool take_line(struct client *client, const char *line)
{
	const char *reply;

	if (client->in_content && !str_eq(line, "."))
		return true;
	if (client->in_content) {
		client->in_content = false;
		client->smtpd->messages++;
	}
	if (str_starts(line, "MAIL")) {
		client->message++;
		client->sender_taken = client->rcpt_taken = false;
	}
	if (str_starts(line, "BDAT")) {
		client->chunk = strtoul(line + strlen("BDAT "), NULL, 10);
		return true;
	}
	reply = answer(client, line);
	if (reply && reply[0] == '2' && str_starts(line, "MAIL"))
		client->sender_taken = true;
	if (reply && reply[0] == '2' && str_starts(line, "RCPT"))
		client->rcpt_taken = true;
	if (reply && str_starts(line, "DATA") && reply[0] == '3') {
		client->in_content = true;
		reply = answer(client, "CONTENT");
	}
	return reply != NULL;
}

/* The chunk, once all of it is there; false when the connection was closed. */
static bool take_chunk(struct client *client, struct evbuffer *input)
{
	const char *data = (char *)evbuffer_pullup(input, (ev_ssize_t)client->chunk);

	buf_add(&client->smtpd->log, data, client->chunk);
	evbuffer_drain(input, client->chunk);
	client->chunk = 0;
	if (client->sender_taken && client->rcpt_taken) {
		client->smtpd->messages++;
		return answer(client, "CHUNK") != NULL;
	}
	return answer(client, "UNASKED") != NULL;
}

static void on_client_readable(struct bufferevent *io, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(io);
	struct client *client = arg;
	bool open = true;
	char *line;

	while (open && client->chunk > 0 && evbuffer_get_length(input) >= client->chunk)
		open = take_chunk(client, input);
	while (open && client->chunk == 0 &&
		(line = evbuffer_readln(
			 bufferevent_get_input(io), NULL, EVBUFFER_EOL_CRLF_STRICT)) != NULL) {
		buf_printf(&client->smtpd->log, "%s\r\n", line);
		open = take_line(client, line);
		free(line);
		if (open && client->chunk > 0 && evbuffer_get_length(input) >= client->chunk)
			open = take_chunk(client, input);
	}
}

static void on_client_event(struct bufferevent *io, short what, void *arg)
{
	(void)io;
	(void)what;
	client_free(arg);
}

static void on_connect(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
	int len, void *arg)
{
	struct client *client = mem_new(struct client);
	struct fake_smtpd *smtpd = arg;

	(void)listener;
	(void)peer;
	(void)len;
	client->smtpd = smtpd;
	client->number = ++smtpd->connections;
	if (++smtpd->open > smtpd->most)
		smtpd->most = smtpd->open;
	client->io = bufferevent_socket_new(smtpd->base, fd, BEV_OPT_CLOSE_ON_FREE);
	LIST_INSERT_HEAD(&smtpd->clients, client, link);
	bufferevent_setcb(client->io, on_client_readable, NULL, on_client_event, client);
	bufferevent_enable(client->io, EV_READ | EV_WRITE);
	answer(client, "CONNECT");
}

struct fake_smtpd *fake_smtpd_new(
	struct event_base *base, const char *path, const struct smtpd_rule *rules)
{
	struct fake_smtpd *smtpd = mem_new(struct fake_smtpd);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	memcpy(smtpd->path, address.sun_path, sizeof(smtpd->path));
	smtpd->base = base;
	smtpd->rules = rules;
	smtpd->listener = evconnlistener_new_bind(base, on_connect, smtpd, LEV_OPT_CLOSE_ON_FREE,
		16, (struct sockaddr *)&address, sizeof(address));
	if (smtpd->listener == NULL)
		abort();
	return smtpd;
}

void fake_smtpd_say(struct fake_smtpd *smtpd, int connection, const char *line)
{
	struct client *client;

	LIST_FOREACH(client, &smtpd->clients, link)
		if (client->number == connection)
			evbuffer_add_printf(bufferevent_get_output(client->io), "%s\r\n", line);
}

void fake_smtpd_hang_up(struct fake_smtpd *smtpd)
{
	while (!LIST_EMPTY(&smtpd->clients))
		client_free(LIST_FIRST(&smtpd->clients));
}

void fake_smtpd_free(struct fake_smtpd *smtpd)
{
	fake_smtpd_hang_up(smtpd);
	evconnlistener_free(smtpd->listener);
	unlink(smtpd->path);
	buf_free(&smtpd->log);
	free(smtpd);
}

void fake_smtpd_rules(struct fake_smtpd *smtpd, const struct smtpd_rule *rules)
{
	smtpd->rules = rules;
}

const char *fake_smtpd_log(const struct fake_smtpd *smtpd)
{
	return buf_str(&smtpd->log);
}

int fake_smtpd_connections(const struct fake_smtpd *smtpd)
{
	return smtpd->connections;
}

int fake_smtpd_open(const struct fake_smtpd *smtpd)
{
	return smtpd->open;
}

int fake_smtpd_most(const struct fake_smtpd *smtpd)
{
	return smtpd->most;
}

int fake_smtpd_messages(const struct fake_smtpd *smtpd)
{
	return smtpd->messages;
}
