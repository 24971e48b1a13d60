/*
 * send: from parsed emails to their records.
 *
 *   send_emails ─> stage ─(committer)─> on_send_staged ─> inject
 *     ─(sendmail)─> on_send_injected ─> watch ─(milter)─> on_send_recorded
 *     ─> finish
 *
 * A group lives from send_emails() to its done, each struct send from there to
 * its finish(). The answer waits for the record: after it the email is in
 * Postfix's queue, its row is durable, and GET finds it.
 *
 * Threads: the worker's, but for the run and done of its jobs, which are the
 * committer's.
 */
#include "httpd/send/send.h"

#include <string.h>

#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "httpd/inbox.h"
#include "httpd/inject/inject.h"
#include "httpd/send/record_watch.h"
#include "httpd/http/request.h"
#include "httpd/send/send_private.h"
#include "httpd/worker.h"

/* The emails of one request. */
struct send_group {
	struct request *request;
	send_done *done;
	struct send_result *results;
	size_t n;
	size_t left;
};

struct send {
	struct letter letter; /* first: from the committer to the worker */
	struct send_group *group;
	size_t index; /* in the group */
	struct request *request;
	bool test;
	bool unsure; /* whether Postfix has it; job_err tells why */
	struct composed composed;
	struct commit_job job;
	int job_result;
	struct err job_err;
	struct submission submission;
	struct watched watched;
	struct problem problem;
};

const struct problem *send_first_problem(
	const struct send_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (results[i].problem.kind != PROBLEM_NONE)
			return &results[i].problem;
	return NULL;
}

static void end_group(struct send_group *group)
{
	group->done(group->request, group->results, group->n);
	for (size_t i = 0; i < group->n; i++)
		free(group->results[i].message_id);
	free(group->results);
	free(group);
}

static void finish(struct send *send)
{
	struct send_group *group = send->group;
	struct send_result *result = &group->results[send->index];
	struct email *row = &send->composed.row;

	memcpy(result->id, row->id, ID_SIZE);
	result->message_id = TAKE_PTR(row->message_id);
	result->problem = send->problem;
	send_composed_clear(&send->composed);
	free(send);
	if (--group->left == 0)
		end_group(group);
}

static void on_send_recorded(
	struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = (struct send *)((char *)watched -
					    offsetof(struct send, watched));
	struct log *log = send->request->worker->log;
	const char *id = send->composed.row.id;

	if (state == EMAIL_REFUSED) {
		log_warn(log, "refused_by_milter", "request", send->request->id,
			"email", id, "reason", refusal);
		problem_set(&send->problem, PROBLEM_DOMAIN, "%s", refusal);
	} else if (state == EMAIL_STAGED && send->unsure) {
		problem_from_err(&send->problem, &send->job_err);
	} else if (state == EMAIL_STAGED) {
		log_warn(log, "record_late", "request", send->request->id,
			"email", id);
	}
	finish(send);
}

static void watch(struct send *send)
{
	struct worker *worker = send->request->worker;

	buf_free(&send->composed.message);
	send->watched.email_id = send->composed.row.id;
	send->watched.wait_ms = worker->conf->submission.record_wait_ms;
	send->watched.done = on_send_recorded;
	record_watch_add(worker->watch, &send->watched);
}

/* On the committer's thread. */
static void on_job_done(void *arg, int result, const struct err *err)
{
	struct send *send = arg;

	send->job_result = result;
	if (result < 0)
		send->job_err = *err;
	inbox_post(send->request->worker->inbox, &send->letter);
}

static void commit(struct send *send,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*deliver)(struct letter *letter))
{
	send->letter.deliver = deliver;
	send->job.run = run;
	send->job.done = on_job_done;
	send->job.arg = send;
	committer_submit(send->request->worker->shared->committer, &send->job);
}

static int unstage_run(struct db *db, void *arg, struct err *err)
{
	struct send *send = arg;

	return store_email_unstage(db, send->composed.row.ticket, err) < 0 ? -1
									   : 0;
}

static void on_send_unstaged(struct letter *letter)
{
	struct send *send = (struct send *)letter;

	if (send->job_result < 0)
		log_error(send->request->worker->log, "unstage_failed", "request",
			send->request->id, "error", send->job_err.text);
	finish(send);
}

static void on_send_injected(struct submission *submission,
	enum inject_result result, const struct err *err)
{
	struct send *send = (struct send *)((char *)submission -
					    offsetof(struct send, submission));

	if (result == INJECT_QUEUED) {
		watch(send);
		return;
	}
	log_error(send->request->worker->log, "submission_failed", "request",
		send->request->id, "email", send->composed.row.id, "error",
		err->text);
	if (result == INJECT_UNKNOWN) { /* the record will tell, if it comes */
		send->unsure = true;
		send->job_err = *err;
		watch(send);
		return;
	}
	problem_from_err(&send->problem, err);
	commit(send, unstage_run, on_send_unstaged);
}

static void inject(struct send *send)
{
	send->submission = (struct submission){
		.sender = send->composed.row.sender,
		.recipients = &send->composed.recipients,
		.message = &send->composed.message,
		.done = on_send_injected,
	};
	inject_submit(send->request->worker->inject, &send->submission);
}

/* A test goes no further than the store, so nobody else can record it. */
static int stage_run(struct db *db, void *arg, struct err *err)
{
	struct send *send = arg;
	const struct email *row = &send->composed.row;

	if (store_email_stage(db, row, err) < 0)
		return -1;
	if (!send->test)
		return 0;
	return store_email_record(db, row->ticket, "", row->created_us, err) < 0
		       ? -1
		       : 0;
}

static void on_send_staged(struct letter *letter)
{
	struct send *send = (struct send *)letter;

	if (send->job_result == 0 && !send->test) {
		inject(send);
		return;
	}
	if (send->job_result < 0) {
		log_error(send->request->worker->log, "stage_failed", "request",
			send->request->id, "error", send->job_err.text);
		problem_from_err(&send->problem, &send->job_err);
	}
	finish(send);
}

static struct send *prepare(
	struct send_group *group, size_t index, struct outgoing *outgoing)
{
	struct send *send = mem_new(struct send);
	const char *domain = outgoing->message.from.domain;

	send->group = group;
	send->index = index;
	send->request = group->request;
	send->test = outgoing->test;
	if (send_decide(group->request, domain, &send->problem) == 0)
		send_compose(group->request, outgoing, &send->composed,
			&send->problem);
	outgoing_clear(outgoing);
	return send;
}

void send_emails(struct request *request, struct outgoing *outgoing, size_t n,
	send_done *done)
{
	struct send_group *group = mem_new(struct send_group);
	struct send **sends = mem_alloc(n, sizeof(*sends));
	bool all_well = true;

	group->request = request;
	group->done = done;
	group->results = mem_alloc(n, sizeof(*group->results));
	group->n = group->left = n;
	for (size_t i = 0; i < n; i++) {
		sends[i] = prepare(group, i, &outgoing[i]);
		if (sends[i]->problem.kind != PROBLEM_NONE)
			all_well = false;
	}
	for (size_t i = 0; i < n; i++) {
		if (all_well)
			commit(sends[i], stage_run, on_send_staged);
		else
			finish(sends[i]);
	}
	free(sends);
}
