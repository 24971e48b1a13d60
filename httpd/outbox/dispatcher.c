/*
 * dispatcher: makes attempts to hand an email to Postfix, and decides what follows.
 *
 *   dispatcher_start ─(inject)─> on_attempt_answered ─(record watch)─> on_attempt_recorded
 *
 * An attempt ends in one of four ways:
 *
 *   sent      Postfix has the message, and the milter has recorded it: the email leaves the outbox
 *   refused   the milter has refused it: the email leaves the outbox
 *   rejected  Postfix has refused it for good: the email has failed
 *   put off   its row gets a time; the feeder takes it then, by the rules of store_outbox.h
 *
 * Which one, Postfix's answer and the milter's record decide:
 *
 *   answer     record    SMTP: the milter comes first   sendmail(1): the milter comes later
 *   queued     sent      sent                           watch for the record
 *              refused   refused                        watch
 *              none      watch                          watch
 *   rejected   refused   refused                        rejected
 *              other     rejected                       rejected
 *   temporary  sent      put off, to be looked for      put off
 *              refused   refused                        put off
 *              none      put off                        put off
 *    (no turn) any       returned to the store: Postfix was not asked
 *   unknown    sent      put off, to be looked for      watch
 *              refused   refused                        watch
 *              none      put off, a new ticket          watch
 *
 * The watch ends with the record, or late: then the email is put off and gets a new ticket.
 *
 * "To be looked for": smtpd answers 4xx, too, when cleanup(8) dies behind a complete queue file. So
 * once the milter has recorded the message, it may be in the queue whatever Postfix said.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "httpd/admission/counts.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	/* The time until an email that was recorded is looked for; store_outbox_take() may wait
	 * longer. */
	LOOK_US = 1000 * 1000,
	/* The pause after a failed attempt, doubled by each further one, up to
	 * OUTBOX_PAUSE_MOST_US. */
	PAUSE_FIRST_US = 1000 * 1000,
	/* The first pause if the maildrop has the message: pickup(8) tries it once a minute. */
	LATE_FIRST_US = 90 * 1000 * 1000,
	/* How long to watch for the record if no request waits. */
	RECORD_WAIT_MS = 5000,
};

/*
 * The end of an attempt.
 */

static void leave_hand(struct attempt *attempt)
{
	struct outbox *outbox = attempt->outbox;

	if (!attempt->in_hand)
		return;
	attempt->in_hand = false;
	in_hand_leave(
		&outbox->in_hand, attempt->row.company_id, attempt->row.size, attempt->from_store);
	feeder_make_room(outbox->feeder);
}

static void attempt_free(struct attempt *attempt)
{
	struct outbox *outbox = attempt->outbox;

	leave_hand(attempt);
	outbox->under_way--;
	if (attempt->probes)
		breaker_forget(&outbox->breaker, attempt->row.company_id);
	if (attempt->released)
		attempt->released(attempt->arg);
	free(attempt->row.sender);
	free(attempt->row.queue_id);
	free(attempt->recipient);
	buf_free(&attempt->own);
	free(attempt);
}

/* Reports the outcome. Returns true if a request waited for it. */
static bool tell(struct attempt *attempt, const struct attempt_outcome *outcome)
{
	return attempt->told && attempt->told(attempt->arg, outcome);
}

/* Tells the breaker that the message went through or got a permanent answer. */
static void close_breaker(struct attempt *attempt, bool recorded)
{
	struct outbox *outbox = attempt->outbox;
	struct breaker *breaker = &outbox->breaker;
	const struct breaker_circuit *circuit = breaker_circuit_of(
		breaker, attempt->row.company_id);
	enum breaker_cause cause = circuit ? circuit->cause : BREAKER_CLOSED;
	bool was_open = breaker->state.cause != BREAKER_CLOSED;
	enum breaker_change change;
	int64_t open_us;

	change = breaker_close(breaker, attempt->row.company_id, recorded, attempt->probes,
		clock_monotonic_us(), &open_us);
	if (recorded || cause != BREAKER_NO_RECORDS)
		attempt->probes = false;
	if (was_open && breaker->state.cause == BREAKER_CLOSED)
		journal_breaker_closed(outbox->journal);
	switch (change) {
	case BREAKER_NO_NEWS:
		return;
	case BREAKER_OWN_FAULT:
		for (size_t i = 0; i < breaker->n; i++)
			if (breaker->companies[i].is_news)
				log_error(outbox->log, "company_put_off", "company",
					breaker->companies[i].id, "cause",
					breaker->companies[i].circuit.reason, "effect",
					"its emails wait; those of others go out, so the fault is "
					"in its own",
					"hint",
					"see what header_checks and other milters do with them, in "
					"Postfix's log");
		return;
	case BREAKER_ONE_IS_BACK:
		log_info(outbox->log, "company_resumed", "company", attempt->row.company_id,
			"after_s", LOG_INT(open_us / SECOND_US));
		break;
	case BREAKER_WAS_OPEN:
		log_info(outbox->log,
			cause == BREAKER_NO_RECORDS ? "milter_in_charge" : "submission_resumed",
			"after_s", LOG_INT(open_us / SECOND_US), "waiting",
			LOG_INT(atomic_load(&outbox->account.emails)));
		break;
	}
	journal_hurry(outbox->journal);
}

