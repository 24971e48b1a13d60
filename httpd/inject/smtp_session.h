/*
 * smtp_session: a session with Postfix's smtpd, one message after another.
 *
 *   greeting ─> hello ─> ready ─> envelope ─> content ─┐ ─> leaving
 *                          └──────────────────────────<┘
 *
 * MAIL, RCPT twice, and the content as one chunk go out together (RFC 2920,
 * 3030): the answer to the chunk decides. To a server without chunks DATA goes
 * out instead; when one of the commands is refused, the session is dropped
 * before the content.
 *
 * A session that was answered in any way but the expected one is not used
 * again, except after a refusal of the content, which is an answer like others.
 *
 * A stand-alone smtpd is sendmail(1) -bs. It runs postdrop(1) when the first
 * recipient comes, and is gone without a word where it cannot. So its session
 * has DATA: while no content was asked for, nothing was taken. And it is not
 * used again after any refusal, since main.cf may have it wait then.
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
	const char *name; /* of the other side, for errors */
	bool stand_alone; /* it is sendmail(1) -bs */
	/* The message has ended so; the session lets go of the submission.
	 * Calls neither send nor free. */
	void (*ended)(void *arg, enum inject_result result, const struct err *err);
	/* It can take another message. */
	void (*ready)(void *arg);
	/* It will take none any more. */
	void (*leaving)(void *arg);
	/* It is over; the owner frees it. Nothing else is called any more. */
	void (*closed)(void *arg);
	void *arg;
};

/* The owner gives it a message at once. */
struct smtp_session *smtp_session_new(const struct smtp_session_spec *spec);
/* Closes it at any time; nothing is called. */
void smtp_session_free(struct smtp_session *session);

/* Sends the message when the session is ready, until submission->deadline_us.
 * Only when it is new, or after ready. */
void smtp_session_send(struct smtp_session *session, struct submission *submission);

/* What is to be said of the message under way if the session ended now. */
enum inject_result smtp_session_outcome(const struct smtp_session *session);

/* How a message has failed for now, when the session has just ended. */
enum smtp_failure {
	/* It was answered, or may be in the queue. */
	SMTP_ANSWERED,
	/* The session was not opened: nothing was said about the message. */
	SMTP_NOT_OPENED,
	/* The session was lost, or its server is stopping (421): Postfix surely
	 * has not got the message, and another session may have better luck. */
	SMTP_LOST,
	/* The answer may be about the session, which had carried other messages
	 * and may have lost its milter since. Once Postfix has had all of the
	 * content only a refusal by policy (RFC 3463, 4.7) tells that it did
	 * not keep it: when its cleanup dies behind a queued message it answers
	 * 4xx as well. */
	SMTP_STALE,
};

enum smtp_failure smtp_session_failure(const struct smtp_session *session);

#endif
