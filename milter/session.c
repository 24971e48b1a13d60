/*
 * session: the state of one connection.
 *
 * Invariant: outside a message (before MAIL FROM, after its end) message is
 * all zero; within one, sender is not NULL and what is kept is within limits.
 * Threads: libmilter runs the callbacks of one connection on any thread, but
 * never two at once.
 */
#include "milter/session.h"

#include <string.h>

#include "core/base/str.h"
#include "core/policy/recipient_set.h"
#include "core/policy/private_headers.h"

/* The fields by which receivers tell whom a message is from, besides From: the
 * rest of RFC 4407 2. Reply-To is not among them: it says where answers go,
 * and is often of another domain. */
static const char *const other_fields[] = {
	"Sender", "Resent-From", "Resent-Sender"};

struct session *session_new(enum mail_origin origin, const char *client)
{
	struct session *session = mem_new(struct session);

	session->origin = origin;
	session->client = mem_strdup(client);
	return session;
}

void session_free(struct session *session)
{
	if (session == NULL)
		return;
	session_reset(session);
	free(session->client);
	free(session);
}

void session_reset(struct session *session)
{
	struct session_message *message = &session->message;

	free(message->sender);
	free(message->resolved);
	free(message->login);
	free(message->queue_id);
	free(message->ticket);
	buf_free(&message->recipients);
	strv_free(&message->froms.values);
	strv_free(&message->others.values);
	*message = (struct session_message){0};
}

/* Postfix gives the address bare when it came by sendmail(1). */
static char *without_brackets(const char *address)
{
	size_t len = strlen(address);

	if (len >= 2 && address[0] == '<' && address[len - 1] == '>')
		return mem_dup(address + 1, len - 2);
	return mem_strdup(address);
}

void session_begin(struct session *session, const char *sender, const char *login)
{
	session_reset(session);
	session->message.sender = without_brackets(sender);
	if (!str_empty(login))
		session->message.login = mem_strdup(login);
}

void session_resolved(struct session *session, const char *address)
{
	free(session->message.resolved);
	session->message.resolved = mem_strdup(address);
}

/* One that is too many is kept, so that it shows. */
void session_recipient(struct session *session, const char *address)
{
	struct buf *recipients = &session->message.recipients;

	if (recipients->len <= (size_t)SESSION_RECIPIENTS * RECIPIENT_DIGITS)
		recipient_set_add(recipients, address);
}

static void add_field(struct session_fields *fields, const char *value)
{
	size_t len = strlen(value);

	if (fields->values.n == SESSION_SENDER_FIELDS ||
		len > SESSION_SENDER_BYTES - fields->bytes) {
		fields->overflow = true;
		return;
	}
	strv_add(&fields->values, value);
	fields->bytes += len;
}

static void add_ticket(struct session_message *message, const char *value)
{
	if (message->tickets <= SESSION_TICKET_FIELDS)
		message->tickets++;
	if (message->ticket)
		return;
	message->ticket = str_trim(
		value, strnlen(value, SESSION_TICKET_LENGTH + 1));
}

void session_queue_id(struct session *session, const char *queue_id)
{
	free(session->message.queue_id);
	session->message.queue_id = mem_strdup(queue_id ? queue_id : "");
}

/* Names count in any letter case; RFC 5322 4.5 knows blanks behind them. */
static bool is_field(const char *name, const char *field)
{
	size_t len = strlen(field);

	return str_starts_nocase(name, field) &&
	       name[len + strspn(name + len, " \t")] == '\0';
}

static bool is_other(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_fields); i++)
		if (is_field(name, other_fields[i]))
			return true;
	return false;
}

void session_header(struct session *session, const char *name, const char *value)
{
	struct session_message *message = &session->message;

	if (is_field(name, "From"))
		add_field(&message->froms, value);
	else if (is_field(name, TICKET_HEADER))
		add_ticket(message, value);
	else if (is_field(name, TRACE_HEADER))
		message->traces += message->traces <= SESSION_TRACE_FIELDS;
	else if (is_other(name))
		add_field(&message->others, value);
}

enum mail_origin session_origin(const struct session *session)
{
	return session->message.login ? ORIGIN_LOGIN : session->origin;
}
