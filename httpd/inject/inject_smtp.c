/*
 * inject_smtp: submission by SMTP.
 *
 * A pool of sessions, grown on demand. The one used last is used next, so that
 * those that are not needed grow old and end. A session opens with a message in
 * hand; it closes by itself.
 *
 * A message that failed in a used session comes back to the head of the line
 * and goes out once more, by a new session: the milter or Postfix may have been
 * restarted since the session's last message. Its ticket is still good.
 *
 * Threads: the worker's.
 */
#include <assert.h>
#include <event2/event.h>
#include <sys/queue.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_session.h"

struct seat {
	struct inject_smtp *inject;
	struct smtp_session *session;
	struct submission *submission; /* NULL while idle */
	LIST_ENTRY(seat) link;
};

LIST_HEAD(seats, seat);

struct inject_smtp {
	struct inject inject; /* first */
	struct event_base *base;
	const struct conf *conf;
	struct inject_line *line;
	struct seats busy; /* with a message, or taking leave */
	struct seats idle; /* the one used last is first */
	int64_t seats_n;
};

static void seat_free(struct seat *seat)
{
	LIST_REMOVE(seat, link);
	seat->inject->seats_n--;
	smtp_session_free(seat->session);
	free(seat);
}

static void on_session_ended(
	void *arg, enum inject_result result, const struct err *err)
{
	struct seat *seat = arg;
	struct submission *submission = TAKE_PTR(seat->submission);

	if (result == INJECT_TEMPORARY && !submission->again &&
		smtp_session_may_repeat(seat->session))
		inject_line_add_again(seat->inject->line, submission);
	else
		submission->done(submission, result, err);
}

static void on_session_ready(void *arg)
{
	struct seat *seat = arg;
	struct inject_smtp *self = seat->inject;

	LIST_REMOVE(seat, link);
	LIST_INSERT_HEAD(&self->idle, seat, link);
	inject_line_wake(self->line);
}

static void on_session_leaving(void *arg)
{
	struct seat *seat = arg;

	LIST_REMOVE(seat, link);
	LIST_INSERT_HEAD(&seat->inject->busy, seat, link);
}

static void on_session_closed(void *arg)
{
	struct seat *seat = arg;
	struct inject_smtp *self = seat->inject;

	seat_free(seat);
	inject_line_wake(self->line);
}

static void open_seat(struct inject_smtp *self, struct submission *submission)
{
	struct seat *seat = mem_new(struct seat);
	const struct smtp_session_spec spec = {
		.base = self->base,
		.server = self->conf->submission.smtp_server,
		.ended = on_session_ended,
		.ready = on_session_ready,
		.leaving = on_session_leaving,
		.closed = on_session_closed,
		.arg = seat,
	};
	struct err err = ERR_INIT;

	if (smtp_session_open(&spec, &seat->session, &err) < 0) {
		free(seat);
		submission->done(submission, INJECT_TEMPORARY, &err);
		return;
	}
	seat->inject = self;
	seat->submission = submission;
	LIST_INSERT_HEAD(&self->busy, seat, link);
	self->seats_n++;
	smtp_session_send(seat->session, submission);
}

static void use_seat(struct seat *seat, struct submission *submission)
{
	LIST_REMOVE(seat, link);
	LIST_INSERT_HEAD(&seat->inject->busy, seat, link);
	seat->submission = submission;
	smtp_session_send(seat->session, submission);
}

/* Starts the next in line; false when there is no room for it now. */
static bool start_next(struct inject_smtp *self)
{
	bool again = inject_line_next(self->line)->again;
	struct seat *idle = LIST_FIRST(&self->idle);
	bool full = self->seats_n >= self->conf->submission.sessions;

	if (idle && !again) {
		use_seat(idle, inject_line_take(self->line));
		return true;
	}
	if (full && idle) {
		seat_free(idle);
		full = false;
	}
	if (!full)
		open_seat(self, inject_line_take(self->line));
	return !full;
}

static void on_turn(void *arg)
{
	struct inject_smtp *self = arg;

	while (inject_line_next(self->line) && start_next(self)) {
	}
}

static void inject_smtp_submit(
	struct inject *inject, struct submission *submission)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;

	inject_line_add(
		self->line, submission, self->conf->submission.timeout_ms);
}

static void inject_smtp_stop(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;
	struct seat *seat;

	while ((seat = LIST_FIRST(&self->busy)) != NULL) {
		struct submission *submission = seat->submission;
		enum inject_result fate = smtp_session_fate(seat->session);

		seat_free(seat);
		if (submission)
			inject_line_give_up(submission, fate);
	}
	inject_line_stop(self->line);
}

static void inject_smtp_free(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;
	struct seat *seat;

	while ((seat = LIST_FIRST(&self->idle)) != NULL)
		seat_free(seat);
	while ((seat = LIST_FIRST(&self->busy)) != NULL) {
		assert(seat->submission == NULL); /* it takes its leave */
		seat_free(seat);
	}
	inject_line_free(self->line);
	free(self);
}

static const struct inject_ops inject_smtp_ops = {
	.after_verdict = true,
	.submit = inject_smtp_submit,
	.stop = inject_smtp_stop,
	.free = inject_smtp_free,
};

struct inject *inject_smtp_new(struct event_base *base, const struct conf *conf)
{
	struct inject_smtp *self = mem_new(struct inject_smtp);

	self->inject.ops = &inject_smtp_ops;
	self->base = base;
	self->conf = conf;
	self->line = inject_line_new(base, on_turn, self);
	LIST_INIT(&self->busy);
	LIST_INIT(&self->idle);
	return &self->inject;
}
