/*
 * send: from the emails that a client wants to send to their outcomes.
 *
 *   send_emails ─(store_read)─> decide_group: may they be sent; lock the Idempotency-Key
 *     ─> on_decided: send_compose_group ─(pool)─> on_composed
 *     ─> hand_over ─(the outbox)─> on_batch_done: done() answers
 *
 * A repeat of an earlier request is not composed, see send_repeat.c.
 *
 * Threads: the worker's, except for deciding, which another thread does if the store is a server,
 * and for composing, which the pool does if it may take long.
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

/* The memory and the rows of one request. */
enum { RECIPIENTS_MAX = 10000 };

_Static_assert((int)SEND_NOT_ALLOWED < COUNTS_EMAILS, "each has a counter");

const struct problem *send_first_problem(const struct send_outcome *outcome)
{
	if (outcome->problem)
		return outcome->problem;
	for (size_t i = 0; i < outcome->n; i++)
		if (outcome->results[i].problem.kind != PROBLEM_NONE)
			return &outcome->results[i].problem;
	return NULL;
}

/*
 * The group.
 */

static struct send_group *group_new(const struct send_spec *spec)
{
	struct send_group *group = mem_new(struct send_group);
	size_t size;

	group->worker = spec->worker;
	group->admission = spec->admission;
	group->request_id = spec->request_id;
	group->done = spec->done;
	group->arg = spec->arg;
	group->permissive = spec->permissive;
	group->created_us = clock_now_us(spec->worker->shared->clock);
	group->problem = PROBLEM_INIT;
	group->emails = mem_alloc(spec->n, sizeof(*group->emails));
	group->results = mem_alloc(spec->n, sizeof(*group->results));
	group->n = spec->n;
	for (size_t i = 0; i < spec->n; i++) {
		group->emails[i].group = group;
		group->emails[i].result = &group->results[i];
		id_new(group->results[i].id);
		if (spec->problems && spec->problems[i].kind != PROBLEM_NONE)
			group->results[i].problem = spec->problems[i];
	}
	if (spec->payload) {
		group->has_payload = true;
		memcpy(group->payload, spec->payload, sizeof(group->payload));
	}
	group->personal = spec->personal;
	size = send_group_drafts(group) * sizeof(*group->draft);
	group->draft = mem_alloc(send_group_drafts(group), sizeof(*group->draft));
	memcpy(group->draft, spec->draft, size);
	memset(spec->draft, 0, size);
	return group;
}

static void group_free(struct send_group *group)
{
	for (size_t i = 0; i < send_group_drafts(group); i++)
		draft_clear(&group->draft[i]);
	free(group->draft);
	if (group->personal)
		group->personal->free(group->personal);
	for (size_t i = 0; i < group->n; i++) {
		store_email_clear(&group->emails[i].composed.row);
		buf_free(&group->emails[i].composed.message);
	}
	idempotency_unlock(group->lock);
	free(group->emails);
	free(group->results);
	free(group);
}

/* Reports the outcome and frees the group. */
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

static bool is_repeat(const struct send_group *group)
{
	return group->lock && group->lock->found;
}

/*
 * The outbox: the emails go there, and come back with their outcomes.
 */

static void read_outcome(struct send_email *email, const struct outbox_mail *mail)
{
	struct send_result *result = email->result;
	struct worker_counts *counts = email->group->worker->counts;

	switch (mail->outcome) {
	case OUTBOX_PENDING:
	case OUTBOX_ACCEPTED:
		email->end = SEND_QUEUED;
		break;
	case OUTBOX_SENT:
		email->end = SEND_SENT;
		break;
	case OUTBOX_REFUSED:
		email->end = SEND_REFUSED;
		problem_set(&result->problem,
			verdict_text_is_message(mail->refusal) ? PROBLEM_VALIDATION
							       : PROBLEM_DOMAIN,
			"%s", mail->refusal);
		break;
	case OUTBOX_REJECTED:
		email->end = SEND_REJECTED;
		problem_from_err(&result->problem, &mail->err);
		break;
	case OUTBOX_UNKEPT:
		email->end = SEND_BAD;
		problem_from_err(&result->problem, &mail->err);
		return;
	}
	if (!mail->stored) {
		result->message_id = mail->row.message_id;
		if (mail->row.recipients.n > 0)
			result->to = mail->row.recipients.items[0].address;
	}
	if (is_repeat(email->group))
		return;
	if (email->test && email->end == SEND_SENT)
		count_add(&counts->tests, 1);
	else
		count_add(&counts->emails[email->end], 1);
}

