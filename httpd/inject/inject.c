/*
 * inject: chooses the injector, checks its settings, and has what all injectors
 * need: the answer, and the queue with deadlines.
 *
 * Each waiting submission is in two lists: by deadline, for the one timer, and
 * in that of its company. A company is in the list of turns while any of its
 * submissions waits. After it was served it goes to the end.
 *
 * Threads: those of the event base.
 */
#include "httpd/inject/inject.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

/* Indexed by enum submission_method. */
static struct inject *(*const makers[])(struct event_base *base, const struct conf *conf) = {
	[SUBMISSION_SENDMAIL] = inject_sendmail_new,
	[SUBMISSION_SMTP] = inject_smtp_new,
};

struct inject *inject_new(struct event_base *base, const struct conf *conf)
{
	size_t method = (size_t)conf->submission.method;

	assert(method < ARRAY_SIZE(makers) && makers[method]);
	return makers[method](base, conf);
}

void inject_answer(const struct inject *inject, struct submission *submission,
	enum inject_result result, const struct err *err)
{
	const struct inject_answer answer = {
		.result = result,
		.verdict_first = inject->ops->verdict_first,
		.err = err,
	};

	submission->done(submission, &answer);
}

void inject_answer_obstacle(const struct inject *inject, struct submission *submission,
	enum inject_obstacle obstacle, const struct err *err)
{
	const struct inject_answer answer = {
		.result = INJECT_TEMPORARY,
		.verdict_first = inject->ops->verdict_first,
		.obstacle = obstacle,
		.err = err,
	};

	submission->done(submission, &answer);
}

int64_t inject_left_ms(const struct submission *submission)
{
	int64_t us = submission->deadline_us - clock_monotonic_us();

	return us > 1000 ? us / 1000 : 1;
}

TAILQ_HEAD(submissions, submission);

/* The waiting submissions of one company. */
struct turn {
	char company_id[ID_SIZE];
	struct submissions waiting;
	TAILQ_ENTRY(turn) link;
};

struct inject_queue {
	struct submissions waiting; /* all, by deadline */
	TAILQ_HEAD(, turn) turns;
	struct inject *inject;
	void (*serve)(struct inject *inject);
	bool (*may_start)(const struct inject *inject, const char *company_id);
	struct event *wake;
	struct event *late; /* timer of the first deadline */
	struct err cause;   /* see inject_queue_set_cause() */
	bool stopped;
};

static void set_timer(struct inject_queue *queue)
{
	const struct submission *first = TAILQ_FIRST(&queue->waiting);
	struct timeval in = {0};
	int64_t ms;

	if (first == NULL) {
		event_del(queue->late);
		return;
	}
	ms = inject_left_ms(first);
	in.tv_sec = ms / 1000;
	in.tv_usec = ms % 1000 * 1000;
	event_add(queue->late, &in);
}

static struct turn *turn_of(struct inject_queue *queue, const char *company_id)
{
	struct turn *turn;

	TAILQ_FOREACH(turn, &queue->turns, link)
		if (str_eq(turn->company_id, company_id))
			return turn;
	turn = mem_new(struct turn);
	*stpncpy(turn->company_id, company_id, ID_SIZE - 1) = '\0';
	TAILQ_INIT(&turn->waiting);
	TAILQ_INSERT_TAIL(&queue->turns, turn, link);
	return turn;
}

/* Removes a submission. Its company goes to the end of the turns. */
static void leave_queue(
	struct inject_queue *queue, struct submission *submission, struct turn *turn)
{
	TAILQ_REMOVE(&queue->waiting, submission, by_deadline);
	TAILQ_REMOVE(&turn->waiting, submission, by_turn);
	TAILQ_REMOVE(&queue->turns, turn, link);
	if (TAILQ_EMPTY(&turn->waiting))
		free(turn);
	else
		TAILQ_INSERT_TAIL(&queue->turns, turn, link);
}

/* Searches from the end: most submissions have the latest deadline, but not
 * those that come back or were added before timeout_ms was changed. */
static void add_by_deadline(struct inject_queue *queue, struct submission *submission)
{
	struct submission *before = TAILQ_LAST(&queue->waiting, submissions);

	while (before && before->deadline_us > submission->deadline_us)
		before = TAILQ_PREV(before, submissions, by_deadline);
	if (before)
		TAILQ_INSERT_AFTER(&queue->waiting, before, submission, by_deadline);
	else
		TAILQ_INSERT_HEAD(&queue->waiting, submission, by_deadline);
}

static void on_queue_late(evutil_socket_t fd, short what, void *arg)
{
	struct inject_queue *queue = arg;
	int64_t now_us = clock_monotonic_us();
	struct submission *first;
	struct err err = queue->cause;
	enum inject_obstacle obstacle = err.code == ERR_NONE ? INJECT_NO_TURN : INJECT_AWAY;

	(void)fd;
	(void)what;
	if (err.code == ERR_NONE)
		err_set(&err, ERR_TEMPORARY, "it waited too long for its turn to be submitted");
	while ((first = TAILQ_FIRST(&queue->waiting)) != NULL && first->deadline_us <= now_us) {
		leave_queue(queue, first, turn_of(queue, first->company_id));
		inject_answer_obstacle(queue->inject, first, obstacle, &err);
	}
	set_timer(queue);
}

