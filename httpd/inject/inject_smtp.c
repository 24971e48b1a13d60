/*
 * inject_smtp: submission by SMTP.
 *
 * A pool of sessions, grown on demand. The one used last is used next, so that
 * those that are not needed grow old and end. A session opens with a message in
 * hand; it closes by itself.
 *
 * A message that failed in a used session comes back to the head of the queue
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

struct pooled {
	struct inject_smtp *inject;
	struct smtp_session *session;
	struct submission *submission; /* NULL while idle */
	LIST_ENTRY(pooled) link;
};

LIST_HEAD(pool, pooled);

struct inject_smtp {
	struct inject inject; /* first */
	struct event_base *base;
	const struct conf *conf;
	struct inject_queue *queue;
	struct pool busy; /* with a message, or taking leave */
	struct pool idle; /* the one used last is first */
	int64_t sessions_n;
};

static void pooled_free(struct pooled *pooled)
{
	LIST_REMOVE(pooled, link);
	pooled->inject->sessions_n--;
	smtp_session_free(pooled->session);
	free(pooled);
}

static void on_session_ended(
	void *arg, enum inject_result result, const struct err *err)
{
	struct pooled *pooled = arg;
	struct submission *submission = TAKE_PTR(pooled->submission);

	if (result == INJECT_TEMPORARY && !submission->again &&
		smtp_session_may_repeat(pooled->session))
		inject_queue_add_again(pooled->inject->queue, submission);
	else
		inject_answer(&pooled->inject->inject, submission, result, err);
}

static void on_session_ready(void *arg)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;

	LIST_REMOVE(pooled, link);
	LIST_INSERT_HEAD(&self->idle, pooled, link);
	inject_queue_wake(self->queue);
}

static void on_session_leaving(void *arg)
{
	struct pooled *pooled = arg;

	LIST_REMOVE(pooled, link);
	LIST_INSERT_HEAD(&pooled->inject->busy, pooled, link);
}

static void on_session_closed(void *arg)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;

	pooled_free(pooled);
	inject_queue_wake(self->queue);
}

static void open_session(struct inject_smtp *self, struct submission *submission)
{
	struct pooled *pooled = mem_new(struct pooled);
	const struct smtp_session_spec spec = {
		.base = self->base,
		.server = self->conf->submission.smtp_server,
		.ended = on_session_ended,
		.ready = on_session_ready,
		.leaving = on_session_leaving,
		.closed = on_session_closed,
		.arg = pooled,
	};
	struct err err = ERR_INIT;

	if (smtp_session_open(&spec, &pooled->session, &err) < 0) {
		free(pooled);
		inject_answer(&self->inject, submission, INJECT_TEMPORARY, &err);
		return;
	}
	pooled->inject = self;
	pooled->submission = submission;
	LIST_INSERT_HEAD(&self->busy, pooled, link);
	self->sessions_n++;
	smtp_session_send(pooled->session, submission);
}

static void use_session(struct pooled *pooled, struct submission *submission)
{
	LIST_REMOVE(pooled, link);
	LIST_INSERT_HEAD(&pooled->inject->busy, pooled, link);
	pooled->submission = submission;
	smtp_session_send(pooled->session, submission);
}

/* Starts the next of the queue; false when there is no room for it now. */
static bool start_next(struct inject_smtp *self)
{
	bool again = inject_queue_next(self->queue)->again;
	struct pooled *idle = LIST_FIRST(&self->idle);
	bool full = self->sessions_n >= self->conf->submission.sessions;

	if (idle && !again) {
		use_session(idle, inject_queue_take(self->queue));
		return true;
	}
	if (full && idle) {
		pooled_free(idle);
		full = false;
	}
	if (!full)
		open_session(self, inject_queue_take(self->queue));
	return !full;
}

static void serve(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;

	while (inject_queue_next(self->queue) && start_next(self)) {
	}
}

static void inject_smtp_submit(
	struct inject *inject, struct submission *submission)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;

	inject_queue_add(
		self->queue, submission, self->conf->submission.timeout_ms);
}

static void inject_smtp_stop(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;
	struct pooled *pooled;

	while ((pooled = LIST_FIRST(&self->busy)) != NULL) {
		struct submission *submission = pooled->submission;
		enum inject_result fate = smtp_session_fate(pooled->session);

		pooled_free(pooled);
		if (submission)
			inject_give_up(inject, submission, fate);
	}
	inject_queue_stop(self->queue);
}

static void inject_smtp_free(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;
	struct pooled *pooled;

	while ((pooled = LIST_FIRST(&self->idle)) != NULL)
		pooled_free(pooled);
	while ((pooled = LIST_FIRST(&self->busy)) != NULL) {
		assert(pooled->submission == NULL); /* it takes its leave */
		pooled_free(pooled);
	}
	inject_queue_free(self->queue);
	free(self);
}

static const struct inject_ops inject_smtp_ops = {
	.verdict_first = true,
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
	self->queue = inject_queue_new(base, &self->inject, serve);
	LIST_INIT(&self->busy);
	LIST_INIT(&self->idle);
	return &self->inject;
}
