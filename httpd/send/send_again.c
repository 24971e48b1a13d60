/*
 * send_again: the emails of a request that came before.
 *
 * That one may have ended at any moment, with httpd itself. An email of which
 * the milter has not decided may be on its way into Postfix, wait there, or
 * never come. So it is waited for a moment; then it gets a new ticket, in a
 * commit that finds it undecided, and is submitted again. Should the first
 * message come after all, its ticket is superseded and the milter discards it.
 *
 * What is sent counts as with Postfix, unless the system went down or Postfix
 * was started anew since, and Postfix was not heard to have it: the milter's
 * record is on the disk before the queue file. Such an email goes out again. It
 * stays sent meanwhile, whatever comes of it: a client may have its id.
 *
 *   send_again ─> look, for each ─(milter)─> supersede ─(committer)─>
 *     send_submit, or send_watch when it was decided meanwhile
 *
 * Threads: the worker's, but for supersede_run, which is the committer's.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/conf/conf.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/idempotency.h"
#include "httpd/gate/request.h"
#include "httpd/send/send_private.h"

/* How long a sendmail process that outlived its httpd has. */
enum { LOOK_MS = 1000 };

/* Whether what is sent of it may have been lost since. Within its run it may
 * not: then that it is sent will do for the time to come, too. */
static bool is_stale(struct send *send, const struct email_recall *recall)
{
	const char *now = send->group->claim->run;

	if (recall->run == NULL)
		return false;
	send->unproven = true;
	if (now[0] == '\0' || strcmp(recall->run, now) != 0)
		return true;
	memcpy(send->earlier, recall->ticket, sizeof(send->earlier));
	return false;
}

/* What the answer was given to already is sent, unless it was lost since. */
static void recall_found(struct send *send, const struct email_recall *recall)
{
	bool stale = is_stale(send, recall);

	if (send->group->claim->record.settled && !stale) {
		send->end = SEND_SENT;
	} else if (recall->state == EMAIL_REFUSED) {
		problem_set(&send->result->problem, PROBLEM_DOMAIN, "%s",
			recall->refusal);
		send->end = SEND_REFUSED;
	} else if (recall->state == EMAIL_SENT) {
		send->composed.row.state = EMAIL_SENT;
		send->end = stale ? SEND_OPEN : SEND_SENT;
	}
}

/* Emails leave the store only when they are taken back: one that is not there
 * was not sent. */
static void recall_none(struct send *send)
{
	if (send->group->claim->record.settled) {
		send->end = SEND_SENT;
		return;
	}
	problem_set(&send->result->problem, PROBLEM_UNAVAILABLE,
		"The email was not sent by the first request with this "
		"Idempotency-Key. Please send it with another key.");
	send->end = SEND_FAILED;
}

static void recall_email(struct send *send)
{
	const struct request *request = send->group->request;
	struct email_recall recall;
	struct err err = ERR_INIT;
	int found = store_email_recall(
		request->worker->db, send->result->id, &recall, &err);

	if (found < 0) {
		log_error(request->worker->log, "store_failed", "request",
			request->id, "error", err.text);
		problem_from_err(&send->result->problem, &err);
		send->end = SEND_UNSURE;
	} else if (found == 0) {
		recall_none(send);
	} else {
		recall_found(send, &recall);
		store_email_recall_clear(&recall);
	}
}

static void recall(struct send *send, const char *result)
{
	bool is_id = result[0] != '!';

	if (send->end == SEND_BAD) {
		send->end = is_id ? SEND_BARRED : SEND_BAD;
		return;
	}
	if (!is_id) {
		problem_set(&send->result->problem, PROBLEM_VALIDATION, "%s",
			result + 1);
		send->end = SEND_BAD;
		return;
	}
	id_parse(result, send->result->id);
	recall_email(send);
}

void send_recall(struct send_group *group)
{
	const struct idempotency *record = &group->claim->record;

	group->created_us = record->created_us;
	for (size_t i = 0; i < group->n; i++)
		recall(&group->sends[i], record->results.items[i]);
}

static int supersede_run(struct db *db, void *arg, struct err *err)
{
	const struct send_group *group = arg;

	for (size_t i = 0; i < group->n; i++) {
		struct send *send = &group->sends[i];
		int found;

		if (send->end != SEND_OPEN)
			continue;
		found = store_email_supersede(db, &send->composed.row, err);
		if (found < 0)
			return -1;
		send->decided = found == 0;
	}
	return 0;
}

static void submit_or_watch(struct send *send)
{
	if (send->decided)
		send_watch(send);
	else
		send_submit(send);
}

static void give_up(struct send *send)
{
	problem_from_err(&send->result->problem, &send->group->job_err);
	send_group_finish(send, SEND_UNSURE);
}

static void on_send_superseded(struct task *task)
{
	struct send_group *group = (struct send_group *)task;
	const struct request *request = group->request;

	if (group->job_result < 0)
		log_error(request->worker->log, "stage_failed", "request",
			request->id, "error", group->job_err.text);
	send_group_each_open(group,
		group->job_result < 0 ? give_up : submit_or_watch, send_settle);
}

static void supersede(struct send_group *group)
{
	const struct request *request = group->request;

	for (size_t i = 0; i < group->n; i++)
		if (group->sends[i].end == SEND_OPEN)
			log_warn(request->worker->log, "sent_again", "request",
				request->id, "email", group->results[i].id);
	send_prepare(group);
	if (send_group_count(group, SEND_OPEN) > 0)
		send_group_commit(
			group, supersede_run, on_send_superseded, false);
	else
		send_settle(group);
}

static void on_send_looked(
	struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = CONTAINER_OF(watched, struct send, watched);

	if (state == EMAIL_STAGED) {
		send_group_leave(send);
	} else if (state == EMAIL_REFUSED) {
		problem_set(
			&send->result->problem, PROBLEM_DOMAIN, "%s", refusal);
		send_group_finish(send, SEND_REFUSED);
	} else {
		send_group_finish(send, SEND_SENT);
	}
}

static void look(struct send *send)
{
	struct worker *worker = send->group->request->worker;
	int64_t wait_ms = worker->conf->submission.record_wait_ms;

	if (send->composed.row.state == EMAIL_SENT) {
		send_group_leave(send);
		return;
	}
	send->watched.email_id = send->result->id;
	send->watched.wait_ms = wait_ms < LOOK_MS ? wait_ms : LOOK_MS;
	send->watched.done = on_send_looked;
	record_watch_add(worker->watch, &send->watched);
}

void send_again(struct send_group *group)
{
	send_group_each_open(group, look, supersede);
}
