/*
 * send: from emails that a client wants sent to their outcomes.
 *
 *   send_emails: decide, lock the Idempotency-Key
 *     ─> send_compose_group ─(pool)─> on_composed
 *     ─> outbox_send ─(committer, Postfix, milter)─> on_batch_done: done() answers
 *
 * A request that came before is not composed: see send_repeat.
 *
 * Threads: the worker's, but for composing, which is the pool's when it may take long.
 */
#include "httpd/send/send.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "core/policy/verdict.h"
#include "httpd/admission/admission.h"
#include "httpd/admission/counts.h"
#include "httpd/admission/sender.h"
#include "httpd/send/send_group.h"
#include "httpd/worker/worker.h"

/*
 * The group, and its end.
 */

static struct send_group *group_new(const struct send_spec *spec)
{
	struct send_group *group = mem_new(struct send_group);
	size_t drafts_n = spec->personal ? 1 : spec->n;
	size_t size = drafts_n * sizeof(*group->draft);

	group->worker = spec->worker;
	group->admission = spec->admission;
	group->request_id = spec->request_id;
	group->done = spec->done;
	group->arg = spec->arg;
	group->permissive = spec->permissive;
	group->created_us = clock_now_us(spec->worker->shared->clock);
	group->problem = PROBLEM_INIT;
	group->sends = mem_alloc(spec->n, sizeof(*group->sends));
	group->results = mem_alloc(spec->n, sizeof(*group->results));
	group->n = spec->n;
	for (size_t i = 0; i < spec->n; i++) {
		group->sends[i].group = group;
		group->sends[i].result = &group->results[i];
	}
	/* They are taken over. */
	group->draft = mem_alloc(drafts_n, sizeof(*group->draft));
	memcpy(group->draft, spec->draft, size);
	memset(spec->draft, 0, size);
	group->personal = spec->personal;
	return group;
}

static void group_free(struct send_group *group)
{
	size_t drafts_n = group->personal ? 1 : group->n;

	for (size_t i = 0; i < drafts_n; i++)
		draft_clear(&group->draft[i]);
	free(group->draft);
	if (group->personal)
		group->personal->free(group->personal);
	for (size_t i = 0; i < group->n; i++) {
		store_email_clear(&group->sends[i].composed.row);
		buf_free(&group->sends[i].composed.message);
	}
	idempotency_unlock(group->lock);
	free(group->sends);
	free(group->results);
	free(group);
}

_Static_assert((int)SEND_NOT_ALLOWED < COUNTS_EMAILS, "each has a counter");

/* Tells the outcome and frees the group. */
static void group_end(struct send_group *group)
{
	bool refused = group->problem.kind != PROBLEM_NONE;
	const struct send_outcome outcome = {
		.problem = refused ? &group->problem : NULL,
		.results = group->results,
		.n = group->n,
		.sent = send_group_count(group, SEND_SENT) + send_group_count(group, SEND_QUEUED),
	};

	group->done(group->arg, &outcome);
	group_free(group);
}

static void group_fail(struct send_group *group, const struct problem *problem)
{
	group->problem = *problem;
	group_end(group);
}

static bool is_repeat(const struct send_group *group)
{
	return group->lock && group->lock->found;
}

/*
 * The outbox.
 */

static void count_email(const struct send *send)
{
	struct worker_counts *counts = send->group->worker->counts;

	if (is_repeat(send->group))
		return;
	if (send->test && send->end == SEND_SENT)
		count_add(&counts->tests, 1);
	else
		count_add(&counts->emails[send->end], 1);
}

static void read_outcome(struct send *send, const struct outbox_mail *mail)
{
	struct problem *problem = &send->result->problem;

	switch (mail->outcome) {
	case OUTBOX_PENDING:
	case OUTBOX_ACCEPTED:
		send->end = SEND_QUEUED;
		break;
	case OUTBOX_SENT:
		send->end = SEND_SENT;
		break;
	case OUTBOX_REFUSED:
		send->end = SEND_REFUSED;
		problem_set(problem,
			verdict_text_is_message(mail->refusal) ? PROBLEM_VALIDATION
							       : PROBLEM_DOMAIN,
			"%s", mail->refusal);
		break;
	case OUTBOX_REJECTED:
		send->end = SEND_REJECTED;
		problem_from_err(problem, &mail->err);
		break;
	case OUTBOX_UNKEPT:
		problem_from_err(problem, &mail->err);
		send->end = SEND_BAD;
		return;
	}
	if (!mail->waits) {
		send->result->message_id = mail->row.message_id;
		if (mail->row.recipients.n > 0)
			send->result->to = mail->row.recipients.items[0].address;
	}
	count_email(send);
}

