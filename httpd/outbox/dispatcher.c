/*
 * dispatcher: submits parcels, and decides what follows from the answers.
 *
 *   dispatcher_begin ─(Postfix)─> on_parcel_injected ─(milter)─> on_parcel_recorded
 *
 *   answer     record    SMTP: decided first          sendmail(1): not decided yet
 *   queued     sent      sent                         wait for the record
 *              refused   refused                      wait
 *              none      wait                         wait
 *   rejected   refused   refused                      rejected
 *              other     rejected                     rejected
 *   temporary  sent      put off, to be looked for    put off
 *              refused   refused                      put off
 *              none      put off                      put off
 *    (no turn) any       let go: Postfix knows nothing of it
 *   unknown    sent      put off, to be looked for    wait
 *              refused   refused                      wait
 *              none      put off; a new ticket        wait
 *
 * The wait ends with sent, refused, or late: then it is put off, with a new ticket.
 *
 * Sent, refused and rejected are ends. What is put off is let out of hand: its row says
 * when it is due, and the feeder takes it then by the rules of store_outbox.h. A message
 * that Postfix said `not now` to after the milter had recorded it may be in the queue:
 * when cleanup(8) dies behind a queue file, smtpd answers 4xx.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "core/policy/verdict.h"
#include "httpd/admission/counts.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	/* What was sent may be looked for: store_outbox_take() says when. */
	LOOK_US = 1000 * 1000,
	/* An email that is put off by itself. */
	PAUSE_FIRST_US = 1000 * 1000,
	PAUSE_MOST_US = 600 * 1000 * 1000,
	/* pickup(8) tries the maildrop once a minute. */
	LATE_FIRST_US = 90 * 1000 * 1000,
	/* How long a record is waited for where requests do not wait. */
	RECORD_WAIT_MS = 5000,
};

static void leave_hand(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;

	if (!parcel->in_hand)
		return;
	parcel->in_hand = false;
	in_hand_leave(&outbox->in_hand, parcel->row.company_id, parcel->row.size, parcel->fed);
	feeder_left(outbox->feeder);
}

void parcel_free(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;

	leave_hand(parcel);
	outbox->parcels--;
	if (parcel->probes)
		breaker_forget(&outbox->breaker);
	if (parcel->mail)
		parcel->mail->parcel = NULL;
	if (parcel->batch)
		outbox_batch_release(parcel->batch);
	free(parcel->row.sender);
	free(parcel->row.queue_id);
	free(parcel->recipient);
	buf_free(&parcel->own);
	free(parcel);
}

/* The message has gone through, or was answered for good. */
static void close_breaker(struct parcel *parcel, bool recorded)
{
	struct outbox *outbox = parcel->outbox;
	const struct breaker_state state = outbox->breaker.state;
	enum breaker_change news;
	int64_t open_us;

	news = breaker_close(&outbox->breaker, parcel->row.company_id, recorded, parcel->probes,
		clock_monotonic_us(), &open_us);
	if (recorded || state.cause != BREAKER_NO_RECORDS)
		parcel->probes = false;
	switch (news) {
	case BREAKER_NO_NEWS:
		return;
	case BREAKER_FOR_ONE:
		log_error(outbox->log, "company_put_off", "company", state.company_id, "cause",
			state.words, "effect",
			"its emails wait; those of others go out, so the fault is in its own",
			"hint",
			"see what header_checks and other milters do with them, in Postfix's log");
		journal_mend(outbox->journal);
		return;
	case BREAKER_ONE_IS_BACK:
		log_info(outbox->log, "company_resumed", "company", parcel->row.company_id,
			"after_s", LOG_INT(open_us / SECOND_US));
		break;
	case BREAKER_WAS_OPEN:
		log_info(outbox->log,
			state.cause == BREAKER_NO_RECORDS ? "milter_in_charge"
							  : "submission_resumed",
			"after_s", LOG_INT(open_us / SECOND_US), "waiting",
			LOG_INT(atomic_load(&outbox->account.emails)));
		journal_mend(outbox->journal);
		break;
	}
	journal_hurry(outbox->journal);
}

/* company_id: whose email was the last in a row; NULL: it concerns all. */
static void trip_breaker(
	struct parcel *parcel, enum breaker_cause cause, const char *words, const char *company_id)
{
	struct outbox *outbox = parcel->outbox;

	parcel->probes = false;
	if (!breaker_trip(&outbox->breaker, cause, words, company_id, clock_monotonic_us()))
		return;
	journal_break(outbox->journal, cause, words);
	if (cause == BREAKER_NO_RECORDS)
		log_error(outbox->log, "milter_not_in_charge", "cause", words, "effect",
			"emails wait, and go out when it is asked again", "hint",
			"run postern doctor");
	else
		log_error(outbox->log, "submission_paused", "error", words, "effect",
			"emails wait, and go out when Postfix takes them", "hint",
			"postern-milter or Postfix is away or busy: run postern doctor");
}