static void on_queue_wake(evutil_socket_t fd, short what, void *arg)
{
	static const struct err stopping = {ERR_TEMPORARY, "the server is stopping"};
	struct inject_queue *queue = arg;

	(void)fd;
	(void)what;
	while (queue->stopped && !TAILQ_EMPTY(&queue->waiting))
		inject_answer_obstacle(
			queue->inject, inject_queue_take(queue), INJECT_NO_TURN, &stopping);
	if (!TAILQ_EMPTY(&queue->waiting))
		queue->serve(queue->inject);
	set_timer(queue);
}

struct inject_queue *inject_queue_new(struct event_base *base, struct inject *inject,
	void (*serve)(struct inject *inject),
	bool (*may_start)(const struct inject *inject, const char *company_id))
{
	struct inject_queue *queue = mem_new(struct inject_queue);

	TAILQ_INIT(&queue->waiting);
	TAILQ_INIT(&queue->turns);
	queue->inject = inject;
	queue->serve = serve;
	queue->may_start = may_start;
	queue->wake = event_new(base, -1, 0, on_queue_wake, queue);
	queue->late = event_new(base, -1, 0, on_queue_late, queue);
	return queue;
}

void inject_queue_free(struct inject_queue *queue)
{
	assert(TAILQ_EMPTY(&queue->waiting) && TAILQ_EMPTY(&queue->turns));
	event_free(queue->wake);
	event_free(queue->late);
	free(queue);
}

void inject_queue_wake(struct inject_queue *queue)
{
	event_active(queue->wake, EV_TIMEOUT, 0);
}

void inject_queue_add(struct inject_queue *queue, struct submission *submission, int64_t timeout_ms)
{
	submission->timeout_ms = timeout_ms;
	submission->deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	submission->taken = false;
	submission->tries = 0;
	add_by_deadline(queue, submission);
	TAILQ_INSERT_TAIL(&turn_of(queue, submission->company_id)->waiting, submission, by_turn);
	inject_queue_wake(queue);
}

void inject_queue_add_again(struct inject_queue *queue, struct submission *submission)
{
	struct turn *turn = turn_of(queue, submission->company_id);

	add_by_deadline(queue, submission);
	TAILQ_INSERT_HEAD(&turn->waiting, submission, by_turn);
	TAILQ_REMOVE(&queue->turns, turn, link);
	TAILQ_INSERT_HEAD(&queue->turns, turn, link);
	inject_queue_wake(queue);
}

void inject_queue_set_cause(struct inject_queue *queue, const struct err *err)
{
	queue->cause = err ? *err : ERR_INIT;
}

/* Returns the turn of the first company that may start a submission; NULL if none may. Once the
 * queue is stopped, any may: its submissions are only answered. */
static struct turn *next_turn(const struct inject_queue *queue)
{
	struct turn *turn;

	TAILQ_FOREACH(turn, &queue->turns, link)
		if (queue->stopped || queue->may_start(queue->inject, turn->company_id))
			return turn;
	return NULL;
}

struct submission *inject_queue_next(const struct inject_queue *queue)
{
	const struct turn *turn = next_turn(queue);

	return turn ? TAILQ_FIRST(&turn->waiting) : NULL;
}

struct submission *inject_queue_take(struct inject_queue *queue)
{
	struct turn *turn = next_turn(queue);
	struct submission *submission;

	if (turn == NULL)
		return NULL;
	submission = TAILQ_FIRST(&turn->waiting);
	leave_queue(queue, submission, turn);
	if (!submission->taken)
		submission->deadline_us = clock_monotonic_us() + submission->timeout_ms * 1000;
	submission->taken = true;
	return submission;
}

void inject_queue_stop(struct inject_queue *queue)
{
	queue->stopped = true;
	inject_queue_wake(queue);
}

static int refuse_setting(const char *setting, const char *path, const char *why, struct err *err)
{
	return err_set(err, ERR_CONFIG, "submission.%s: %s: %s", setting, path, why);
}

int inject_settings_check(const struct conf *conf, struct err *err)
{
	const char *sendmail = conf->submission.sendmail;
	_cleanup_free_ char *main_cf = mem_printf("%s/main.cf", conf->submission.postfix_config);
	struct stat info;

	if (conf->submission.method == SUBMISSION_SENDMAIL) {
		if (stat(sendmail, &info) < 0 || access(sendmail, X_OK) < 0)
			return refuse_setting("sendmail", sendmail, strerror(errno), err);
		if (!S_ISREG(info.st_mode))
			return refuse_setting("sendmail", sendmail, "this is no program", err);
	}
	if (!str_empty(conf->submission.postfix_config) && access(main_cf, R_OK) < 0)
		return refuse_setting("postfix_config", main_cf, strerror(errno), err);
	return 0;
}