static void on_batch_done(struct outbox_batch *batch)
{
	struct send_group *group = batch->arg;

	if (batch->result < 0) {
		log_error(group->worker->log, "stage_failed", "request", group->request_id, "error",
			batch->err.text);
		/* Another httpd on the same store has added the key meanwhile, as
		 * when one is restarted. */
		if (group->lock && batch->err.code == ERR_EXISTS)
			problem_fixed(&group->problem, PROBLEM_CONCURRENT);
		else
			problem_from_err(&group->problem, &batch->err);
	}
	for (size_t i = 0; i < batch->n && batch->result == 0; i++)
		read_outcome(&group->sends[batch->mails[i].place], &batch->mails[i]);
	/* What of it is still on its way keeps its memory, in the account that it came
	 * with; the slots of the request are its own. */
	budget_move_bytes(&group->admission->share, &batch->share);
	group_end(group);
	outbox_batch_release(batch);
}

/* What a repeat is not allowed changes nothing of what is known. */
static void fill_key(const struct send_group *group, struct outbox_batch *batch)
{
	struct idempotency *kept = &batch->kept;

	batch->has_key = true;
	batch->is_repeat = is_repeat(group);
	batch->key = group->lock->entry.key;
	memcpy(kept->payload, group->lock->entry.payload, sizeof(kept->payload));
	kept->created_us = group->created_us;
	for (size_t i = 0; i < group->n; i++) {
		if (batch->is_repeat)
			strv_add(&kept->results, group->lock->earlier.results.items[i]);
		else if (group->sends[i].end == SEND_OPEN)
			strv_add(&kept->results, group->results[i].id);
		else
			strv_take(&kept->results,
				store_idempotency_refusal(group->results[i].problem.text));
	}
}

static void fill_mail(struct send *send, size_t place, struct outbox_mail *mail)
{
	mail->place = place;
	mail->test = send->test;
	mail->waits = send->waits;
	mail->row = send->composed.row;
	mail->message = send->composed.message;
	send->composed = (struct composed){.row = {.seq = 0}};
	if (send->waits)
		memcpy(mail->row.id, send->result->id, ID_SIZE);
}

static void hand_over(struct send_group *group)
{
	const struct worker *worker = group->worker;
	const struct conf *conf = worker->conf;
	struct outbox_batch *batch = outbox_batch_new(send_group_count(group, SEND_OPEN));
	size_t n = 0;

	memcpy(batch->company_id, group->admission->key.company_id, ID_SIZE);
	snprintf(batch->request_id, sizeof(batch->request_id), "%s", group->request_id);
	for (size_t i = 0; i < group->n; i++)
		if (group->sends[i].end == SEND_OPEN)
			fill_mail(&group->sends[i], i, &batch->mails[n++]);
	if (group->lock)
		fill_key(group, batch);
	batch->wait_ms = conf->submission.answer == ANSWER_SENT ? conf->submission.record_wait_ms
								: 0;
	batch->tasks = worker->tasks;
	batch->done = on_batch_done;
	batch->arg = group;
	outbox_send(worker->shared->outbox, batch);
}

static void on_composed(struct task *task)
{
	struct send_group *group = CONTAINER_OF(task, struct send_group, work.done);
	size_t open = send_group_count(group, SEND_OPEN);
	size_t bad = send_group_count(group, SEND_BAD);

	if (group->problem.kind == PROBLEM_NONE && open > 0 && (bad == 0 || group->permissive))
		hand_over(group);
	else
		group_end(group);
}

/* The emails are decided. The same payload has the same number of emails, unless
 * another version of this program has read it. */
static void lock_and_compose(struct send_group *group, const uint8_t *payload)
{
	struct problem problem = PROBLEM_INIT;

	if (payload && idempotency_lock(group->worker, group->admission, group->request_id, payload,
			       &group->lock, &problem) < 0) {
		group_fail(group, &problem);
		return;
	}
	if (!is_repeat(group)) {
		send_compose_group(group, on_composed);
		return;
	}
	if (group->lock->earlier.results.n != group->n) {
		problem_fixed(&problem, PROBLEM_OTHER_PAYLOAD);
		group_fail(group, &problem);
		return;
	}
	send_repeat_read(group);
	if (send_group_count(group, SEND_OPEN) > 0)
		hand_over(group);
	else
		group_end(group);
}