static void end_sent(struct parcel *parcel)
{
	close_breaker(parcel, true);
	parcel->outbox->recorded(parcel->outbox->shared->probe);
	journal_remove(parcel->outbox->journal, &parcel->row);
	outbox_tell(parcel, OUTBOX_SENT);
	parcel_free(parcel);
}

static void end_refused(struct parcel *parcel, const char *refusal)
{
	struct outbox *outbox = parcel->outbox;

	close_breaker(parcel, true);
	outbox->recorded(outbox->shared->probe);
	log_warn(outbox->log, "refused_by_milter", "email", parcel->row.id, "reason", refusal);
	if (parcel->awaited)
		parcel->mail->refusal = mem_strdup(refusal);
	journal_remove(outbox->journal, &parcel->row);
	outbox_tell(parcel, OUTBOX_REFUSED);
	parcel_free(parcel);
}

static void end_rejected(struct parcel *parcel, const struct err *err)
{
	struct outbox *outbox = parcel->outbox;

	close_breaker(parcel, false);
	log_error(outbox->log, "submission_rejected", "email", parcel->row.id, "error", err->text);
	if (parcel->awaited) /* its batch takes it back */
		parcel->mail->err = *err;
	else
		journal_fail(outbox->journal, &parcel->row, err->text);
	outbox_tell(parcel, OUTBOX_REJECTED);
	parcel_free(parcel);
}

/* Lets go of it, to be taken up again in us. */
static void put_off(struct parcel *parcel, int64_t us, struct outbox_delay *delay)
{
	struct outbox *outbox = parcel->outbox;

	/* What is due at once is so whatever becomes of the clock. */
	delay->due_us = us > 0 ? clock_now_us(outbox->shared->clock) + us : 1;
	journal_put_off(outbox->journal, &parcel->row, delay);
	outbox_tell(parcel, OUTBOX_ACCEPTED);
	parcel_free(parcel);
}

/* The pause before another attempt doubles with each. */
static int64_t pause_us(const struct parcel *parcel, int64_t us)
{
	for (unsigned i = 0; i < parcel->row.attempts && us < PAUSE_MOST_US; i++)
		us *= 2;
	return us < PAUSE_MOST_US ? us : PAUSE_MOST_US;
}

/* Postfix has the message, but the milter has not decided in time. */
static void end_late(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;
	bool by_smtp = outbox_way(outbox) == EMAIL_WAY_SMTP;
	struct outbox_delay delay = {
		.ticket_used = true,
		.failed = true,
		.reason = "the milter has not decided about it",
	};

	log_warn(outbox->log, "record_late", "email", parcel->row.id, "hint",
		parcel->unknown ? "nobody knows whether Postfix has it"
				: "postern-milter or Postfix is away or slow, or Postfix does not "
				  "ask the milter");
	if (!parcel->unknown &&
		breaker_count_unrecorded(&outbox->breaker, parcel->row.company_id, parcel->probes))
		trip_breaker(parcel, BREAKER_NO_RECORDS,
			record_watch_cause(outbox->shared->run, outbox->conf),
			parcel->row.company_id);
	put_off(parcel,
		pause_us(parcel, by_smtp || parcel->unknown ? PAUSE_FIRST_US : LATE_FIRST_US),
		&delay);
}

static void on_parcel_recorded(struct watched *watched, enum email_state state, const char *refusal)
{
	struct parcel *parcel = CONTAINER_OF(watched, struct parcel, watched);

	if (state == EMAIL_SENT)
		end_sent(parcel);
	else if (state == EMAIL_REFUSED)
		end_refused(parcel, refusal);
	else
		end_late(parcel);
}

static void watch(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;
	int64_t wait_ms = outbox->conf->submission.record_wait_ms;

	parcel->watched.email_id = parcel->row.id;
	parcel->watched.wait_ms = wait_ms > 0 ? wait_ms : RECORD_WAIT_MS;
	parcel->watched.done = on_parcel_recorded;
	record_watch_add(outbox->watch, &parcel->watched);
}

/* What the milter has said already. The refusal is the caller's to free. */
static enum email_state read_record(const struct parcel *parcel, char **refusal_r)
{
	struct outbox *outbox = parcel->outbox;
	enum email_state state = EMAIL_STAGED;
	struct err err = ERR_INIT;

