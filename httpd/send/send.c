/*
 * send: from parsed emails to their records.
 *
 *   send_emails: decide, claim ─> send_compose_group ─(pool)─> on_composed
 *     ─> stage ─(committer)─> on_send_staged
 *     ─> send_submit, for each ─(Postfix, milter)─> send_group_finish
 *     ─> send_settle ─(committer)─> send_group_end
 *
 * The answer waits for the records: after it the emails are in Postfix's queue,
 * their rows are durable, and GET finds them.
 *
 * Threads: the worker's, but for composing, which is the pool's, and the run of
 * its job, which is the committer's.
 */
#include "httpd/send/send.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/send/record_gate.h"
#include "httpd/send/send_private.h"

const struct problem *send_first_problem(const struct send_outcome *outcome)
{
	if (outcome->problem)
		return outcome->problem;
	for (size_t i = 0; i < outcome->n; i++)
		if (outcome->results[i].problem.kind != PROBLEM_NONE)
			return &outcome->results[i].problem;
	return NULL;
}

/* A test goes no further than the store, so nobody else can record it. */
static int stage_one(struct db *db, const struct send *send, struct err *err)
{
	const struct email *row = &send->composed.row;

	if (send->end != SEND_OPEN)
		return 0;
	if (store_email_stage(db, row, err) < 0)
		return -1;
	if (!send->test)
		return 0;
	return store_email_record(db, row->ticket, "", row->created_us, err) < 0
		       ? -1
		       : 0;
}

static int stage_run(struct db *db, void *arg, struct err *err)
{
	const struct send_group *group = arg;
	_cleanup_strv_ struct strv results = STRV_INIT;

	for (size_t i = 0; i < group->n; i++)
		if (stage_one(db, &group->sends[i], err) < 0)
			return -1;
	if (group->claim == NULL)
		return 0;
	send_group_results(group, &results);
	return idempotency_add(
		db, group->claim, group->created_us, &results, err);
}

/* Nothing was staged. A key that is there by now was added by another httpd on
 * the same store, as when one is restarted. */
static void end_unstaged(struct send_group *group)
{
	struct problem problem = PROBLEM_INIT;

	log_error(group->request->worker->log, "stage_failed", "request",
		group->request->id, "error", group->job_err.text);
	if (group->claim && group->job_err.code == ERR_EXISTS)
		problem_fixed(&problem, PROBLEM_CONCURRENT);
	else
		problem_from_err(&problem, &group->job_err);
	send_group_refuse(group, &problem);
}

static void submit_or_end(struct send *send)
{
	if (send->test)
		send_group_finish(send, SEND_SENT);
	else
		send_submit(send);
}

static void on_send_staged(struct task *task)
{
	struct send_group *group = (struct send_group *)task;

	if (group->job_result < 0) {
		end_unstaged(group);
		return;
	}
	send_group_each_open(group, submit_or_end, send_settle);
}

static void stage(struct send_group *group)
{
	group->lazy = send_prepare(group);
	send_group_commit(group, stage_run, on_send_staged, group->lazy);
}

/* The emails of a request come in together, so one request may exceed it. */
static bool is_full(const struct send_group *group)
{
	const struct worker *worker = group->worker;
	size_t others = worker->emails - group->n;

	return others >= (size_t)worker->conf->submission.max_pending;
}

static bool can_send(const struct send_group *group)
{
	return !is_full(group) && record_gate_enter(group->worker->shared->gate,
					  clock_monotonic_us());
}

static void refuse_all(struct send_group *group, enum problem_kind kind)
{
	struct problem problem = PROBLEM_INIT;

	problem_fixed(&problem, kind);
	send_group_refuse(group, &problem);
}

static void on_composed(struct task *task)
{
	struct send_group *group = CONTAINER_OF(
		task, struct send_group, work.done);
	size_t open, bad;

	if (group->problem.kind != PROBLEM_NONE) {
		send_group_end(group);
		return;
	}
	if (send_group_is_repeat(group)) {
		send_repeat(group);
		return;
	}
	open = send_group_count(group, SEND_OPEN);
	bad = send_group_count(group, SEND_BAD);
	if (open > 0 && (bad == 0 || group->permissive))
		stage(group);
	else
		send_group_end(group);
}

/* The emails are decided: what has no answer yet is composed. The same payload
 * has the same number of emails, unless another version of this program has
 * read it. */
static void claim_and_compose(struct send_group *group, const uint8_t *payload)
{
	struct problem problem = PROBLEM_INIT;
	bool is_repeat;

	if (payload && idempotency_claim(group->request, payload, &group->claim,
			       &problem) < 0) {
		send_group_refuse(group, &problem);
		return;
	}
	is_repeat = send_group_is_repeat(group);
	if (is_repeat && group->claim->record.results.n != group->n) {
		refuse_all(group, PROBLEM_OTHER_PAYLOAD);
		return;
	}
	if (is_repeat)
		send_repeat_read(group);
	if (is_repeat && send_group_count(group, SEND_OPEN) == 0)
		send_settle(group);
	else if (!can_send(group))
		refuse_all(group, PROBLEM_UNAVAILABLE);
	else
		send_compose_group(group, on_composed);
}

/* Takes the emails over. */
static void take_emails(struct send_group *group, const struct send_spec *spec)
{
	size_t n = spec->personal ? 1 : spec->n;

	group->outgoing = mem_alloc(n, sizeof(*group->outgoing));
	memcpy(group->outgoing, spec->outgoing, n * sizeof(*group->outgoing));
	memset(spec->outgoing, 0, n * sizeof(*spec->outgoing));
	group->personal = spec->personal;
}

/* A repeat is decided like a first request, before anything is told of that.
 * The rules are asked once for emails in a row that are of one domain. */
static void decide_all(struct send_group *group, const struct send_spec *spec)
{
	struct problem decision = PROBLEM_INIT;
	const char *decided = NULL;

	for (size_t i = 0; i < group->n; i++) {
		const struct outgoing *outgoing =
			&group->outgoing[group->personal ? 0 : i];
		const char *domain = outgoing->message.from.domain;
		struct problem *problem = &group->results[i].problem;

		id_new(group->results[i].id);
		if (spec->problems && spec->problems[i].kind != PROBLEM_NONE) {
			*problem = spec->problems[i];
		} else if (group->personal && i > 0) {
			*problem = group->results[0].problem;
		} else {
			if (decided == NULL || !str_eq(domain, decided)) {
				decision = PROBLEM_INIT;
				send_decide(group->request, domain, &decision);
				decided = domain;
			}
			*problem = decision;
			if (problem->kind == PROBLEM_NONE)
				send_check_addresses(
					group->worker, outgoing, problem);
		}
		if (problem->kind != PROBLEM_NONE)
			group->sends[i].end = SEND_BAD;
	}
}

void send_emails(struct request *request, const struct send_spec *spec)
{
	struct send_group *group = send_group_new(
		request, spec->n, spec->permissive, spec->done);
	size_t bad;

	take_emails(group, spec);
	decide_all(group, spec);
	bad = send_group_count(group, SEND_BAD);
	if (bad == 0 || (group->permissive && bad < spec->n))
		claim_and_compose(group, spec->payload);
	else
		send_group_end(group);
}
