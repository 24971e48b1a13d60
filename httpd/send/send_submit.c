/*
 * send_submit: an email on its way into Postfix, the wait for the milter's
 * record of it, and the proof that Postfix has it.
 *
 *   send_submit ─(Postfix)─> on_send_injected ─> send_watch
 *     ─(milter)─> on_send_recorded ─> send_finish
 *
 * This is the one file of send that knows the two orders of things:
 *
 *                        sendmail(1)           SMTP
 *   first comes          the queue             the milter's record
 *   the row is durable   before it is          with the commit of the
 *                        submitted             record
 *   proof of the queue   the record            the answer to the message
 *   no clear answer      the record tells,     nobody knows: a record says
 *                        if it comes           nothing, and is doubted
 *
 * Threads: the worker's; prove_run, prove_done and those of supersede are the
 * committer's.
 */
#include <event2/event.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "core/policy/verdict.h"
#include "core/postfix/postfix_run.h"
#include "httpd/gate/counts.h"
#include "httpd/gate/request.h"
#include "httpd/send/probe_report.h"
#include "httpd/send/record_watch.h"
#include "httpd/send/send_group.h"
#include "httpd/worker/worker.h"

void send_note_way(struct send_group *group)
{
	const struct worker *worker = group->worker;
	bool verdict_first = worker->inject->ops->verdict_first;
	char run[POSTFIX_RUN_SIZE] = "";

	if (verdict_first && group->lock)
		postfix_run_name(worker->shared->run, run);
	for (size_t i = 0; i < group->n; i++) {
		struct send *send = &group->sends[i];

		if (send->end != SEND_OPEN || send->test)
			continue;
		send->composed.row.way = verdict_first ? EMAIL_WAY_SMTP : EMAIL_WAY_SENDMAIL;
		if (!verdict_first || group->lock == NULL)
			continue;
		send->unproven = true;
		send->composed.row.run = mem_strdup(run);
	}
}

bool send_commit_is_lazy(const struct send_group *group)
{
	if (!group->worker->inject->ops->verdict_first)
		return false;
	for (size_t i = 0; i < group->n; i++)
		if (group->sends[i].test) /* no milter records it */
			return false;
	return true;
}

struct proof {
	struct commit_job job;
	struct log *log; /* of all workers */
	bool spent;
	char ticket[SECRET_TICKET_SIZE];
};

/* A ticket that is superseded by now proves nothing. */
static int prove_run(struct db *db, void *arg, struct err *err)
{
	const struct proof *proof = arg;

	int found = proof->spent ? store_email_spend(db, proof->ticket, err)
				 : store_email_prove(db, proof->ticket, err);

	return found < 0 ? -1 : 0;
}

static void prove_done(void *arg, int result, const struct err *err)
{
	const struct proof *proof = arg;

	if (result < 0)
		log_warn(proof->log, "proof_failed", "error", err->text);
	free(arg);
}

/* A job of its own, which may be done after the request: nothing waits for it.
 * For a repeat it is to be there soon; otherwise it goes with another commit. */
static void submit_proof(const struct send *send, const char *ticket, bool spent)
{
	const struct worker_shared *shared = send->group->worker->shared;
	struct proof *proof = mem_new(struct proof);

	proof->log = shared->log;
	proof->spent = spent;
	memcpy(proof->ticket, ticket, sizeof(proof->ticket));
	proof->job.run = prove_run;
	proof->job.done = prove_done;
	proof->job.arg = proof;
	proof->job.lazy = true;
	proof->job.patient = send->group->lock == NULL;
	committer_submit(shared->committer, &proof->job);
}

void send_prove(const struct send *send, const char *ticket)
{
	submit_proof(send, ticket, false);
}

/* Postfix has the email, but the milter has not decided in time. What is late
 * of a request counts once. */
static void note_late(const struct send *send)
{
	const struct worker *worker = send->group->worker;
	const char *company = send->group->request->admission.key.company_id;

	log_warn(worker->log, "record_late", "request", send->group->request->id, "email",
		send->result->id, "hint",
		"postern-milter or Postfix is away or slow, or Postfix does not ask the milter");
	if (send_group_count(send->group, SEND_LATE) > 0)
		return;
	switch (record_gate_late(worker->shared->gate, company, clock_monotonic_us())) {
	case RECORD_GATE_NO_NEWS:
		break;
	case RECORD_GATE_SHUT:
		log_error(worker->log, "company_put_off", "company", company, "cause",
			"its emails come to no record, those of others do", "effect",
			"new ones of it are answered with 503", "hint",
			"see `postern held list`, and what header_checks and other milters do with "
			"them");
		break;
	case RECORD_GATE_BLAMED:
		log_error(worker->log, "milter_not_in_charge", "cause",
			record_gate_cause(worker->shared->run, worker->conf), "effect",
			"emails wait in Postfix, unrecorded; new ones are answered with 503",
			"hint", "run postfix-conf/check");
	}
}

