/*
 * smtp_session: a session with Postfix's smtpd, for one message after another.
 *
 *   greeting ─> hello ─> ready ─> envelope ─> content ─┐ ─> leaving
 *                          └──────────────────────────<┘
 *
 * MAIL, RCPT twice, and the content as one BDAT chunk are pipelined (RFC 2920,
 * 3030), and the reply to the chunk decides. A server without CHUNKING gets
 * DATA instead; if it refuses one of the commands, the session is dropped
 * before the content.
 *
 * A session with an unexpected reply is not used again, except after a
 * permanent refusal (5xx) of the content, which is an ordinary reply.
 *
 * A stand-alone smtpd is sendmail(1) -bs. It runs postdrop(1) at the first
 * recipient, and exits silently if it cannot. So its session uses DATA: until
 * it asks for the content, it has accepted nothing. It is not used again after
 * any refusal, because main.cf may make it delay further replies then.
 */
#ifndef POSTERN_HTTPD_INJECT_SMTP_SESSION_H
#define POSTERN_HTTPD_INJECT_SMTP_SESSION_H

#include <stdbool.h>

#include "httpd/inject/inject.h"

struct event_base;
struct smtp_session;

struct smtp_session_spec {
	struct event_base *base;
	int fd;           /* connected, or connecting; the session closes it */
	const char *name; /* name of the server, for errors */
	bool stand_alone; /* the server is sendmail(1) -bs */
	/* The message is done, with this result; the session no longer uses the
	 * submission. The callback must neither send nor free. */
	void (*ended)(void *arg, enum inject_result result, const struct err *err);
	/* The session can take another message. */
	void (*ready)(void *arg);
	/* The session takes no more messages. */
	void (*leaving)(void *arg);
	/* The session is over, and the owner frees it. No callback follows. */
	void (*closed)(void *arg);
	void *arg;
};

/* The owner must send a message at once. */
struct smtp_session *smtp_session_new(const struct smtp_session_spec *spec);
/* Closes the session at any time, without callbacks. */
void smtp_session_free(struct smtp_session *session);

/* Sends the message when the session is ready, with submission->deadline_us as
 * its deadline. Allowed only on a new session, or after ready. */
void smtp_session_send(struct smtp_session *session, struct submission *submission);

/* False until smtpd has answered EHLO. */
bool smtp_session_is_open(const struct smtp_session *session);
/* Takes the message of a session back that is not open yet, without a callback.
 * The session calls ready when it is open, or ends at the message's deadline. */
void smtp_session_take_back(struct smtp_session *session);

/* The result of the message under way if the session ended now. */
enum inject_result smtp_session_outcome(const struct smtp_session *session);

/* How a message failed temporarily, when the session has just ended. */
enum smtp_failure {
	/* Postfix has replied to the message, or may have it in its queue. */
	SMTP_ANSWERED,
	/* The session was not opened, which says nothing about the message. */
	SMTP_NOT_OPENED,
	/* The session was lost, or the server closes it (421). Postfix surely
	 * does not have the message, and a new session may succeed. */
	SMTP_LOST,
	/* The reply may be about the session, which carried other messages
	 * before and may have lost its milter. Once Postfix has all of the
	 * content, only a refusal by policy (RFC 3463, 4.7.x) proves that it
	 * did not keep the message: it also answers 4xx when cleanup(8) dies
	 * after the message was queued. */
	SMTP_STALE,
};

enum smtp_failure smtp_session_failure(const struct smtp_session *session);

#endif
