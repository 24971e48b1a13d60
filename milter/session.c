/*
 * session: the state of one connection.
 *
 * Invariant: outside a message (before MAIL FROM, after its end) message is
 * all zero; within one, sender is not NULL and what is kept is within limits.
 * Threads: libmilter runs the callbacks of one connection on any thread, but
 * never two at once.
 */
#include "milter/session.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/tag_fields.h"

/*
 * The origin of a connection.
 *
 * Postfix presents mail from sendmail(1) as coming from address 127.0.0.1 and port 0, which no
 * TCP client has. This is part of the milter protocol and not a macro, so no setting of main.cf
 * changes it.
 *
 * Clients without an Internet address (a Unix-domain socket, an address that Postfix could not
 * learn) count as internal: mail is judged unless it is known to come from elsewhere.
 */

static const char *const names[] = {
	[ORIGIN_LOCAL] = "local",
	[ORIGIN_INTERNAL] = "internal",
	[ORIGIN_LOGIN] = "login",
	[ORIGIN_EXTERNAL] = "external",
};

static bool is_sendmail(const struct sockaddr *peer)
{
	struct sockaddr_in in;

	if (peer->sa_family != AF_INET)
		return false;
	memcpy(&in, peer, sizeof(in));
	return in.sin_port == 0 && in.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static bool is_internet(const struct sockaddr *peer)
{
	return peer->sa_family == AF_INET || peer->sa_family == AF_INET6;
}

enum mail_origin origin_of(const struct sockaddr *peer, const struct cidr_list *internal_hosts)
{
	if (peer == NULL || !is_internet(peer))
		return ORIGIN_INTERNAL;
	if (is_sendmail(peer))
		return ORIGIN_LOCAL;
	return cidr_list_has(internal_hosts, peer) ? ORIGIN_INTERNAL : ORIGIN_EXTERNAL;
}

bool origin_client(const struct sockaddr *peer, char client[static ORIGIN_CLIENT_SIZE])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	const void *address = &in.sin_addr;

	if (peer == NULL || !is_internet(peer) || is_sendmail(peer))
		return false;
	if (peer->sa_family == AF_INET) {
		memcpy(&in, peer, sizeof(in));
	} else {
		memcpy(&in6, peer, sizeof(in6));
		address = &in6.sin6_addr;
	}
	return inet_ntop(peer->sa_family, address, client, ORIGIN_CLIENT_SIZE);
}

const char *origin_name(enum mail_origin origin)
{
	assert(origin < ARRAY_SIZE(names));
	return names[origin];
}

const char *const session_own_names[OWN_FIELDS] = {
	[OWN_IDEMPOTENCY] = "Idempotency-Key",
	[OWN_RESEND_IDEMPOTENCY] = "Resend-Idempotency-Key",
	[OWN_TAG] = TAG_FIELD,
	[OWN_NAMED_TAG] = TAG_NAMED_FIELD,
	[OWN_VARIABLES] = TAG_META_FIELD,
	[OWN_MAILGUN] = "X-Mailgun-*",
};

/* What Mailgun does on these fields over SMTP changes who gets what, and when. */
static const char *const unsupported_names[] = {
	"X-Mailgun-Drop-Message",
	"X-Mailgun-Deliver-By",
	"X-Mailgun-Delivery-Time-Optimize-Period",
	"X-Mailgun-Time-Zone-Localize",
	"X-Mailgun-Require-TLS",
	"X-Mailgun-Template-Name",
	"X-Mailgun-Recipient-Variables",
};

struct milter_session *session_new(enum mail_origin origin, const char *client, bool by_tcp)
{
	struct milter_session *session = mem_new(struct milter_session);

	session->origin = origin;
	/* httpd submits by sendmail(1), or to the service on a Unix-domain socket, whose clients
	 * have no address, or by TCP if it is set up so. */
	session->submits = origin == ORIGIN_LOCAL ||
			   (origin == ORIGIN_INTERNAL && (client == NULL || by_tcp));
	session->client = mem_strdup(client);
	return session;
}

void session_free(struct milter_session *session)
{
	if (session == NULL)
		return;
	session_reset(session);
	free(session->client);
	free(session);
}

static void drop_copy(struct milter_session *session)
{
	struct session_message *message = &session->message;

	buf_free(&message->copy);
	if (session->room)
		atomic_fetch_sub(&session->room->held, message->copy_held);
	message->copy_held = 0;
}