static void on_batch_done(struct outbox_batch *batch)
{
	struct send_group *group = batch->arg;

	if (batch->result < 0) {
		log_error(group->worker->log, "stage_failed", "request", group->request_id, "error",
			batch->err.text);
		/* Another httpd on the same store has added the key meanwhile, as when httpd is
		 * restarted. */
		if (group->lock && batch->err.code == ERR_EXISTS)
			problem_fixed(&group->problem, PROBLEM_CONCURRENT);
		else
			problem_from_err(&group->problem, &batch->err);
	}
	for (size_t i = 0; i < batch->n && batch->result == 0; i++)
		read_outcome(&group->emails[batch->mails[i].index], &batch->mails[i]);
	/* Messages that are still being submitted keep their memory, counted in the same account;
	 * the slots belong to the request alone. */
	budget_move_bytes(&group->admission->share, &batch->share);
	group_end(group);
	outbox_batch_release(batch);
}

/* Fills in what is stored under the Idempotency-Key: for each email its id, or why it is not sent.
 * A repeat does not change the results of the first request. */
static void fill_key(const struct send_group *group, struct outbox_batch *batch)
{
	struct idempotency *entry = &batch->idempotency;

	batch->has_key = true;
	batch->is_repeat = is_repeat(group);
	batch->key = group->lock->entry.key;
	memcpy(entry->payload, group->lock->entry.payload, sizeof(entry->payload));
	entry->created_us = group->created_us;
	for (size_t i = 0; i < group->n; i++) {
		if (batch->is_repeat)
			strv_add(&entry->results, group->lock->earlier.results.items[i]);
		else if (group->emails[i].end == SEND_OPEN)
			strv_add(&entry->results, group->results[i].id);
		else
			strv_take(&entry->results,
				store_idempotency_refusal(group->results[i].problem.text));
	}
}

/* Gives all open emails to the outbox. */
static void hand_over(struct send_group *group)
{
	const struct worker *worker = group->worker;
	const struct conf *conf = worker->conf;
	struct outbox_batch *batch = outbox_batch_new(send_group_count(group, SEND_OPEN));
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++) {
		struct send_email *email = &group->emails[i];
		struct outbox_mail *mail;

		if (email->end != SEND_OPEN)
			continue;
		mail = &batch->mails[n++];
		mail->index = i;
		mail->test = email->test;
		mail->stored = email->stored;
		mail->row = email->composed.row;
		mail->message = email->composed.message;
		email->composed = (struct composed){.row = {.seq = 0}};
		if (email->stored)
			memcpy(mail->row.id, email->result->id, ID_SIZE);
	}
	if (group->lock)
		fill_key(group, batch);
	memcpy(batch->company_id, group->admission->key.company_id, ID_SIZE);
	snprintf(batch->request_id, sizeof(batch->request_id), "%s", group->request_id);
	if (conf->submission.answer == ANSWER_SENT)
		batch->wait_ms = conf->submission.record_wait_ms;
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

/*
 * The rules.
 */

/* Mail to the domain of tickets would wait until its lifetime is over, since Postfix is told to
 * keep it, and could be taken for an email that waits for the milter. */
static int check_list(const struct addr_list *list, bool takes_hyphen, struct problem *problem)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];
		bool is_ticket = str_eq(addr->domain, TICKET_DOMAIN);
		bool has_hyphen = addr->local[strspn(addr->local, "\"")] == '-';
		_cleanup_free_ char *spec = NULL;

		if (!is_ticket && (takes_hyphen || !has_hyphen))
			continue;
		spec = addr_spec(addr);
		return problem_set(problem, PROBLEM_VALIDATION,
			is_ticket ? "The mail server delivers nothing to this domain: %s"
				  : "The mail server takes no address that begins with "
				    "a hyphen: %s",
			spec);
	}
	return 0;
}

/* Checks that Postfix, as it is configured, accepts the sender and the recipients. The problem
 * names the address. */