/*
 * The rules.
 */

static bool begins_with_hyphen(const struct addr *addr)
{
	return addr->local[strspn(addr->local, "\"")] == '-';
}

/* Mail to the domain of tickets would wait for its end, since Postfix is told
 * to keep it; and pass for an email that waits for the milter. */
static int check_list(const struct addr_list *list, bool takes_hyphen, struct problem *problem)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];
		bool to_nobody = str_eq(addr->domain, TICKET_DOMAIN);
		_cleanup_free_ char *spec = NULL;

		if (!to_nobody && (takes_hyphen || !begins_with_hyphen(addr)))
			continue;
		spec = addr_spec(addr);
		return problem_set(problem, PROBLEM_VALIDATION,
			to_nobody ? "The mail server delivers nothing to this domain: %s"
				  : "The mail server takes no address that begins with "
				    "a hyphen: %s",
			spec);
	}
	return 0;
}

/* Whether Postfix, as it is configured, takes the sender and the recipients.
 * The problem names the address. */
static int check_addresses(
	const struct worker *worker, const struct draft *draft, struct problem *problem)
{
	bool takes_hyphen = *worker->shared->takes_hyphen;
	struct addr from = draft->message.from;
	const struct addr_list *lists[] = {&(struct addr_list){&from, 1}, &draft->envelope,
		&draft->bcc, &draft->message.to, &draft->message.cc};
	/* What a finished message says is not where it goes. */
	size_t n = ARRAY_SIZE(lists) - (draft->finished.len > 0 ? 2 : 0);

	for (size_t i = 0; i < n; i++)
		if (check_list(lists[i], takes_hyphen, problem) < 0)
			return -1;
	return 0;
}

/* A repeat is decided like a first request, before anything is told of that.
 * The rules are asked once for emails in a row that are of one domain. */
static void decide_all(struct send_group *group, const struct send_spec *spec)
{
	struct problem decision = PROBLEM_INIT;
	const char *decided = NULL;

	for (size_t i = 0; i < group->n; i++) {
		const struct draft *draft = &group->draft[group->personal ? 0 : i];
		const char *domain = draft->message.from.domain;
		struct problem *problem = &group->results[i].problem;

		id_new(group->results[i].id);
		if (spec->problems && spec->problems[i].kind != PROBLEM_NONE) {
			*problem = spec->problems[i];
		} else if (group->personal && i > 0) {
			*problem = group->results[0].problem;
		} else {
			if (decided == NULL || !str_eq(domain, decided)) {
				decision = PROBLEM_INIT;
				sender_check(group->worker, &group->admission->key, domain,
					SENDER_OF_EMAIL, group->request_id, &decision);
				decided = domain;
			}
			*problem = decision;
			if (problem->kind == PROBLEM_NONE)
				check_addresses(group->worker, draft, problem);
		}
		if (problem->kind != PROBLEM_NONE)
			group->sends[i].end = SEND_BAD;
	}
}

/* The rows of their recipients are written in one commit, for which all other
 * companies wait: some ten milliseconds for so many. */
enum { RECIPIENTS_MAX = 10000 };

static int check_recipients(const struct send_group *group, struct problem *problem)
{
	size_t each = group->personal ? group->n : 1, n = 0;

	for (size_t i = 0; i < (group->personal ? 1 : group->n); i++) {
		const struct draft *draft = &group->draft[i];
		const struct mime_message *message = &draft->message;

		n += (group->personal ? 1 : message->to.n) + message->cc.n + draft->bcc.n;
	}
	if (n * each <= RECIPIENTS_MAX)
		return 0;
	return problem_set(problem, PROBLEM_TOO_LARGE,
		"Too many recipients in one request, max is %d: %zu emails have %zu, with cc and "
		"bcc of each",
		RECIPIENTS_MAX, group->n, n * each);
}

void send_emails(const struct send_spec *spec)
{
	struct problem problem = PROBLEM_INIT;
	struct send_group *group = group_new(spec);
	size_t bad;

	decide_all(group, spec);
	bad = send_group_count(group, SEND_BAD);
	if (check_recipients(group, &problem) < 0)
		group_fail(group, &problem);
	else if (bad == 0 || (group->permissive && bad < spec->n))
		lock_and_compose(group, spec->payload);
	else
		group_end(group);
}