void session_reset(struct milter_session *session)
{
	struct session_message *message = &session->message;

	free(message->sender);
	free(message->resolved);
	free(message->login);
	free(message->queue_id);
	strv_free(&message->froms.values);
	strv_free(&message->others.values);
	strv_free(&message->message_ids);
	strv_free(&message->recipients);
	strv_free(&message->to.values);
	strv_free(&message->cc.values);
	strv_free(&message->reply_to.values);
	for (size_t i = 0; i < OWN_FIELDS; i++)
		strv_free(&message->own[i].values);
	drop_copy(session);
	free(message->subject);
	*message = (struct session_message){0};
}

/* Mail from sendmail(1) has the address without brackets. */
static char *without_brackets(const char *address)
{
	size_t len = strlen(address);

	if (len >= 2 && address[0] == '<' && address[len - 1] == '>')
		return mem_dup(address + 1, len - 2);
	return mem_strdup(address);
}

void session_begin(struct milter_session *session, const char *sender, const char *login)
{
	session_reset(session);
	session->message.sender = without_brackets(sender);
	if (!str_empty(login))
		session->message.login = mem_strdup(login);
}

void session_service(struct milter_session *session, const char *name)
{
	session->message.key_login = session->message.login && name &&
				     str_eq(name, SESSION_KEY_SERVICE);
}

void session_resolved(struct milter_session *session, const char *address)
{
	free(session->message.resolved);
	session->message.resolved = mem_strdup(address);
}

void session_parameters(struct milter_session *session, char *const *parameters)
{
	static const char *const asking[] = {"RET=", "ENVID=", "NOTIFY="};

	for (; *parameters; parameters++)
		for (size_t i = 0; i < ARRAY_SIZE(asking); i++)
			session->message.asks_for_reports |= str_starts_nocase(
				*parameters, asking[i]);
}

/* True if the address is a mailbox as it stands: one @, and nothing that Postfix would take away
 * (quotes, a source route, a comment) or understand as a part of another address (% and !). */
static bool is_plain(const char *address)
{
	const char *at = strchr(address, '@');

	return at && at != address && strchr(at + 1, '@') == NULL &&
	       strpbrk(address, "\"\\%!()<>,;: \t") == NULL;
}

void session_recipient(struct milter_session *session, const char *given, const char *resolved)
{
	struct session_message *message = &session->message;
	_cleanup_free_ char *address = NULL;
	char ticket[SECRET_TICKET_SIZE];
	enum ticket_reading reading = ticket_read(given, ticket);

	message->for_ticket |= reading != TICKET_ELSEWHERE;
	if (reading == TICKET_READ && message->ticket[0] == '\0')
		memcpy(message->ticket, ticket, sizeof(ticket));
	/* The same ticket may come twice, as it does when httpd submits by SMTP. */
	message->for_others |= reading != TICKET_READ || !str_eq(message->ticket, ticket);
	if (!message->key_login)
		return;
	if (message->recipients.n == SESSION_RECIPIENTS) {
		message->too_many_recipients = true;
		return;
	}
	address = without_brackets(given);
	strv_add(&message->recipients,
		str_empty(resolved) || is_plain(address) ? address : resolved);
}

static void add_one_of(struct session_fields *fields, const char *value, size_t max_n, size_t max)
{
	size_t len = strlen(value);

	if (fields->values.n == max_n || len > max - fields->bytes) {
		fields->overflow = true;
		return;
	}
	strv_add(&fields->values, value);
	fields->bytes += len;
}

static void add_field(struct session_fields *fields, const char *value, size_t max)
{
	add_one_of(fields, value, SESSION_SENDER_FIELDS, max);
}

/* Compares field names without regard to case. RFC 5322 4.5 allows blanks after a name. */
static bool is_field(const char *name, const char *field)
{
	size_t len = strlen(field);

	return str_starts_nocase(name, field) && name[len + strspn(name + len, " \t")] == '\0';
}

/* Counts the memory that the copy has grown by, and drops the copy if the room is full. */
static void hold_copy(struct milter_session *session)
{
	struct session_message *message = &session->message;
	int64_t more = (int64_t)message->copy.cap - message->copy_held, all;

	if (session->room == NULL || more <= 0)
		return;
	message->copy_held += more;
	all = atomic_fetch_add(&session->room->held, more) + more;
	if (all <= session->room->max || all == message->copy_held)
		return;
	message->no_room = true;
	drop_copy(session);
}

/* True if the value asks for something: it is neither empty nor a no. */
static bool asks(const char *value)
{
	_cleanup_free_ char *text = str_trim(value, strlen(value));

	return *text && !str_eq_nocase(text, "no") && !str_eq_nocase(text, "false");
}

