/*
 * smtp_session: the states of an SMTP session.
 *
 * A message can be sent again safely in three cases: not all of its content was
 * handed to the socket; smtpd did not read all of it; or smtpd refused the
 * sender or both RCPTs, and discards the content. Otherwise only the reply
 * tells, and without one the outcome is unknown.
 *
 * A handler of a reply returns false when the session is over: the owner has
 * then freed it.
 *
 * Threads: those of the event base.
 */
#include "httpd/inject/smtp_session.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/smtp_proto.h"

enum {
	/* Less than smtpd's timeout under stress, 10 s. */
	IDLE_MS = 8 * 1000,
	/* `postfix reload` only affects sessions opened after it. */
	AGE_MS = 60 * 1000,
	LEAVE_MS = 2 * 1000,
	PIECE = 32 * 1024, /* bytes of content encoded at a time */
};

enum step { GREETING, HELLO, READY, ENVELOPE, CONTENT, LEAVING };

struct smtp_session {
	struct smtp_session_spec spec; /* name is the session's own copy */
	struct event *readable, *timer;
	struct event *writable; /* added while out waits for the socket */
	struct buf out;
	size_t sent; /* bytes of out */
	bool unread; /* the server closed without reading all of it */
	enum step step;
	struct smtp_extensions extensions;
	int64_t opened_us;
	size_t messages; /* messages begun */
	bool fresh;      /* for one message alone */
	bool by_policy;  /* the last reply to content was 4.7.x */
	bool lost;       /* the server has closed, or is about to */
	struct submission *submission;
	size_t written;          /* commands written */
	size_t answered;         /* commands answered */
	bool rcpt_taken;         /* at least one RCPT was accepted */
	bool not_taken;          /* Postfix surely does not have it */
	bool has_content;        /* the content is being sent; data is set */
	struct smtp_shape shape; /* what MAIL and BDAT need to know of the message */
	struct smtp_data data;
	size_t in_len;
	char in[SMTP_REPLY_MAX];
};

static bool must_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN;
}

/* Returns 1 if all was written and out is empty, 0 if on_session_writable()
 * goes on, -1 if the connection is dead. */
static int write_out(struct smtp_session *session, struct err *err)
{
	while (session->sent < session->out.len) {
		ssize_t n = send(session->spec.fd, session->out.data + session->sent,
			session->out.len - session->sent, MSG_NOSIGNAL);

		if (n >= 0) {
			session->sent += (size_t)n;
			continue;
		}
		if (!must_wait())
			return err_set(err, ERR_TEMPORARY, "cannot write to %s: %s",
				session->spec.name, strerror(errno));
		event_add(session->writable, NULL);
		return 0;
	}
	buf_clear(&session->out);
	session->sent = 0;
	return 1;
}

bool smtp_session_is_open(const struct smtp_session *session)
{
	return session->step != GREETING && session->step != HELLO;
}

enum inject_result smtp_session_outcome(const struct smtp_session *session)
{
	if (session->has_content && session->data.ended && session->sent == session->out.len &&
		!session->unread && !session->not_taken)
		return INJECT_UNKNOWN;
	return INJECT_TEMPORARY;
}

enum smtp_failure smtp_session_failure(const struct smtp_session *session)
{
	bool opened = smtp_session_is_open(session);
	bool unknown = smtp_session_outcome(session) == INJECT_UNKNOWN;

	if (!opened && session->lost && !session->spec.stand_alone)
		return SMTP_NOT_OPENED;
	if (opened && session->lost && !unknown && !session->spec.stand_alone)
		return SMTP_LOST;
	if (session->messages > 1 && (!unknown || session->by_policy))
		return SMTP_STALE;
	return SMTP_ANSWERED;
}

static void set_timer(struct smtp_session *session, int64_t ms)
{
	const struct timeval in = {
		.tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000,
	};

	event_add(session->timer, &in);
}

/* Reports the result. The session no longer uses the message. */
static void end_message(
	struct smtp_session *session, enum inject_result result, const struct err *err)
{
	session->submission = NULL;
	session->spec.ended(session->spec.arg, result, err);
}

/* Ends the message, if there is one, and the session. Returns false, for the
 * caller. */
static bool end_session(struct smtp_session *session, const struct err *err)
{
	if (session->submission)
		end_message(session, smtp_session_outcome(session), err);
	session->spec.closed(session->spec.arg);
	return false;
}

static bool flush(struct smtp_session *session)
{
	struct err err = ERR_INIT;

	return write_out(session, &err) >= 0 || end_session(session, &err);
}

static bool leave_server(struct smtp_session *session)
{
	session->step = LEAVING;
	session->spec.leaving(session->spec.arg);
	buf_add_str(&session->out, "QUIT\r\n");
	set_timer(session, LEAVE_MS);
	return flush(session);
}

static void add_piece(struct smtp_session *session)
{
	struct buf *out = &session->out;

	buf_wrote(out, smtp_data_next(&session->data, buf_reserve(out, PIECE), PIECE));
}

