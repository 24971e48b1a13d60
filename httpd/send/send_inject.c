/*
 * send_inject: an email on its way into Postfix, and the wait for its record.
 *
 *   send_inject ─(Postfix)─> on_send_injected ─> send_watch
 *     ─(milter)─> on_send_recorded ─> send_group_finish
 *
 * Threads: the worker's.
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/send/record_gate.h"
#include "httpd/send/send_private.h"

/* Whatever is late of a request counts once. */
static void note_late(const struct send *send)
{
	const struct worker *worker = send->group->worker;
	struct record_gate *gate = worker->shared->gate;

	if (send_group_count(send->group, SEND_LATE) > 0 ||
		!record_gate_late(gate, clock_monotonic_us()))
		return;
	log_error(worker->log, "milter_not_in_charge", "cause",
		record_gate_cause(gate, worker->conf), "effect",
		"emails wait in Postfix, unrecorded; new ones are answered "
		"with 503",
		"hint", "run postfix-conf/check");
}

static void note_recorded(const struct worker *worker)
{
	if (record_gate_recorded(worker->shared->gate))
		log_info(worker->log, "milter_in_charge");
}

/* A problem that the email has already tells why it is unsure. */
static enum send_end without_record(const struct send *send)
{
	const struct request *request = send->group->request;

	if (send->result->problem.kind != PROBLEM_NONE)
		return SEND_UNSURE;
	log_warn(request->worker->log, "record_late", "request", request->id,
		"email", send->result->id, "hint",
		"postern-milter or Postfix is away or slow, or Postfix does "
		"not ask the milter");
	note_late(send);
	return SEND_LATE;
}

static enum send_end refused(struct send *send, const char *refusal)
{
	const struct request *request = send->group->request;

	log_warn(request->worker->log, "refused_by_milter", "request",
		request->id, "email", send->result->id, "reason", refusal);
	problem_set(&send->result->problem, PROBLEM_DOMAIN, "%s", refusal);
	return SEND_REFUSED;
}

static void on_send_recorded(
	struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = CONTAINER_OF(watched, struct send, watched);

	if (state != EMAIL_STAGED)
		note_recorded(send->group->worker);
	if (state == EMAIL_REFUSED) {
		send_group_finish(send, refused(send, refusal));
	} else if (state == EMAIL_STAGED) {
		send_group_finish(send, without_record(send));
	} else {
		send->result->problem = PROBLEM_INIT;
		send_group_finish(send, SEND_SENT);
	}
}

void send_watch(struct send *send)
{
	struct worker *worker = send->group->request->worker;

	buf_free(&send->composed.message);
	send->watched.email_id = send->result->id;
	send->watched.wait_ms = worker->conf->submission.record_wait_ms;
	send->watched.done = on_send_recorded;
	record_watch_add(worker->watch, &send->watched);
}

/* What the row says already where Postfix answers after the verdict. The
 * refusal is the caller's to free. */
static enum email_state verdict_of(const struct send *send, char **refusal_r)
{
	const struct worker *worker = send->group->request->worker;
	enum email_state state = EMAIL_STAGED;
	struct err err = ERR_INIT;

	if (worker->inject->ops->after_verdict &&
		store_email_outcome(worker->db, send->result->id, &state,
			refusal_r, &err) < 0)
		log_error(worker->log, "store_failed", "email",
			send->result->id, "error", err.text);
	return state;
}

/* Whether the verdict is this one, and the email has come to its end. */
static bool finish_decided(struct send *send, enum email_state wanted)
{
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = verdict_of(send, &refusal);

	if (state != wanted)
		return false;
	on_send_recorded(&send->watched, state, refusal);
	return true;
}

/* Postfix cannot take it now, it says. But when it says so after the milter let
 * the message pass, the part of it that said so may not know what became of the
 * message: smtpd, when its cleanup dies behind the queued message. */
static bool is_doubtful(const struct send *send, enum inject_result result)
{
	_cleanup_free_ char *refusal = NULL;

	return result == INJECT_TEMPORARY &&
	       verdict_of(send, &refusal) == EMAIL_SENT;
}

/* Postfix may have the message or not. The record tells, if it comes; but not
 * that of a verdict which came before the message was in the queue. */
static void finish_unsure(struct send *send)
{
	if (send->group->request->worker->inject->ops->after_verdict)
		send_group_finish(send, SEND_UNSURE);
	else
		send_watch(send);
}

static void on_send_injected(struct submission *submission,
	enum inject_result result, const struct err *err)
{
	struct send *send = CONTAINER_OF(submission, struct send, submission);
	const struct request *request = send->group->request;

	if (result == INJECT_QUEUED) {
		if (send->unproven)
			send_prove(send, send->composed.row.ticket);
		if (!finish_decided(send, EMAIL_SENT))
			send_watch(send);
		return;
	}
	if (result == INJECT_REJECTED && finish_decided(send, EMAIL_REFUSED))
		return;
	log_error(request->worker->log, "submission_failed", "request",
		request->id, "email", send->result->id, "error", err->text);
	problem_from_err(&send->result->problem, err);
	send->rejected = result == INJECT_REJECTED;
	if (result == INJECT_UNKNOWN || is_doubtful(send, result))
		finish_unsure(send);
	else
		send_group_finish(send, SEND_FAILED);
}

/* Postfix has to know before it takes the message. */
static bool has_utf8_recipient(const struct email *row)
{
	for (size_t i = 0; i < row->recipients.n; i++)
		if (!str_is_ascii(row->recipients.items[i].address))
			return true;
	return false;
}

void send_inject(struct send *send)
{
	send->submission = (struct submission){
		.sender = send->composed.row.sender,
		.recipient = send->composed.recipient,
		.message = &send->composed.message,
		.utf8 = has_utf8_recipient(&send->composed.row),
		.done = on_send_injected,
	};
	inject_submit(send->group->request->worker->inject, &send->submission);
}