/* Fields that are addressed to us are kept apart from the copy. */
static void copy_field(struct milter_session *session, const char *name, const char *value)
{
	struct session_message *message = &session->message;

	for (size_t i = 0; i < OWN_MAILGUN; i++)
		if (is_field(name, session_own_names[i])) {
			add_one_of(&message->own[i], value, SESSION_OWN_FIELDS, SESSION_OWN_BYTES);
			return;
		}
	for (size_t i = 0; i < ARRAY_SIZE(unsupported_names); i++)
		if (is_field(name, unsupported_names[i]) && asks(value))
			message->unsupported = unsupported_names[i];
	if (str_starts_nocase(name, "X-Mailgun-")) {
		_cleanup_free_ char *trimmed = str_trim(name, strlen(name));

		add_one_of(
			&message->own[OWN_MAILGUN], trimmed, SESSION_OWN_FIELDS, SESSION_OWN_BYTES);
		return;
	}
	if (is_field(name, TICKET_TRACE_FIELD) || is_field(name, TICKET_NONCE_FIELD) ||
		message->no_room)
		return;
	buf_printf(&message->copy, "%s: %s\n", name, value);
	hold_copy(session);
}

void session_header(struct milter_session *session, const char *name, const char *value)
{
	struct session_message *message = &session->message;
	_cleanup_free_ char *line = NULL, *text = NULL;

	if (message->key_login)
		copy_field(session, name, value);
	if (is_field(name, "From")) {
		add_field(&message->froms, value, SESSION_SENDER_BYTES);
	} else if (is_field(name, TICKET_TRACE_FIELD)) {
		if (message->traces == 0)
			id_parse(value, message->trace);
		message->traces += message->traces <= SESSION_TRACE_FIELDS;
	} else if (is_field(name, TICKET_NONCE_FIELD)) {
		line = str_unfolded(value);
		text = str_trim(line, strlen(line));
		if (message->nonces == 0)
			snprintf(message->nonce, sizeof(message->nonce), "%s", text);
		message->nonces += message->nonces <= SESSION_TRACE_FIELDS;
	} else if (is_field(name, "Message-ID")) {
		message->has_message_id = true;
		if ((!message->for_ticket && !message->key_login) ||
			message->message_ids.n == SESSION_MESSAGE_IDS ||
			strlen(value) > SESSION_MESSAGE_ID_BYTES)
			return;
		line = str_unfolded(value);
		strv_take(&message->message_ids, str_trim(line, strlen(line)));
	} else if (is_field(name, "List-Unsubscribe") || is_field(name, "List-Unsubscribe-Post")) {
		message->has_unsubscribe = true;
	} else if (is_field(name, "Sender") || is_field(name, "Resent-From") ||
		   is_field(name, "Resent-Sender")) {
		/* By these, too, receivers determine the sender (RFC 4407 2). Reply-To is not
		 * one of them: it says where replies go and often has another domain. */
		add_field(&message->others, value, SESSION_SENDER_BYTES);
	} else if (!message->key_login) {
		return;
	} else if (is_field(name, "To")) {
		add_field(&message->to, value, SESSION_LIST_BYTES);
	} else if (is_field(name, "Cc")) {
		add_field(&message->cc, value, SESSION_LIST_BYTES);
	} else if (is_field(name, "Reply-To")) {
		add_field(&message->reply_to, value, SESSION_SENDER_BYTES);
	} else if (is_field(name, "Subject") && message->subject == NULL &&
		   strlen(value) <= SESSION_SUBJECT_BYTES) {
		message->subject = mem_strdup(value);
	}
}

bool session_body(struct milter_session *session, const void *data, size_t len)
{
	struct session_message *message = &session->message;
	const char *at = data, *end = at + len;

	if (!message->key_login || message->for_ticket || message->no_room)
		return false;
	if (!message->copy_has_body)
		buf_add_char(&message->copy, '\n');
	message->copy_has_body = true;
	if (message->copy_ends_cr && (len == 0 || *at != '\n'))
		buf_add_char(&message->copy, '\r');
	message->copy_ends_cr = false;
	while (at < end) {
		const char *cr = memchr(at, '\r', (size_t)(end - at));
		const char *to = cr ? cr : end;

		buf_add(&message->copy, at, (size_t)(to - at));
		at = to;
		if (cr == NULL)
			break;
		at++;
		message->copy_ends_cr = at == end;
		if (at < end && *at != '\n')
			buf_add_char(&message->copy, '\r');
	}
	hold_copy(session);
	return !message->no_room;
}

void session_queue_id(struct milter_session *session, const char *queue_id)
{
	free(session->message.queue_id);
	session->message.queue_id = mem_strdup(queue_id ? queue_id : "");
}

enum mail_origin session_origin(const struct milter_session *session)
{
	return session->message.login ? ORIGIN_LOGIN : session->origin;
}
