/*
 * inject_sendmail: submission by sendmail(1).
 *
 *   sendmail [-C CONFIG] -i -f SENDER -- RECIPIENT
 *
 * A process for each message, a bounded number at once; the others wait in
 * the queue. Exit statuses are sysexits: Postfix queues nothing unless it is 0.
 * One that was killed may have queued the message just before.
 *
 * Threads: the worker's.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"
#include "httpd/inject/child.h"
#include "httpd/inject/inject.h"

struct process {
	struct inject_sendmail *inject;
	struct submission *submission;
	struct child *child;
	struct strv argv;
	LIST_ENTRY(process) link;
};

struct inject_sendmail {
	struct inject inject; /* first */
	struct event_base *base;
	const struct conf *conf;
	struct inject_queue *queue;
	LIST_HEAD(, process) running;
	int64_t running_n;
};

/* What an exit status means; the rest is INJECT_TEMPORARY. */
static const struct {
	int status;
	enum inject_result result;
} results[] = {
	{EX_OK, INJECT_QUEUED},
	{EX_USAGE, INJECT_REJECTED},
	{EX_DATAERR, INJECT_REJECTED},
	{EX_NOUSER, INJECT_REJECTED},
	{EX_NOHOST, INJECT_REJECTED},
};

static enum inject_result result_of(int status)
{
	if (!WIFEXITED(status))
		return INJECT_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (results[i].status == WEXITSTATUS(status))
			return results[i].result;
	return INJECT_TEMPORARY;
}

static void describe(int status, const char *errors, struct err *err)
{
	enum err_code code = result_of(status) == INJECT_REJECTED
				     ? ERR_INTERNAL
				     : ERR_TEMPORARY;
	_cleanup_free_ char *text = str_trim(errors, strlen(errors));

	if (WIFEXITED(status))
		err_set(err, code, "sendmail exited with status %d: %s",
			WEXITSTATUS(status), text);
	else
		err_set(err, code, "sendmail was killed by signal %d: %s",
			WTERMSIG(status), text);
}

static void process_free(struct process *process)
{
	LIST_REMOVE(process, link);
	process->inject->running_n--;
	strv_free(&process->argv);
	free(process);
}

static void on_sendmail_done(void *arg, int status, const char *errors)
{
	struct process *process = arg;
	struct inject_sendmail *self = process->inject;
	struct submission *submission = process->submission;
	enum inject_result result = result_of(status);
	struct err err = ERR_INIT;

	if (result != INJECT_QUEUED)
		describe(status, errors, &err);
	process_free(process);
	inject_queue_wake(self->queue);
	inject_answer(&self->inject, submission, result, &err);
}

static void fill_argv(struct strv *argv, const struct conf *conf,
	const struct submission *submission)
{
	strv_add(argv, conf->submission.sendmail);
	if (!str_empty(conf->submission.postfix_config)) {
		strv_add(argv, "-C");
		strv_add(argv, conf->submission.postfix_config);
	}
	strv_add(argv, "-i");
	strv_add(argv, "-f");
	strv_add(argv, submission->sender);
	strv_add(argv, "--");
	strv_add(argv, submission->recipient);
}

static void start(struct inject_sendmail *self, struct submission *submission)
{
	struct process *process = mem_new(struct process);
	struct child_spec spec = {
		.input = submission->message,
		.timeout_ms = inject_left_ms(submission),
		.done = on_sendmail_done,
		.arg = process,
	};
	struct err err = ERR_INIT;
	int failed;

	process->inject = self;
	process->submission = submission;
	fill_argv(&process->argv, self->conf, submission);
	spec.argv = process->argv.items;
	LIST_INSERT_HEAD(&self->running, process, link);
	self->running_n++;
	failed = child_start(self->base, &spec, &process->child, &err);
	if (failed == 0)
		return;
	process_free(process);
	inject_answer(&self->inject, submission,
		failed < 0 ? INJECT_TEMPORARY : INJECT_UNKNOWN, &err);
}

static void serve(struct inject *inject)
{
	struct inject_sendmail *self = (struct inject_sendmail *)inject;
	struct submission *submission;

	while (self->running_n < self->conf->submission.processes &&
		(submission = inject_queue_take(self->queue)) != NULL)
		start(self, submission);
}

static void inject_sendmail_submit(
	struct inject *inject, struct submission *submission)
{
	struct inject_sendmail *self = (struct inject_sendmail *)inject;

	inject_queue_add(
		self->queue, submission, self->conf->submission.timeout_ms);
}

static void inject_sendmail_stop(struct inject *inject)
{
	struct inject_sendmail *self = (struct inject_sendmail *)inject;
	struct process *process;

	while ((process = LIST_FIRST(&self->running)) != NULL) {
		struct submission *submission = process->submission;

		child_kill(process->child);
		process_free(process);
		inject_give_up(inject, submission, INJECT_UNKNOWN);
	}
	inject_queue_stop(self->queue);
}

static void inject_sendmail_free(struct inject *inject)
{
	struct inject_sendmail *self = (struct inject_sendmail *)inject;

	assert(LIST_EMPTY(&self->running));
	inject_queue_free(self->queue);
	free(self);
}

static const struct inject_ops inject_sendmail_ops = {
	.submit = inject_sendmail_submit,
	.stop = inject_sendmail_stop,
	.free = inject_sendmail_free,
};

struct inject *inject_sendmail_new(
	struct event_base *base, const struct conf *conf)
{
	struct inject_sendmail *self = mem_new(struct inject_sendmail);

	self->inject.ops = &inject_sendmail_ops;
	self->base = base;
	self->conf = conf;
	self->queue = inject_queue_new(base, &self->inject, serve);
	LIST_INIT(&self->running);
	return &self->inject;
}