/* Writes as much of the content as the socket takes. */
static bool write_content(struct smtp_session *session)
{
	struct err err = ERR_INIT;
	int flushed;

	while ((flushed = write_out(session, &err)) > 0 && !session->data.ended)
		add_piece(session);
	return flushed >= 0 || end_session(session, &err);
}

static void begin_content(struct smtp_session *session)
{
	session->has_content = true;
	smtp_data_init(&session->data, session->submission->message,
		smtp_is_chunked(&session->extensions));
	add_piece(session);
}

/* Writes all commands at once, with the content if it is chunked; without
 * PIPELINING only the next command. */
static bool write_envelope(struct smtp_session *session)
{
	const struct submission *submission = session->submission;

	while (session->written < SMTP_COMMANDS &&
		(session->extensions.pipelining || session->written == session->answered))
		smtp_command_add(submission, &session->shape, (enum smtp_command)session->written++,
			&session->extensions, &session->out);
	if (session->written < SMTP_COMMANDS || !smtp_is_chunked(&session->extensions))
		return flush(session);
	begin_content(session);
	return write_content(session);
}

static bool begin_message(struct smtp_session *session)
{
	struct err err = ERR_INIT;

	session->step = ENVELOPE;
	session->messages++;
	session->written = session->answered = 0;
	session->rcpt_taken = session->not_taken = session->has_content = false;
	if (session->in_len == 0) {
		smtp_shape_read(session->submission->message, &session->shape);
		return write_envelope(session);
	}
	/* Unsolicited data must not pass for the reply. */
	err_set(&err, ERR_TEMPORARY, "%s says more than it was asked", session->spec.name);
	return end_session(session, &err);
}

static bool become_ready(struct smtp_session *session)
{
	session->step = READY;
	if (session->submission)
		return begin_message(session);
	if (session->fresh || clock_monotonic_us() - session->opened_us > AGE_MS * 1000LL)
		return leave_server(session);
	set_timer(session, IDLE_MS);
	session->spec.ready(session->spec.arg);
	return true;
}

static bool unexpected(
	struct smtp_session *session, const struct smtp_reply *reply, const char *about)
{
	struct err err = ERR_INIT;

	smtp_refusal(reply, about, &err);
	if (err.code != ERR_TEMPORARY) /* a 5xx is about the session here, not the email */
		err_set(&err, ERR_TEMPORARY, "%s: %d %s", about, reply->code, reply->text);
	return end_session(session, &err);
}

static bool on_greeting(struct smtp_session *session, const struct smtp_reply *reply)
{
	if (reply->code != 220)
		return unexpected(session, reply, "the connection");
	session->step = HELLO;
	buf_add_str(&session->out, "EHLO localhost\r\n");
	return flush(session);
}

static bool on_hello(struct smtp_session *session, const struct smtp_reply *reply)
{
	if (reply->code != 250)
		return unexpected(session, reply, "EHLO");
	session->extensions = smtp_ehlo_read(reply->text);
	if (session->spec.stand_alone)
		session->extensions.chunking = false;
	return become_ready(session);
}

/* Any reply while idle announces that smtpd closes the session. */
static bool on_ready(struct smtp_session *session, const struct smtp_reply *reply)
{
	return unexpected(session, reply, "to wait");
}

/* Does not wait for the other replies: if the pipelined DATA succeeded, a
 * message would have to follow. */
static bool refuse_envelope(struct smtp_session *session, const struct smtp_reply *reply)
{
	enum smtp_command command = (enum smtp_command)session->answered;
	_cleanup_free_ char *about = smtp_command_about(session->submission, command);
	struct err err = ERR_INIT;
	enum inject_result result = smtp_refusal(reply, about, &err);

	session->not_taken = true;
	if (!smtp_command_is_email(command)) {
		err.code = ERR_TEMPORARY;
		result = INJECT_TEMPORARY;
	}
	end_message(session, result, &err);
	return end_session(session, &err);
}

static bool on_content(struct smtp_session *session, const struct smtp_reply *reply)
{
	enum inject_result result = INJECT_QUEUED;
	int class = reply->code / 100;
	struct err err = ERR_INIT;

	if (smtp_session_outcome(session) != INJECT_UNKNOWN || class == 3)
		return unexpected(session, reply, "the email");
	if (class != 2)
		result = smtp_refusal(reply, "the email", &err);
	session->by_policy = str_starts(reply->status, "4.7.");
	end_message(session, result, &err);
	if (class == 4 || (class == 5 && session->spec.stand_alone))
		return end_session(session, &err);
	return become_ready(session);
}

/* If smtpd refused the sender or all recipients, it discards the chunk that
 * follows. Otherwise the reply to the chunk decides. */
static bool on_envelope_of_chunk(struct smtp_session *session, const struct smtp_reply *reply)
{
	bool taken = reply->code / 100 == 2;

	switch ((enum smtp_command)session->answered) {
	case SMTP_CONTENT:
		return on_content(session, reply);
	case SMTP_MAIL:
		if (!taken)
			return refuse_envelope(session, reply);
		break;
	case SMTP_RCPT_AGAIN:
		if (!taken && !session->rcpt_taken)
			return refuse_envelope(session, reply);
		break;
	default:
		session->rcpt_taken = taken;
		break;
	}
	session->answered++;
	return true;
}

