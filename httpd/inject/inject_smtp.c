/*
 * inject_smtp: submission in sessions with smtpd, by SMTP or by sendmail(1).
 *
 * A pool of sessions that grows on demand. The session used last is used next
 * (LIFO), so surplus ones become idle and close. A session is opened for a
 * message, and closes itself.
 *
 *               smtpd is reached by           its 250 means
 *   SMTP        a connection to its service   the milter has let the message
 *                                             pass, and it is in the queue
 *   sendmail    sendmail(1) -bs, which is an  it is in the maildrop, where
 *               smtpd of this user; a         pickup(8) finds it; the milter is
 *               process for each session      asked then
 *
 * Neither shows a ticket to other users: it is never an argument of a process.
 *
 * A message that surely did not reach Postfix returns to the head of the queue.
 * It goes out again in a new session with its ticket, which is still valid:
 *
 *   the session            retries          meanwhile other messages
 *   was not opened         until timeout    wait, see below
 *   was lost               LOST_MAX         go on
 *   had carried others,    once             go on
 *   4xx by policy
 *
 * (With sendmail(1) only the last: starting the process again does not help.)
 * When a session cannot be opened Postfix is away: one message probes after a
 * pause, which doubles each time (exponential backoff), and the others wait in
 * the queue. The first answer to a probe lets all go on. A prompt submission is
 * answered instead of waiting there.
 *
 * A connection may be accepted by the kernel and wait, unanswered, for as long as
 * Postfix has no smtpd process to spare, since the sessions of this pool occupy
 * them all. So whenever a session is ready, the message that has waited longest
 * for its own session to open is taken back, and goes out in the ready one. The
 * other session is then `spare`: it opens without a message, and no further one
 * is opened meanwhile.
 *
 * Threads: those of the event base.
 */
#include <assert.h>
#include <event2/event.h>
#include <sys/queue.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"
#include "httpd/inject/child.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_server.h"
#include "httpd/inject/smtp_session.h"

struct pooled {
	struct inject_smtp *inject;
	struct smtp_session *session;
	struct child *child;           /* NULL with SMTP */
	struct submission *submission; /* NULL while idle or spare */
	bool spare;                    /* opening, and its message was taken back */
	LIST_ENTRY(pooled) link;
};

LIST_HEAD(pool, pooled);

enum {
	LOST_MAX = 3,
	PAUSE_FIRST_MS = 50,
	PAUSE_MAX_MS = 2000,
};

struct inject_smtp {
	struct inject inject; /* first */
	struct event_base *base;
	const struct conf *conf;
	struct inject_queue *queue;
	struct pool busy; /* with a message, spare, or sending QUIT */
	struct pool idle; /* the one used last is first */
	int64_t sessions_n;
	int64_t spare_n;
	int64_t pause_ms; /* before the last probe; 0 while Postfix is reachable */
	bool may_probe;   /* the pause is over */
	struct event *pause;
};

/* A retry, since the sessions that are open may be broken as well. */
static bool needs_new_session(const struct submission *submission)
{
	return submission->tries > 0 || submission->fresh;
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct inject_smtp *self = arg;

	(void)fd;
	(void)what;
	self->may_probe = true;
	inject_queue_wake(self->queue);
}

/* A session could not be opened. Several that fail together count once. */
static void pause_pool(struct inject_smtp *self, const struct err *err)
{
	struct timeval in = {0};

	inject_queue_set_cause(self->queue, err);
	if (event_pending(self->pause, EV_TIMEOUT, NULL))
		return;
	self->pause_ms = self->pause_ms ? 2 * self->pause_ms : PAUSE_FIRST_MS;
	if (self->pause_ms > PAUSE_MAX_MS)
		self->pause_ms = PAUSE_MAX_MS;
	in.tv_sec = self->pause_ms / 1000;
	in.tv_usec = self->pause_ms % 1000 * 1000;
	self->may_probe = false;
	event_add(self->pause, &in);
}

static void end_pause(struct inject_smtp *self)
{
	if (self->pause_ms == 0)
		return;
	self->pause_ms = 0;
	event_del(self->pause);
	inject_queue_set_cause(self->queue, NULL);
	inject_queue_wake(self->queue);
}

static void pooled_free(struct pooled *pooled)
{
	LIST_REMOVE(pooled, link);
	pooled->inject->sessions_n--;
	pooled->inject->spare_n -= pooled->spare;
	smtp_session_free(pooled->session);
	child_end(pooled->child);
	free(pooled);
}