static int check_addresses(
	const struct worker *worker, const struct draft *draft, struct problem *problem)
{
	bool takes_hyphen = *worker->shared->takes_hyphen;
	struct addr from = draft->message.from;
	const struct addr_list *lists[] = {&(struct addr_list){&from, 1}, &draft->envelope,
		&draft->bcc, &draft->message.to, &draft->message.cc};
	/* To and Cc of a finished message are not its recipients. */
	size_t n = ARRAY_SIZE(lists) - (draft->finished.len > 0 ? 2 : 0);

	for (size_t i = 0; i < n; i++)
		if (check_list(lists[i], takes_hyphen, problem) < 0)
			return -1;
	return 0;
}

/* Sets the problem of the emails that may not be sent. A repeat is decided like a first request,
 * before it learns anything about that. Consecutive emails of the same domain are decided once.
 * Returns 0, or -1 with err: the store failed. */
static int decide_emails(struct send_group *group, struct db *db, struct err *err)
{
	const struct key *key = &group->admission->key;
	struct problem decision = PROBLEM_INIT;
	const char *decided = NULL;
	enum domain_status status;

	for (size_t i = 0; i < group->n; i++) {
		const struct draft *draft = &group->draft[group->personal ? 0 : i];
		const char *domain = draft->message.from.domain;
		struct problem *problem = &group->results[i].problem;

		if (group->personal && i > 0 && problem->kind == PROBLEM_NONE) {
			*problem = group->results[0].problem;
		} else if (problem->kind == PROBLEM_NONE) {
			if (decided == NULL || !str_eq(domain, decided)) {
				if (sender_look_up(db, key->company_id, domain, &status, err) < 0)
					return -1;
				decision = PROBLEM_INIT;
				sender_check(key, domain, status, SENDER_OF_EMAIL, &decision);
				decided = domain;
			}
			*problem = decision;
			if (problem->kind == PROBLEM_NONE)
				check_addresses(group->worker, draft, problem);
		}
		if (problem->kind != PROBLEM_NONE)
			group->emails[i].end = SEND_BAD;
	}
	return 0;
}

/* True if the request is refused as a whole because of emails that may not be sent. */
static bool is_refused(const struct send_group *group)
{
	size_t bad = send_group_count(group, SEND_BAD);

	return bad > 0 && (!group->permissive || bad == group->n);
}

static int check_recipients(const struct send_group *group, struct problem *problem)
{
	size_t each = group->personal ? group->n : 1, n = 0;

	for (size_t i = 0; i < send_group_drafts(group); i++) {
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

/* All that the store says before the emails are composed. */
static int decide_group(struct store_read *read, struct db *db, struct err *err)
{
	struct send_group *group = CONTAINER_OF(read, struct send_group, read);

	if (decide_emails(group, db, err) < 0)
		return -1;
	if (!group->has_payload || is_refused(group))
		return 0;
	if (idempotency_lock(group->worker, db, group->admission, group->payload, &group->lock,
		    &group->problem, err) < 0)
		return -1;
	if (!is_repeat(group))
		return 0;
	/* The number of emails differs only if another version of httpd read the payload. */
	if (group->lock->earlier.results.n == group->n)
		return send_repeat_read(group, db, err);
	problem_fixed(&group->problem, PROBLEM_OTHER_PAYLOAD);
	return 0;
}

static void on_decided(struct store_read *read)
{
	struct send_group *group = CONTAINER_OF(read, struct send_group, read);
	bool open = send_group_count(group, SEND_OPEN) > 0;

	if (read->result < 0) {
		log_error(group->worker->log, "store_failed", "request", group->request_id, "error",
			read->err.text);
		problem_from_err(&group->problem, &read->err);
	}
	if (group->problem.kind != PROBLEM_NONE)
		group_end(group);
	else if (is_repeat(group) && open)
		hand_over(group);
	else if (is_repeat(group) || is_refused(group))
		group_end(group);
	else
		send_compose_group(group, on_composed);
}

void send_emails(const struct send_spec *spec)
{
	struct send_group *group = group_new(spec);

	if (check_recipients(group, &group->problem) < 0) {
		group_end(group);
		return;
	}
	group->read.read = decide_group;
	group->read.done = on_decided;
	store_read_start(group->worker, &group->read, group->admission->key.company_id);
}