	if (store_email_outcome(outbox->db, parcel->row.id, &state, refusal_r, &err) < 0)
		log_error(outbox->log, "store_failed", "email", parcel->row.id, "error", err.text);
	return state;
}

/* It was not taken now, or nobody knows. */
static void fail_for_now(
	struct parcel *parcel, const struct inject_answer *answer, enum email_state state)
{
	bool unknown = answer->result == INJECT_UNKNOWN;
	bool away = answer->obstacle == INJECT_AWAY;
	struct outbox_delay delay = {
		.ticket_used = unknown, .failed = true, .reason = answer->err->text};

	log_warn(parcel->outbox->log, unknown ? "submission_unknown" : "submission_put_off",
		"email", parcel->row.id, "error", answer->err->text);
	if (away)
		trip_breaker(parcel, BREAKER_AWAY, answer->err->text, NULL);
	else if (!unknown && breaker_count_put_off(&parcel->outbox->breaker, parcel->row.company_id,
				     parcel->probes))
		trip_breaker(parcel, BREAKER_AWAY, answer->err->text, parcel->row.company_id);
	if (state == EMAIL_SENT)
		put_off(parcel, LOOK_US, &delay);
	else
		put_off(parcel, away ? 0 : pause_us(parcel, PAUSE_FIRST_US), &delay);
}

/* It was not submitted: it goes when there is a turn for it. */
static void let_go(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;
	struct outbox_delay delay = {0};

	if (breaker_is_open(&outbox->breaker))
		delay.reason = outbox->breaker.state.words;
	put_off(parcel, 0, &delay);
}

static void on_parcel_injected(struct submission *submission, const struct inject_answer *answer)
{
	struct parcel *parcel = CONTAINER_OF(submission, struct parcel, submission);
	struct outbox *outbox = parcel->outbox;
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_STAGED;

	count_add(&outbox->counts->submissions[answer->result], 1);
	if (answer->verdict_first)
		state = read_record(parcel, &refusal);
	if (state == EMAIL_REFUSED) {
		end_refused(parcel, refusal);
	} else if (answer->result == INJECT_QUEUED && state == EMAIL_SENT) {
		end_sent(parcel);
	} else if (answer->result == INJECT_QUEUED) {
		close_breaker(parcel, false);
		watch(parcel);
	} else if (answer->result == INJECT_REJECTED) {
		end_rejected(parcel, answer->err);
	} else if (answer->result == INJECT_UNKNOWN && !answer->verdict_first) {
		parcel->unknown = true;
		watch(parcel);
	} else if (answer->obstacle == INJECT_NO_TURN) {
		let_go(parcel);
	} else {
		fail_for_now(parcel, answer, state);
	}
}

/* One company leaves room for others, who have their turns in between. */
static bool enter(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;

	parcel->in_hand = !outbox->stopping &&
			  in_hand_enter(&outbox->in_hand, parcel->row.company_id, parcel->row.size,
				  parcel->fed, outbox->conf->submission.max_pending);
	return parcel->in_hand;
}

void dispatcher_begin(struct parcel *parcel)
{
	struct outbox *outbox = parcel->outbox;

	if (!enter(parcel) || !breaker_enter(&outbox->breaker, parcel->row.company_id,
				      clock_monotonic_us(), &parcel->probes)) {
		leave_hand(parcel);
		let_go(parcel);
		return;
	}
	parcel->recipient = ticket_address(parcel->row.ticket);
	parcel->submission = (struct submission){
		.sender = parcel->row.sender,
		.recipient = parcel->recipient,
		.message = parcel->mail ? &parcel->mail->message : &parcel->own,
		.company_id = parcel->row.company_id,
		.utf8 = parcel->row.utf8,
		.prompt = true,
		.done = on_parcel_injected,
	};
	outbox_set_sessions(outbox);
	inject_submit(outbox->inject, &parcel->submission);
}

static void on_parcel_decided(struct watched *watched, enum email_state state, const char *refusal)
{
	struct parcel *parcel = CONTAINER_OF(watched, struct parcel, watched);

	if (state == EMAIL_REFUSED && parcel->awaited)
		parcel->mail->refusal = mem_strdup(refusal);
	outbox_tell(parcel, state == EMAIL_SENT      ? OUTBOX_SENT
			    : state == EMAIL_REFUSED ? OUTBOX_REFUSED
						     : OUTBOX_ACCEPTED);
	parcel_free(parcel);
}

void dispatcher_wait(struct parcel *parcel)
{
	parcel->watched.email_id = parcel->row.id;
	parcel->watched.wait_ms = parcel->batch->wait_ms;
	parcel->watched.done = on_parcel_decided;
	record_watch_add(parcel->outbox->watch, &parcel->watched);
}