static void on_session_ended(void *arg, enum inject_result result, const struct err *err)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;
	struct submission *submission = TAKE_PTR(pooled->submission);
	enum smtp_failure failure = SMTP_ANSWERED;
	struct err told = *err;
	unsigned tries_max = 0;

	/* sendmail(1) explains errors on standard error, not in its SMTP replies. */
	if (pooled->child && (result == INJECT_TEMPORARY || result == INJECT_UNKNOWN)) {
		_cleanup_free_ char *said = child_said(pooled->child);

		if (!str_empty(said))
			err_set(&told, err->code, "%s (%s)", err->text, said);
	}
	if (result == INJECT_TEMPORARY)
		failure = smtp_session_failure(pooled->session);
	switch (failure) {
	case SMTP_NOT_OPENED:
		if (submission->prompt) {
			inject_answer_obstacle(&self->inject, submission, INJECT_AWAY, &told);
			return;
		}
		pause_pool(self, err);
		inject_queue_add_again(self->queue, submission);
		return;
	case SMTP_LOST:
		tries_max = LOST_MAX;
		break;
	case SMTP_STALE:
		tries_max = 1;
		break;
	case SMTP_ANSWERED:
		break;
	}
	end_pause(self);
	if (submission->tries++ < tries_max)
		inject_queue_add_again(self->queue, submission);
	else if (failure == SMTP_LOST)
		inject_answer_obstacle(&self->inject, submission, INJECT_AWAY, &told);
	else
		inject_answer(&self->inject, submission, result, &told);
}

/* Returns to the queue the message that has waited longest for its own session
 * to open, so that a session that is ready gets it. */
static void take_back_one(struct inject_smtp *self)
{
	struct pooled *pooled, *first = NULL;

	LIST_FOREACH(pooled, &self->busy, link)
		if (pooled->submission && !needs_new_session(pooled->submission) &&
			!smtp_session_is_open(pooled->session) &&
			(first == NULL ||
				pooled->submission->deadline_us < first->submission->deadline_us))
			first = pooled;
	if (first == NULL)
		return;
	smtp_session_take_back(first->session);
	first->spare = true;
	self->spare_n++;
	inject_queue_add_again(self->queue, TAKE_PTR(first->submission));
}

static void on_session_ready(void *arg)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;

	self->spare_n -= pooled->spare;
	pooled->spare = false;
	LIST_REMOVE(pooled, link);
	LIST_INSERT_HEAD(&self->idle, pooled, link);
	take_back_one(self);
	inject_queue_wake(self->queue);
}

static void on_session_leaving(void *arg)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;
	struct pooled *other, *next;

	/* A spare session that opens too late leaves at once. It is the caller: it must not be
	 * freed below. */
	self->spare_n -= pooled->spare;
	pooled->spare = false;
	LIST_REMOVE(pooled, link);
	LIST_INSERT_HEAD(&self->busy, pooled, link);
	if (inject_queue_next(self->queue))
		return;
	/* Without spare sessions Postfix may have a process for another client. */
	for (other = LIST_FIRST(&self->busy); other; other = next) {
		next = LIST_NEXT(other, link);
		if (other->spare)
			pooled_free(other);
	}
}

static void on_session_closed(void *arg)
{
	struct pooled *pooled = arg;
	struct inject_smtp *self = pooled->inject;

	pooled_free(pooled);
	inject_queue_wake(self->queue);
}

static bool by_sendmail(const struct inject_smtp *self)
{
	return !self->inject.ops->verdict_first;
}

static int run_sendmail(const struct conf *conf, int *fd_r, struct child **child_r, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;

	strv_add(&argv, conf->submission.sendmail);
	if (!str_empty(conf->submission.postfix_config)) {
		strv_add(&argv, "-C");
		strv_add(&argv, conf->submission.postfix_config);
	}
	strv_add(&argv, "-bs");
	return child_start(argv.items, fd_r, child_r, err);
}

static void open_session(struct inject_smtp *self, struct submission *submission)
{
	struct pooled *pooled;
	struct smtp_session_spec spec = {
		.base = self->base,
		.name = by_sendmail(self) ? self->conf->submission.sendmail
					  : self->conf->submission.smtp_server,
		.stand_alone = by_sendmail(self),
		.ended = on_session_ended,
		.ready = on_session_ready,
		.leaving = on_session_leaving,
		.closed = on_session_closed,
	};
	struct child *child = NULL;
	struct err err = ERR_INIT;
	int opened;

	self->may_probe = false;
	opened = by_sendmail(self)
			 ? run_sendmail(self->conf, &spec.fd, &child, &err)
			 : smtp_server_connect(self->conf->submission.smtp_server, &spec.fd, &err);
	if (opened < 0) {
		if (submission->prompt) {
			inject_answer_obstacle(&self->inject, submission, INJECT_AWAY, &err);
		} else if (err.code == ERR_TEMPORARY && !by_sendmail(self)) {
			pause_pool(self, &err);
			inject_queue_add_again(self->queue, submission);
		} else {
			inject_answer(&self->inject, submission, INJECT_TEMPORARY, &err);
		}
		return;
	}
	pooled = mem_new(struct pooled);
	spec.arg = pooled;
	pooled->session = smtp_session_new(&spec);
	pooled->child = child;
	pooled->inject = self;
	pooled->submission = submission;
	LIST_INSERT_HEAD(&self->busy, pooled, link);
	self->sessions_n++;
	smtp_session_send(pooled->session, submission);
}

