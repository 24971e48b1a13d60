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
 */
#ifndef POSTERN_HTTPD_INJECT_SMTP_SESSION_H
#define POSTERN_HTTPD_INJECT_SMTP_SESSION_H

#include <stdbool.h>

#include "httpd/inject/inject.h"

struct event_base;
struct smtp_session;

struct smtp_session_spec {
	struct event_base *base;
	const char *server; /* as smtp_server has it */
	/* The message has ended so; the session lets go of the submission.
	 * Calls neither send nor free. */
	void (*ended)(
		void *arg, enum inject_result result, const struct err *err);
	/* It can take another message. */
	void (*ready)(void *arg);
	/* It will take none any more. */
	void (*leaving)(void *arg);
	/* It is over; the owner frees it. Nothing else is called any more. */
	void (*closed)(void *arg);
	void *arg;
};

/* Connects; the owner gives it a message at once. */
int smtp_session_open(const struct smtp_session_spec *spec,
	struct smtp_session **session_r, struct err *err);
/* Closes it at any time; nothing is called. */
void smtp_session_free(struct smtp_session *session);

/* Sends the message when the session is ready, until submission->deadline_us.
 * Only when it is new, or after ready. */
void smtp_session_send(
	struct smtp_session *session, struct submission *submission);

/* What is to be said of the message under way if the session ended now. */
enum inject_result smtp_session_fate(const struct smtp_session *session);

/* Whether another session may have better luck with a message that has failed
 * for now: this one had carried others before, and may have been dead, or its
 * milter gone, without our knowing. Once Postfix has had all of the content
 * only a refusal by policy (RFC 3463, 4.7) tells that it did not keep it: when
 * its cleanup dies behind a queued message it answers 4xx as well. */
bool smtp_session_may_repeat(const struct smtp_session *session);

#endif