static void on_send_recorded(struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = CONTAINER_OF(watched, struct send, watched);
	const struct worker *worker = send->group->worker;

	if (state != EMAIL_STAGED)
		probe_report_recorded(worker->shared->probe);
	if (state != EMAIL_STAGED && record_gate_decided(worker->shared->gate,
					     send->group->request->admission.key.company_id))
		log_info(worker->log, "milter_in_charge");
	if (state == EMAIL_SENT) {
		send->result->problem = PROBLEM_INIT;
		send_finish(send, SEND_SENT);
	} else if (state == EMAIL_REFUSED) {
		log_warn(worker->log, "refused_by_milter", "request", send->group->request->id,
			"email", send->result->id, "reason", refusal);
		problem_set(&send->result->problem,
			verdict_text_is_message(refusal) ? PROBLEM_VALIDATION : PROBLEM_DOMAIN,
			"%s", refusal);
		send_finish(send, SEND_REFUSED);
	} else if (send->result->problem.kind != PROBLEM_NONE) {
		/* The problem tells already why nobody knows. */
		send_finish(send, SEND_UNSURE);
	} else {
		note_late(send);
		send_finish(send, SEND_LATE);
	}
}

void send_watch(struct send *send)
{
	struct worker *worker = send->group->worker;

	buf_free(&send->composed.message);
	send->watched.email_id = send->result->id;
	send->watched.wait_ms = worker->conf->submission.record_wait_ms;
	send->watched.done = on_send_recorded;
	record_watch_add(worker->watch, &send->watched);
}

/* What the milter has said already. The refusal is the caller's to free. */
static enum email_state read_record(const struct send *send, char **refusal_r)
{
	const struct worker *worker = send->group->worker;
	enum email_state state = EMAIL_STAGED;
	struct err err = ERR_INIT;

	if (store_email_outcome(worker->db, send->result->id, &state, refusal_r, &err) < 0)
		log_error(
			worker->log, "store_failed", "email", send->result->id, "error", err.text);
	return state;
}

/*
 * The session was lost when Postfix had all of the message. Where the milter
 * has not decided, or all of Postfix is gone, the email gets a new ticket, in a
 * commit that finds the row as it was, and goes out once more: should the first
 * message come to the milter after all, its ticket is superseded, and it is
 * thrown away. Where the milter had decided Postfix was about to queue the
 * message. Who stops Postfix ends all of its processes, and cleanup(8) removes
 * what it has not finished; while Postfix goes on nobody knows.
 */

/* Postfix has ended, or not, so long after a session was lost. */
enum { RESUBMISSIONS_MAX = 3, END_OF_RUN_MS = 500 };

static void submit(struct send *send);

static int supersede_run(struct db *db, void *arg, struct err *err)
{
	struct send *send = arg;

	send->superseded = store_email_supersede(db, &send->composed.row, err);
	return send->superseded < 0 ? -1 : 0;
}

/* On the committer's thread. */
static void supersede_done(void *arg, int result, const struct err *err)
{
	struct send *send = arg;

	(void)result;
	(void)err;
	task_queue_post(send->group->worker->tasks, &send->task);
}

static void give_up(struct send *send)
{
	send->doubted = true;
	send_finish(send, SEND_UNSURE);
}

static void on_send_superseded(struct task *task)
{
	struct send *send = CONTAINER_OF(task, struct send, task);

	/* What the milter has said of an earlier message proves nothing now. */
	send->composed.row.state = EMAIL_STAGED;
	if (send->superseded > 0)
		submit(send);
	else
		give_up(send);
}

/* state is the row's. */
static void resubmit(struct send *send, enum email_state state)
{
	const struct worker *worker = send->group->worker;
	struct composed *composed = &send->composed;

	log_warn(worker->log, "resubmitted", "request", send->group->request->id, "email",
		send->result->id, "cause", "the session was lost when Postfix had the message");
	send->recorded_before |= state == EMAIL_SENT;
	secret_ticket(composed->row.ticket);
	composed->row.state = state;
	free(composed->recipient);
	composed->recipient = ticket_address(composed->row.ticket);
	send->task.run = on_send_superseded;
	send->job = (struct commit_job){
		.run = supersede_run,
		.done = supersede_done,
		.arg = send,
		.lazy = true,
	};
	committer_submit(worker->shared->committer, &send->job);
}

