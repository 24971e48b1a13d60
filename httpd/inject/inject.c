/*
 * inject: chooses how mail gets into Postfix.
 *
 * Threads: the worker's.
 */
#include "httpd/inject/inject.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

/* By enum submission_method. */
static struct inject *(*const makers[])(
	struct event_base *base, const struct conf *conf) = {
	[SUBMISSION_SENDMAIL] = inject_sendmail_new,
	[SUBMISSION_SMTP] = inject_smtp_new,
};

struct inject *inject_new(struct event_base *base, const struct conf *conf)
{
	size_t method = (size_t)conf->submission.method;

	assert(method < ARRAY_SIZE(makers) && makers[method]);
	return makers[method](base, conf);
}

/*
 * inject_line: a queue with deadlines.
 *
 * All have the same time, but for a setting that was changed meanwhile and for
 * those that come back, which are first: so the first is the one whose time is
 * up first, and one timer is enough.
 *
 * Threads: the worker's.
 */

struct inject_line {
	struct submission *first;
	struct submission **end;
	void (*turn)(void *arg);
	void *arg;
	struct event *wake;
	struct event *late; /* for the first */
	bool stopped;
};

int64_t inject_line_left_ms(const struct submission *submission)
{
	int64_t us = submission->deadline_us - clock_monotonic_us();

	return us > 1000 ? us / 1000 : 1;
}

void inject_line_give_up(struct submission *submission, enum inject_result result)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_TEMPORARY, "the server is stopping");
	submission->done(submission, result, &err);
}

static void set_timer(struct inject_line *line)
{
	struct timeval in = {0};
	int64_t ms;

	if (line->first == NULL) {
		event_del(line->late);
		return;
	}
	ms = inject_line_left_ms(line->first);
	in.tv_sec = ms / 1000;
	in.tv_usec = ms % 1000 * 1000;
	event_add(line->late, &in);
}

static void on_line_late(evutil_socket_t fd, short what, void *arg)
{
	struct inject_line *line = arg;
	int64_t now_us = clock_monotonic_us();
	struct err err = ERR_INIT;

	(void)fd;
	(void)what;
	err_set(&err, ERR_TEMPORARY,
		"it waited too long for its turn to be submitted");
	while (line->first && line->first->deadline_us <= now_us) {
		struct submission *submission = inject_line_take(line);

		submission->done(submission, INJECT_TEMPORARY, &err);
	}
	set_timer(line);
}

static void on_line_wake(evutil_socket_t fd, short what, void *arg)
{
	struct inject_line *line = arg;

	(void)fd;
	(void)what;
	while (line->stopped && line->first)
		inject_line_give_up(inject_line_take(line), INJECT_TEMPORARY);
	if (line->first)
		line->turn(line->arg);
	set_timer(line);
}

struct inject_line *inject_line_new(
	struct event_base *base, void (*turn)(void *arg), void *arg)
{
	struct inject_line *line = mem_new(struct inject_line);

	line->end = &line->first;
	line->turn = turn;
	line->arg = arg;
	line->wake = event_new(base, -1, 0, on_line_wake, line);
	line->late = event_new(base, -1, 0, on_line_late, line);
	return line;
}

void inject_line_free(struct inject_line *line)
{
	assert(line->first == NULL);
	event_free(line->wake);
	event_free(line->late);
	free(line);
}

void inject_line_wake(struct inject_line *line)
{
	event_active(line->wake, EV_TIMEOUT, 0);
}

void inject_line_add(struct inject_line *line, struct submission *submission,
	int64_t timeout_ms)
{
	submission->deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	submission->again = false;
	submission->next = NULL;
	*line->end = submission;
	line->end = &submission->next;
	inject_line_wake(line);
}

void inject_line_add_again(struct inject_line *line, struct submission *submission)
{
	submission->again = true;
	submission->next = line->first;
	line->first = submission;
	if (submission->next == NULL)
		line->end = &submission->next;
	inject_line_wake(line);
}

struct submission *inject_line_next(const struct inject_line *line)
{
	return line->first;
}

struct submission *inject_line_take(struct inject_line *line)
{
	struct submission *submission = line->first;

	if (submission == NULL)
		return NULL;
	line->first = submission->next;
	submission->next = NULL;
	if (line->first == NULL)
		line->end = &line->first;
	return submission;
}

void inject_line_stop(struct inject_line *line)
{
	line->stopped = true;
	inject_line_wake(line);
}

/*
 * inject_settings: whether the settings of submission name what is there.
 */

static int refuse(
	const char *setting, const char *path, const char *why, struct err *err)
{
	return err_set(
		err, ERR_CONFIG, "submission.%s: %s: %s", setting, path, why);
}

static int check_sendmail(const char *path, struct err *err)
{
	struct stat info;

	if (stat(path, &info) < 0 || access(path, X_OK) < 0)
		return refuse("sendmail", path, strerror(errno), err);
	if (!S_ISREG(info.st_mode))
		return refuse("sendmail", path, "this is no program", err);
	return 0;
}

static int check_postfix_config(const char *folder, struct err *err)
{
	_cleanup_free_ char *main_cf = mem_printf("%s/main.cf", folder);

	if (access(main_cf, R_OK) < 0)
		return refuse("postfix_config", main_cf, strerror(errno), err);
	return 0;
}

int inject_settings_check(const struct conf *conf, struct err *err)
{
	if (conf->submission.method == SUBMISSION_SENDMAIL &&
		check_sendmail(conf->submission.sendmail, err) < 0)
		return -1;
	if (str_empty(conf->submission.postfix_config))
		return 0;
	return check_postfix_config(conf->submission.postfix_config, err);
}