/* True if busy_max sessions have a message: the next one waits until one of
 * them is free. */
static bool is_busy(const struct inject_smtp *self)
{
	const struct pooled *pooled;
	size_t n = 0;

	if (self->inject.busy_max == 0)
		return false;
	LIST_FOREACH(pooled, &self->busy, link)
		n += pooled->submission != NULL;
	return n >= self->inject.busy_max;
}

static bool may_start(const struct inject *inject, const char *company_id)
{
	const struct inject_smtp *self = (const struct inject_smtp *)inject;
	const struct pooled *pooled;
	size_t n = 0;

	if (inject->company_max == 0)
		return true;
	LIST_FOREACH(pooled, &self->busy, link)
		n += pooled->submission && str_eq(pooled->submission->company_id, company_id);
	return n < inject->company_max;
}

/* Starts the next submission of the queue. False if none can start now. */
static bool start_next(struct inject_smtp *self)
{
	const struct submission *next = inject_queue_next(self->queue);
	bool again = needs_new_session(next);
	struct pooled *idle = LIST_FIRST(&self->idle);
	bool full = self->sessions_n >= (by_sendmail(self) ? self->conf->submission.processes
							   : self->conf->submission.sessions);

	if (is_busy(self))
		return false;
	if (idle && !again) {
		LIST_REMOVE(idle, link);
		LIST_INSERT_HEAD(&self->busy, idle, link);
		idle->submission = inject_queue_take(self->queue);
		smtp_session_send(idle->session, idle->submission);
		return true;
	}
	if (self->spare_n > 0 && !again)
		return false;
	if (self->pause_ms > 0 && !self->may_probe)
		return false;
	if (full && idle) {
		pooled_free(idle);
		full = false;
	}
	if (!full)
		open_session(self, inject_queue_take(self->queue));
	return !full;
}

static void serve_queue(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;

	while (inject_queue_next(self->queue) && start_next(self)) {
	}
}

static void inject_smtp_submit(struct inject *inject, struct submission *submission)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;

	inject_queue_add(self->queue, submission, self->conf->submission.timeout_ms);
}

static void inject_smtp_stop(struct inject *inject)
{
	struct inject_smtp *self = (struct inject_smtp *)inject;
	static const struct err stopping = {ERR_TEMPORARY, "the server is stopping"};
	struct pooled *pooled;

	while ((pooled = LIST_FIRST(&self->busy)) != NULL) {
		struct submission *submission = pooled->submission;
		enum inject_result outcome = smtp_session_outcome(pooled->session);

		pooled_free(pooled);
		if (submission)
			inject_answer(inject, submission, outcome, &stopping);
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
		assert(pooled->submission == NULL); /* the session has sent QUIT */
		pooled_free(pooled);
	}
	inject_queue_free(self->queue);
	event_free(self->pause);
	free(self);
}

static const struct inject_ops inject_smtp_ops = {
	.verdict_first = true,
	.submit = inject_smtp_submit,
	.stop = inject_smtp_stop,
	.free = inject_smtp_free,
};

static const struct inject_ops inject_sendmail_ops = {
	.submit = inject_smtp_submit,
	.stop = inject_smtp_stop,
	.free = inject_smtp_free,
};

static struct inject *make(
	struct event_base *base, const struct conf *conf, const struct inject_ops *ops)
{
	struct inject_smtp *self = mem_new(struct inject_smtp);

	self->inject.ops = ops;
	self->base = base;
	self->conf = conf;
	self->queue = inject_queue_new(base, &self->inject, serve_queue, may_start);
	self->pause = event_new(base, -1, 0, on_pause_over, self);
	LIST_INIT(&self->busy);
	LIST_INIT(&self->idle);
	return &self->inject;
}

struct inject *inject_smtp_new(struct event_base *base, const struct conf *conf)
{
	return make(base, conf, &inject_smtp_ops);
}

struct inject *inject_sendmail_new(struct event_base *base, const struct conf *conf)
{
	return make(base, conf, &inject_sendmail_ops);
}
