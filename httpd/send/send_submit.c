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
 * Threads: the worker's; prove_run and prove_done are the committer's.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postfix_run.h"
#include "httpd/gate/counts.h"
#include "httpd/gate/request.h"
#include "httpd/send/record_watch.h"
#include "httpd/send/send_group.h"
#include "httpd/worker/worker.h"

void send_note_run(struct send_group *group)
{
	const struct worker *worker = group->worker;
	char run[POSTFIX_RUN_SIZE];

	if (!worker->inject->ops->verdict_first || group->lock == NULL)
		return;
	postfix_run_name(worker->shared->run, run);
	for (size_t i = 0; i < group->n; i++) {
		struct send *send = &group->sends[i];

		if (send->end != SEND_OPEN || send->test)
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
	char ticket[SECRET_TICKET_SIZE];
};

/* A ticket that is superseded by now proves nothing. */
static int prove_run(struct db *db, void *arg, struct err *err)
{
	const struct proof *proof = arg;

	return store_email_prove(db, proof->ticket, err) < 0 ? -1 : 0;
}

static void prove_done(void *arg, int result, const struct err *err)
{
	const struct proof *proof = arg;

	if (result < 0)
		log_warn(proof->log, "proof_failed", "error", err->text);
	free(arg);
}

/* A job of its own, which may be done after the request: nothing waits for
 * it. */
void send_prove(const struct send *send, const char *ticket)
{
	const struct worker_shared *shared = send->group->worker->shared;
	struct proof *proof = mem_new(struct proof);

	proof->log = shared->log;
	memcpy(proof->ticket, ticket, sizeof(proof->ticket));
	proof->job.run = prove_run;
	proof->job.done = prove_done;
	proof->job.arg = proof;
	proof->job.lazy = true;
	committer_submit(shared->committer, &proof->job);
}

/* Postfix has the email, but the milter has not decided in time. What is late
 * of a request counts once. */
static void note_late(const struct send *send)
{
	const struct worker *worker = send->group->worker;
	struct record_gate *gate = worker->shared->gate;

	log_warn(worker->log, "record_late", "request",
		send->group->request->id, "email", send->result->id, "hint",
		"postern-milter or Postfix is away or slow, or Postfix does "
		"not ask the milter");
	if (send_group_count(send->group, SEND_LATE) > 0 ||
		!record_gate_late(gate, clock_monotonic_us()))
		return;
	log_error(worker->log, "milter_not_in_charge", "cause",
		record_gate_cause(worker->shared->run, worker->conf), "effect",
		"emails wait in Postfix, unrecorded; new ones are answered "
		"with 503",
		"hint", "run postfix-conf/check");
}

static void on_send_recorded(
	struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = CONTAINER_OF(watched, struct send, watched);
	const struct worker *worker = send->group->worker;

	if (state != EMAIL_STAGED && record_gate_recorded(worker->shared->gate))
		log_info(worker->log, "milter_in_charge");
	if (state == EMAIL_SENT) {
		send->result->problem = PROBLEM_INIT;
		send_finish(send, SEND_SENT);
	} else if (state == EMAIL_REFUSED) {
		log_warn(worker->log, "refused_by_milter", "request",
			send->group->request->id, "email", send->result->id,
			"reason", refusal);
		problem_set(
			&send->result->problem, PROBLEM_DOMAIN, "%s", refusal);
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

	if (store_email_outcome(
		    worker->db, send->result->id, &state, refusal_r, &err) < 0)
		log_error(worker->log, "store_failed", "email",
			send->result->id, "error", err.text);
	return state;
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
 *   unknown    any       UNSURE              watch
 *
 * When Postfix says `not now` after the milter let the message pass, the part
 * that says so may not know what became of it: smtpd, when its cleanup dies
 * behind the queued message.
 */
static void on_send_injected(
	struct submission *submission, const struct inject_answer *answer)
{
	struct send *send = CONTAINER_OF(submission, struct send, submission);
	const struct request *request = send->group->request;
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_STAGED;
	bool unsure;

	count_add(&send->group->worker->counts->submissions[answer->result], 1);
	if (answer->verdict_first)
		state = read_record(send, &refusal);
	if (answer->result == INJECT_QUEUED && send->unproven)
		send_prove(send, send->composed.row.ticket);
	if ((answer->result == INJECT_QUEUED && state != EMAIL_STAGED) ||
		(answer->result == INJECT_REJECTED && state == EMAIL_REFUSED)) {
		on_send_recorded(&send->watched, state, refusal);
		return;
	}
	if (answer->result == INJECT_QUEUED) {
		send_watch(send);
		return;
	}
	log_error(request->worker->log, "submission_failed", "request",
		request->id, "email", send->result->id, "error",
		answer->err->text, "hint",
		answer->result == INJECT_TEMPORARY
			? "postern-milter or Postfix is away or busy: "
			  "run postfix-conf/check"
			: NULL);
	problem_from_err(&send->result->problem, answer->err);
	send->rejected = answer->result == INJECT_REJECTED;
	send->doubted = answer->verdict_first;
	unsure = answer->result == INJECT_UNKNOWN ||
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

void send_submit(struct send *send)
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