static bool on_envelope(struct smtp_session *session, const struct smtp_reply *reply)
{
	bool is_data = session->answered == SMTP_CONTENT;

	if (session->has_content)
		return on_envelope_of_chunk(session, reply);
	if (is_data ? reply->code != 354 : reply->code / 100 != 2)
		return refuse_envelope(session, reply);
	session->answered++;
	if (!is_data)
		return write_envelope(session);
	session->step = CONTENT;
	/* Unsolicited data must not pass for the reply: handle_replies() reads
	 * it first. */
	if (session->in_len > 0)
		return true;
	begin_content(session);
	return write_content(session);
}

static bool on_leaving(struct smtp_session *session, const struct smtp_reply *reply)
{
	struct err err = ERR_INIT;

	(void)reply;
	return end_session(session, &err);
}

static bool (*const handlers[])(struct smtp_session *session, const struct smtp_reply *reply) = {
	[GREETING] = on_greeting,
	[HELLO] = on_hello,
	[READY] = on_ready,
	[ENVELOPE] = on_envelope,
	[CONTENT] = on_content,
	[LEAVING] = on_leaving,
};

/* Handles all complete replies. */
static void handle_replies(struct smtp_session *session)
{
	struct err err = ERR_INIT;
	struct smtp_reply reply;
	size_t used;
	int found;

	while ((found = smtp_reply_read(session->in, session->in_len, &reply, &used)) > 0) {
		session->in_len -= used;
		memmove(session->in, session->in + used, session->in_len);
		session->lost = reply.code == 421 ||
				(reply.code / 100 == 4 &&
					(session->step == GREETING || session->step == HELLO));
		if (!handlers[session->step](session, &reply))
			return;
	}
	if (found == 0)
		return;
	err_set(&err, ERR_TEMPORARY, "%s does not speak SMTP", session->spec.name);
	end_session(session, &err);
}

static void on_session_readable(evutil_socket_t fd, short what, void *arg)
{
	struct smtp_session *session = arg;
	struct err err = ERR_INIT;
	int domain = 0, number;
	socklen_t len = sizeof(domain);
	ssize_t n = recv(session->spec.fd, session->in + session->in_len,
		sizeof(session->in) - session->in_len, 0);

	number = errno;
	(void)fd;
	(void)what;
	if (n > 0) {
		session->in_len += (size_t)n;
		handle_replies(session);
		return;
	}
	if (n < 0 && must_wait())
		return;
	err_set(&err, ERR_TEMPORARY, "%s: %s", session->spec.name,
		n == 0 ? "the connection was closed" : strerror(number));
	session->lost = true;
	/* On a Unix-domain socket ECONNRESET means exactly that: the peer
	 * closed with unread data. On TCP it has other causes too. */
	if (n < 0 && number == ECONNRESET)
		session->unread = getsockopt(session->spec.fd, SOL_SOCKET, SO_DOMAIN, &domain,
					  &len) == 0 &&
				  domain == AF_UNIX;
	end_session(session, &err);
}

static void on_session_writable(evutil_socket_t fd, short what, void *arg)
{
	struct smtp_session *session = arg;

	(void)fd;
	(void)what;
	if (session->has_content)
		write_content(session);
	else
		flush(session);
}

static void on_session_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct smtp_session *session = arg;
	struct err err = ERR_INIT;

	(void)fd;
	(void)what;
	if (session->step == READY) {
		leave_server(session);
		return;
	}
	err_set(&err, ERR_TEMPORARY, "%s does not answer in time", session->spec.name);
	end_session(session, &err);
}

struct smtp_session *smtp_session_new(const struct smtp_session_spec *spec)
{
	struct smtp_session *session = mem_new(struct smtp_session);

	session->spec = *spec;
	session->spec.name = mem_strdup(spec->name);
	session->opened_us = clock_monotonic_us();
	session->readable = event_new(
		spec->base, spec->fd, EV_READ | EV_PERSIST, on_session_readable, session);
	session->writable = event_new(spec->base, spec->fd, EV_WRITE, on_session_writable, session);
	session->timer = event_new(spec->base, -1, 0, on_session_timeout, session);
	event_add(session->readable, NULL);
	return session;
}

void smtp_session_free(struct smtp_session *session)
{
	if (session == NULL)
		return;
	event_free(session->timer);
	event_free(session->readable);
	event_free(session->writable);
	close(session->spec.fd);
	buf_free(&session->out);
	free((char *)session->spec.name);
	free(session);
}

void smtp_session_send(struct smtp_session *session, struct submission *submission)
{
	int64_t left_us = submission->deadline_us - clock_monotonic_us();

	assert(session->submission == NULL);
	session->submission = submission;
	session->fresh = submission->fresh;
	set_timer(session, left_us > 0 ? left_us / 1000 : 0);
	if (session->step == READY)
		begin_message(session);
}

void smtp_session_take_back(struct smtp_session *session)
{
	assert(session->submission && !smtp_session_is_open(session));
	session->submission = NULL;
}