static void on_run_over(evutil_socket_t fd, short what, void *arg)
{
	struct send *send = arg;
	char now[POSTFIX_RUN_SIZE];

	(void)fd;
	(void)what;
	postfix_run_name(send->group->worker->shared->run, now);
	if (strcmp(send->run, now) != 0 || postfix_run_is_over(send->group->worker->shared->run))
		resubmit(send, EMAIL_SENT);
	else
		give_up(send);
}

/* Whether it does something about the email, whose row has the state; false:
 * all that can be said is that nobody knows. A repeat has its own rules. */
static bool try_again(struct send *send, enum email_state state, const struct err *err)
{
	const struct worker *worker = send->group->worker;
	const struct timeval in = {.tv_usec = END_OF_RUN_MS * 1000};

	if (worker->inject->stopping || send_group_is_repeat(send->group) ||
		state == EMAIL_REFUSED || send->resubmissions++ == RESUBMISSIONS_MAX)
		return false;
	problem_from_err(&send->result->problem, err);
	if (state == EMAIL_STAGED) {
		resubmit(send, state);
		return true;
	}
	postfix_run_name(worker->shared->run, send->run);
	event_base_once(worker->base, -1, EV_TIMEOUT, on_run_over, send, &in);
	return true;
}

/*
 *   answer     record    decided first       not decided yet
 *   queued     sent      SENT                watch
 *              refused   REFUSED             watch
 *              none      watch               watch
 *   rejected   refused   REFUSED             FAILED
 *              other     FAILED              FAILED
 *   temporary  sent      UNSURE, see below   FAILED
 *              other     FAILED              FAILED
 *   unknown    any       try_again, UNSURE   watch
 *
 * When Postfix says `not now` after the milter let the message pass, the part
 * that says so may not know what became of it: smtpd, when its cleanup dies
 * behind the queued message.
 */
static void on_send_injected(struct submission *submission, const struct inject_answer *answer)
{
	struct send *send = CONTAINER_OF(submission, struct send, submission);
	const struct request *request = send->group->request;
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_STAGED;
	bool unsure;

	count_add(&send->group->worker->counts->submissions[answer->result], 1);
	if (answer->verdict_first)
		state = read_record(send, &refusal);
	if (answer->result == INJECT_QUEUED && (answer->verdict_first || send->unproven))
		submit_proof(send, send->composed.row.ticket, answer->verdict_first);
	if ((answer->result == INJECT_QUEUED && state != EMAIL_STAGED) ||
		(answer->result == INJECT_REJECTED && state == EMAIL_REFUSED)) {
		on_send_recorded(&send->watched, state, refusal);
		return;
	}
	if (answer->result == INJECT_QUEUED) {
		send_watch(send);
		return;
	}
	if (answer->result == INJECT_UNKNOWN && answer->verdict_first &&
		try_again(send, state, answer->err))
		return;
	log_error(request->worker->log, "submission_failed", "request", request->id, "email",
		send->result->id, "error", answer->err->text, "hint",
		answer->result == INJECT_TEMPORARY
			? "postern-milter or Postfix is away or busy: run "
			  "postfix-conf/check"
			: NULL);
	problem_from_err(&send->result->problem, answer->err);
	send->rejected = answer->result == INJECT_REJECTED;
	send->doubted = answer->verdict_first;
	unsure = answer->result == INJECT_UNKNOWN || send->recorded_before ||
		 (answer->result == INJECT_TEMPORARY && state == EMAIL_SENT);
	if (unsure && !answer->verdict_first)
		send_watch(send);
	else
		send_finish(send, unsure ? SEND_UNSURE : SEND_FAILED);
}

/* Postfix has to know before it takes the message. */
static bool has_utf8_recipient(const struct email *row)
{
	for (size_t i = 0; i < row->recipients.n; i++)
		if (!str_is_ascii(row->recipients.items[i].address))
			return true;
	return false;
}

static void submit(struct send *send)
{
	send->submission = (struct submission){
		.sender = send->composed.row.sender,
		.recipient = send->composed.recipient,
		.message = &send->composed.message,
		.company_id = send->composed.row.company_id,
		.utf8 = has_utf8_recipient(&send->composed.row),
		.done = on_send_injected,
	};
	inject_submit(send->group->worker->inject, &send->submission);
}

void send_submit(struct send *send)
{
	submit(send);
}
