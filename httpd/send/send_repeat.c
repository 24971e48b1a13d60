/*
 * send_repeat: the emails of a request that came before, and the rules for them.
 *
 * That request may have ended at any moment, with httpd itself. An email of
 * which the milter has not decided may be on its way into Postfix, wait there,
 * or never come. So it is waited for a moment; then it gets a new ticket, in a
 * commit that finds it undecided, and is submitted again. Should the first
 * message come after all, its ticket is superseded and the milter discards it.
 *
 * What is sent counts as with Postfix, unless the system went down or Postfix
 * was started anew since, and Postfix was not heard to have it: the milter's
 * record is on the disk before the queue file. Such an email goes out again. It
 * stays sent meanwhile, whatever comes of it: a client may have its id.
 *
 *   send_repeat_read, before anything is composed: the table; what has an answer
 *     now is not composed
 *   send_repeat ─> wait, for each ─(milter)─> supersede ─(committer)─>
 *     send_submit, or send_watch when it was decided meanwhile
 *
 * What a repeat comes to is settled like the end of any request, except that
 * nothing is forgotten of which the first message may have come through: see
 * send_settle.
 *
 * Threads: the worker's, but for supersede_run, which is the committer's.
 */
#include <assert.h>
#include <string.h>

#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/postfix/postfix_run.h"
#include "httpd/gate/request.h"
#include "httpd/send/send_group.h"
#include "httpd/worker/worker.h"

/* How long a sendmail process that outlived its httpd has. */
enum { WAIT_MS = 1000 };

/* What is known of an email of the first request. */
enum known {
	KNOWN_REASON,  /* why it was not sent; it has no row */
	KNOWN_ID,      /* its id; its row is not for this key to be looked at */
	KNOWN_NOTHING, /* the row cannot be read */
	KNOWN_GONE,    /* there is no row: as long as the key counts emails
			* leave the store only when they are taken back */
	KNOWN_STAGED,  /* and the same states of its row: */
	KNOWN_SENT,
	KNOWN_REFUSED,
	KNOWN,
};

/* What happened. `final`: the first request was answered although the milter
 * had not decided. `lost`: what is sent may have been lost since. */
enum event {
	EVENT_BARRED, /* this key may not send the email */
	EVENT_REPEAT,
	EVENT_REPEAT_LOST,
	EVENT_REPEAT_FINAL,
	EVENT_REPEAT_FINAL_LOST,
	EVENT_WAITED, /* for the milter, after WAIT */
	EVENTS,
};

/* What to do: answer, wait, or send again. */
enum action {
	IMPOSSIBLE,
	ANSWER_BAD,     /* with the problem that it has; nothing known changes */
	ANSWER_BARRED,  /* the same of one that may be sent by another key */
	ANSWER_REASON,  /* again why it was not sent */
	ANSWER_UNSURE,  /* come again later */
	ANSWER_GONE,    /* it was not sent: come with another key */
	ANSWER_SENT,    /* the id */
	ANSWER_REFUSED, /* why the milter refused it */
	WAIT,
	SEND_AGAIN,
};

/* The rules of a repeat: by what is known of an email, and what happened. */
static const enum action rules[KNOWN][EVENTS] = {
	[KNOWN_REASON] =
		{
			[EVENT_BARRED] = ANSWER_BAD,
			[EVENT_REPEAT] = ANSWER_REASON,
			[EVENT_REPEAT_FINAL] = ANSWER_REASON,
		},
	[KNOWN_ID] =
		{
			[EVENT_BARRED] = ANSWER_BARRED,
		},
	[KNOWN_NOTHING] =
		{
			[EVENT_REPEAT] = ANSWER_UNSURE,
			[EVENT_REPEAT_FINAL] = ANSWER_UNSURE,
		},
	[KNOWN_GONE] =
		{
			[EVENT_REPEAT] = ANSWER_GONE,
			[EVENT_REPEAT_FINAL] = ANSWER_SENT,
		},
	[KNOWN_STAGED] =
		{
			[EVENT_REPEAT] = WAIT,
			[EVENT_REPEAT_LOST] = WAIT,
			[EVENT_REPEAT_FINAL] = ANSWER_SENT,
			[EVENT_REPEAT_FINAL_LOST] = WAIT,
			[EVENT_WAITED] = SEND_AGAIN,
		},
	[KNOWN_SENT] =
		{
			[EVENT_REPEAT] = ANSWER_SENT,
			[EVENT_REPEAT_LOST] = SEND_AGAIN,
			[EVENT_REPEAT_FINAL] = ANSWER_SENT,
			[EVENT_REPEAT_FINAL_LOST] = SEND_AGAIN,
			[EVENT_WAITED] = ANSWER_SENT,
		},
	[KNOWN_REFUSED] =
		{
			[EVENT_REPEAT] = ANSWER_REFUSED,
			[EVENT_REPEAT_LOST] = ANSWER_REFUSED,
			[EVENT_REPEAT_FINAL] = ANSWER_SENT,
			[EVENT_REPEAT_FINAL_LOST] = ANSWER_REFUSED,
			[EVENT_WAITED] = ANSWER_REFUSED,
		},
};

static enum known known_of(enum email_state state)
{
	return state == EMAIL_STAGED ? KNOWN_STAGED
	       : state == EMAIL_SENT ? KNOWN_SENT
				     : KNOWN_REFUSED;
}

/* Whether what the row says may be lost: Postfix was not heard to have it, and
 * now there is another run of it, or none. Nothing is lost within its run; then
 * a row that is sent will do for the time to come, too. */