/* company_id: whose email was the last failure in a row; NULL: the failure concerns everybody. */
static void trip_breaker(struct attempt *attempt, enum breaker_cause cause, const char *reason,
	const char *company_id)
{
	struct outbox *outbox = attempt->outbox;

	attempt->probes = false;
	if (!breaker_trip(&outbox->breaker, cause, reason, company_id, clock_monotonic_us()))
		return;
	journal_breaker_opened(outbox->journal, cause, reason);
	if (cause == BREAKER_NO_RECORDS)
		log_error(outbox->log, "milter_not_in_charge", "cause", reason, "effect",
			"emails wait, and go out when it is asked again", "hint",
			"run postern doctor");
	else
		log_error(outbox->log, "submission_paused", "error", reason, "effect",
			"emails wait, and go out when Postfix takes them", "hint",
			"postern-milter or Postfix is away or busy: run postern doctor");
}

static void end_sent(struct attempt *attempt)
{
	close_breaker(attempt, true);
	attempt->outbox->hooks.recorded(attempt->outbox->shared->probe);
	journal_remove(attempt->outbox->journal, &attempt->row);
	tell(attempt, &(const struct attempt_outcome){.outcome = OUTBOX_SENT});
	attempt_free(attempt);
}

static void end_refused(struct attempt *attempt, const char *refusal)
{
	struct outbox *outbox = attempt->outbox;

	close_breaker(attempt, true);
	outbox->hooks.recorded(outbox->shared->probe);
	log_warn(outbox->log, "refused_by_milter", "email", attempt->row.id, "reason", refusal);
	journal_remove(outbox->journal, &attempt->row);
	tell(attempt,
		&(const struct attempt_outcome){.outcome = OUTBOX_REFUSED, .refusal = refusal});
	attempt_free(attempt);
}

static void end_rejected(struct attempt *attempt, const struct err *err)
{
	struct outbox *outbox = attempt->outbox;

	close_breaker(attempt, false);
	log_error(outbox->log, "submission_rejected", "email", attempt->row.id, "error", err->text);
	if (!tell(attempt, &(const struct attempt_outcome){.outcome = OUTBOX_REJECTED, .err = err}))
		journal_fail(outbox->journal, &attempt->row, err->text);
	attempt_free(attempt);
}

/* The email is due again in us from now. */
static void put_off(struct attempt *attempt, int64_t us, struct outbox_delay *delay)
{
	struct outbox *outbox = attempt->outbox;

	/* A time of 1 is due at once, even if the clock is put back. */
	delay->due_us = us > 0 ? clock_now_us(outbox->shared->clock) + us : 1;
	journal_put_off(outbox->journal, &attempt->row, delay);
	tell(attempt, &(const struct attempt_outcome){.outcome = OUTBOX_ACCEPTED});
	attempt_free(attempt);
}

static int64_t pause_us(const struct attempt *attempt, int64_t first_us)
{
	int64_t us = first_us;

	for (unsigned i = 0; i < attempt->row.attempts && us < OUTBOX_PAUSE_MOST_US; i++)
		us *= 2;
	return us < OUTBOX_PAUSE_MOST_US ? us : OUTBOX_PAUSE_MOST_US;
}

/* No attempt was made: the email goes out when there is a turn for it. */
static void return_to_store(struct attempt *attempt)
{
	const struct breaker_circuit *circuit = breaker_circuit_of(
		&attempt->outbox->breaker, attempt->row.company_id);
	struct outbox_delay delay = {0};

	if (circuit)
		delay.reason = circuit->cause == BREAKER_AWAY ? OUTBOX_AWAY_WORDS : circuit->reason;
	if (attempt->outbox->withheld)
		delay.reason = OUTBOX_WITHHELD_WORDS;
	put_off(attempt, 0, &delay);
}

/*
 * The milter's record.
 */

/* Postfix has the message, or may have it, but the milter has not decided in time. */
static void end_late(struct attempt *attempt)
{
	struct outbox *outbox = attempt->outbox;
	bool in_maildrop = !attempt->unknown && outbox_way(outbox) == EMAIL_WAY_SENDMAIL;
	struct outbox_delay delay = {
		.ticket_used = true,
		.failed = true,
		.reason = "the milter has not decided about it",
	};
	int64_t us = pause_us(attempt, in_maildrop ? LATE_FIRST_US : PAUSE_FIRST_US);

	log_warn(outbox->log, "record_late", "email", attempt->row.id, "hint",
		attempt->unknown ? "nobody knows whether Postfix has it"
				 : "postern-milter or Postfix is away or slow, or Postfix does not "
				   "ask the milter");
	if (!attempt->unknown && breaker_count_unrecorded(&outbox->breaker, attempt->row.company_id,
					 attempt->probes))
		trip_breaker(attempt, BREAKER_NO_RECORDS,
			record_watch_cause(outbox->shared->run, outbox->conf),
			attempt->row.company_id);
	if (in_maildrop)
		feeder_expect_record(outbox->feeder, us);
	put_off(attempt, us, &delay);
}

static void on_attempt_recorded(
	struct watched *watched, enum email_state state, const char *refusal)
{
	struct attempt *attempt = CONTAINER_OF(watched, struct attempt, watched);

	if (state == EMAIL_SENT)
		end_sent(attempt);
	else if (state == EMAIL_REFUSED)
		end_refused(attempt, refusal);
	else
		end_late(attempt);
}

static void watch_for_record(struct attempt *attempt)
{
	struct outbox *outbox = attempt->outbox;
	int64_t wait_ms = outbox->conf->submission.record_wait_ms;

	attempt->watched.email_id = attempt->row.id;
	attempt->watched.wait_ms = wait_ms > 0 ? wait_ms : RECORD_WAIT_MS;
	attempt->watched.done = on_attempt_recorded;
	record_watch_add(outbox->watch, &attempt->watched);
}

/*
 * Postfix's answer.
 */

/* Postfix did not take the message now, or nobody knows whether it did. */
static void end_for_now(
	struct attempt *attempt, const struct inject_answer *answer, enum email_state state)
{
	struct outbox *outbox = attempt->outbox;
	const char *reason = answer->err->text;
	bool unknown = answer->result == INJECT_UNKNOWN;
	bool away = answer->obstacle == INJECT_AWAY;
	struct outbox_delay delay = {.ticket_used = unknown, .failed = true, .reason = reason};
	int64_t us = pause_us(attempt, PAUSE_FIRST_US);

	log_warn(outbox->log, unknown ? "submission_unknown" : "submission_put_off", "email",
		attempt->row.id, "error", reason);
	if (away)
		trip_breaker(attempt, BREAKER_AWAY, reason, NULL);
	else if (!unknown &&
		 breaker_count_put_off(&outbox->breaker, attempt->row.company_id, attempt->probes))
		trip_breaker(attempt, BREAKER_AWAY, reason, attempt->row.company_id);
	if (state == EMAIL_SENT)
		us = LOOK_US;
	else if (away) /* the breaker pauses for all */
		us = 0;
	put_off(attempt, us, &delay);
}

/* See the table at the head. */
static void on_attempt_answered(struct submission *submission, const struct inject_answer *answer)
{
	struct attempt *attempt = CONTAINER_OF(submission, struct attempt, submission);
	struct outbox *outbox = attempt->outbox;
	_cleanup_free_ char *refusal = NULL;
	enum email_state state = EMAIL_STAGED;
	struct err err = ERR_INIT;
	struct db *db;

	count_add(&outbox->counts->submissions[answer->result], 1);
	if (answer->verdict_first &&
		((db = outbox_reads(outbox, &err)) == NULL ||
			store_email_outcome(db, attempt->row.id, &state, &refusal, &err) < 0))
		log_error(outbox->log, "store_failed", "email", attempt->row.id, "error", err.text);
	if (state == EMAIL_REFUSED) {
		end_refused(attempt, refusal);
		return;
	}
	switch (answer->result) {
	case INJECT_QUEUED:
		if (state == EMAIL_SENT) {
			end_sent(attempt);
			return;
		}
		close_breaker(attempt, false);
		watch_for_record(attempt);
		return;
	case INJECT_REJECTED:
		end_rejected(attempt, answer->err);
		return;
	case INJECT_TEMPORARY:
		if (answer->obstacle == INJECT_NO_TURN)
			return_to_store(attempt);
		else
			end_for_now(attempt, answer, state);
		return;
	case INJECT_UNKNOWN:
		attempt->unknown = true;
		if (answer->verdict_first)
			end_for_now(attempt, answer, state);
		else
			watch_for_record(attempt);
		return;
	}
}

void dispatcher_start(struct attempt *attempt)
{
	struct outbox *outbox = attempt->outbox;
	const struct outbox_row *row = &attempt->row;

	outbox->under_way++;
	/* A company leaves room for others, and a breaker that is open lets one email through. */
	attempt->in_hand = !outbox->stopping && !outbox->withheld &&
			   in_hand_enter(&outbox->in_hand, row->company_id, row->size,
				   attempt->from_store);
	if (!attempt->in_hand ||
		!breaker_enter(&outbox->breaker, row->company_id, !attempt->from_store,
			clock_monotonic_us(), &attempt->probes)) {
		leave_hand(attempt);
		return_to_store(attempt);
		return;
	}
	attempt->recipient = ticket_address(row->ticket);
	attempt->submission = (struct submission){
		.sender = row->sender,
		.recipient = attempt->recipient,
		.message = attempt->message,
		.company_id = row->company_id,
		.utf8 = row->utf8,
		.prompt = true,
		.done = on_attempt_answered,
	};
	outbox_note_company(outbox, row->company_id);
	outbox_set_sessions(outbox);
	inject_submit(outbox->inject, &attempt->submission);
}