static bool is_lost(struct send *send, const struct email_recall *recall)
{
	char now[POSTFIX_RUN_SIZE];

	if (recall->run == NULL)
		return false;
	send->unproven = true;
	postfix_run_name(send->group->worker->shared->run, now);
	if (now[0] == '\0' || strcmp(recall->run, now) != 0)
		return true;
	memcpy(send->earlier_ticket, recall->ticket, sizeof(send->earlier_ticket));
	return false;
}

/* What an answer says, and the end that the email comes to; an email that is to
 * go out again is open. reason is the known one. */
static void answer(struct send *send, enum action action, const char *reason)
{
	struct problem *problem = &send->result->problem;

	switch (action) {
	case ANSWER_BAD:
		send->end = SEND_BAD;
		break;
	case ANSWER_BARRED:
		send->end = SEND_BARRED;
		break;
	case ANSWER_REASON:
		problem_set(problem, PROBLEM_VALIDATION, "%s", reason);
		send->end = SEND_BAD;
		break;
	case ANSWER_UNSURE: /* it has its problem */
		send->end = SEND_UNSURE;
		break;
	case ANSWER_GONE:
		problem_set(problem, PROBLEM_UNAVAILABLE,
			"The email was not sent by the first request with this Idempotency-Key. "
			"Please send it with another key.");
		send->end = SEND_FAILED;
		break;
	case ANSWER_SENT:
		send->end = SEND_SENT;
		break;
	case ANSWER_REFUSED:
		problem_set(problem, PROBLEM_DOMAIN, "%s", reason);
		send->end = SEND_REFUSED;
		break;
	case WAIT:
	case SEND_AGAIN:
		break;
	case IMPOSSIBLE:
		assert(!"a rule for this repeat");
	}
}

/* result is what the first request came to, see struct idempotency. */
static void read_email(struct send *send, const char *result)
{
	const struct worker *worker = send->group->worker;
	bool final = send->group->lock->earlier.settled;
	enum event event = final ? EVENT_REPEAT_FINAL : EVENT_REPEAT;
	enum known known = result[0] == '!' ? KNOWN_REASON : KNOWN_ID;
	const char *reason = result + 1;
	struct email_recall recall = {0};
	struct err err = ERR_INIT;
	int found = 0;

	if (send->end == SEND_BAD) {
		event = EVENT_BARRED;
	} else if (known == KNOWN_ID) {
		id_parse(result, send->result->id);
		found = store_email_recall(worker->db, send->result->id, &recall, &err);
		if (found < 0) {
			log_error(worker->log, "store_failed", "request", send->group->request->id,
				"error", err.text);
			problem_from_err(&send->result->problem, &err);
			known = KNOWN_NOTHING;
		} else if (found == 0) {
			known = KNOWN_GONE;
		} else {
			known = known_of(recall.state);
			reason = recall.refusal;
			if (is_lost(send, &recall))
				event = final ? EVENT_REPEAT_FINAL_LOST : EVENT_REPEAT_LOST;
		}
	}
	/* What is sent stays so, also while it is sent again. */
	if (known == KNOWN_SENT)
		send->composed.row.state = EMAIL_SENT;
	answer(send, rules[known][event], reason);
	if (found > 0)
		store_email_recall_clear(&recall);
}

void send_repeat_read(struct send_group *group)
{
	const struct idempotency *earlier = &group->lock->earlier;

	group->created_us = earlier->created_us;
	for (size_t i = 0; i < group->n; i++)
		read_email(&group->sends[i], earlier->results.items[i]);
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
		send->found_decided = found == 0;
	}
	return 0;
}

static void submit_or_watch(struct send *send)
{
	if (send->found_decided)
		send_watch(send);
	else
		send_submit(send);
}

static void give_up(struct send *send)
{
	problem_from_err(&send->result->problem, &send->group->job_err);
	send_finish(send, SEND_UNSURE);
}

static void on_send_superseded(struct task *task)
{
	struct send_group *group = CONTAINER_OF(task, struct send_group, task);
	bool failed = group->job_result < 0;

	if (failed)
		log_error(group->worker->log, "stage_failed", "request", group->request->id,
			"error", group->job_err.text);
	send_group_each_open(group, failed ? give_up : submit_or_watch, send_settle);
}

static void supersede(struct send_group *group)
{
	if (send_group_count(group, SEND_OPEN) == 0) {
		send_settle(group);
		return;
	}
	for (size_t i = 0; i < group->n; i++)
		if (group->sends[i].end == SEND_OPEN)
			log_warn(group->worker->log, "sent_again", "request", group->request->id,
				"email", group->results[i].id);
	send_note_way(group);
	send_group_commit(group, supersede_run, on_send_superseded, false);
}

static void on_send_waited(struct watched *watched, enum email_state state, const char *refusal)
{
	struct send *send = CONTAINER_OF(watched, struct send, watched);

	answer(send, rules[known_of(state)][EVENT_WAITED], refusal);
	send_leave(send);
}

static void wait_for_milter(struct send *send)
{
	struct worker *worker = send->group->worker;
	int64_t wait_ms = worker->conf->submission.record_wait_ms;

	if (send->composed.row.state == EMAIL_SENT) {
		send_leave(send);
		return;
	}
	send->watched.email_id = send->result->id;
	send->watched.wait_ms = wait_ms < WAIT_MS ? wait_ms : WAIT_MS;
	send->watched.done = on_send_waited;
	record_watch_add(worker->watch, &send->watched);
}

void send_repeat(struct send_group *group)
{
	send_group_each_open(group, wait_for_milter, supersede);
}
