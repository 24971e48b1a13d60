/*
 * send_group: the emails of one request on their way, as a mechanism: they take
 * a step together, each leaves it when it can, and the last one takes all on to
 * the next. It knows nothing of what the steps do, but what their ends mean.
 *
 * Invariant: between two steps the group is with its emails, or with its job.
 * Threads: the worker's, but for the done of its job, which is the committer's.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/counts.h"
#include "httpd/gate/request.h"
#include "httpd/send/send_group.h"

struct send_group *send_group_new(
	struct request *request, size_t n, bool permissive, send_done *done)
{
	struct send_group *group = mem_new(struct send_group);

	group->worker = request->worker;
	group->request = request;
	group->done = done;
	group->permissive = permissive;
	group->created_us = clock_now_us(request->worker->shared->clock);
	group->sends = mem_alloc(n, sizeof(*group->sends));
	group->results = mem_alloc(n, sizeof(*group->results));
	group->n = n;
	for (size_t i = 0; i < n; i++) {
		group->sends[i].group = group;
		group->sends[i].result = &group->results[i];
	}
	return group;
}

static void clear_composed(struct composed *composed)
{
	store_email_clear(&composed->row);
	free(composed->recipient);
	buf_free(&composed->message);
}

void send_group_free(struct send_group *group)
{
	size_t outgoing_n = group->personal ? 1 : group->n;

	places_leave(&group->places);
	for (size_t i = 0; group->outgoing && i < outgoing_n; i++)
		outgoing_clear(&group->outgoing[i]);
	free(group->outgoing);
	if (group->personal)
		group->personal->free(group->personal);
	for (size_t i = 0; i < group->n; i++)
		clear_composed(&group->sends[i].composed);
	idempotency_unlock(group->lock);
	free(group->sends);
	free(group->results);
	free(group);
}

size_t send_group_count(const struct send_group *group, enum send_end end)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++)
		n += group->sends[i].end == end;
	return n;
}

bool send_group_is_repeat(const struct send_group *group)
{
	return group->lock && group->lock->found;
}

/* What each end means for the answer and for a repeat. */
static const struct {
	bool out;        /* Postfix has it, or may have it */
	bool kept;       /* its id is, for a repeat; else why it was not sent */
	bool may_change; /* by a repeat */
} ends[] = {
	[SEND_OPEN] = {.kept = true}, /* when it is staged */
	[SEND_BAD] = {0},
	[SEND_SENT] = {.out = true, .kept = true},
	[SEND_LATE] = {.out = true, .kept = true},
	[SEND_UNSURE] = {.out = true, .kept = true, .may_change = true},
	[SEND_FAILED] = {0}, /* and it is taken back */
	[SEND_REFUSED] = {0},
	/* Of this one the request does not ask. */
	[SEND_BARRED] = {.out = true, .may_change = true},
};

bool send_group_is_out(const struct send_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		if (ends[group->sends[i].end].out)
			return true;
	return false;
}

bool send_group_is_final(const struct send_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		if (ends[group->sends[i].end].may_change)
			return false;
	return true;
}

/* Problems may quote what a client sent; results stand in lines. */
static char *refusal_line(const struct problem *problem)
{
	char *line = mem_printf("!%s", problem->text);

	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return line;
}

/* What a repeat is not allowed changes nothing of what is known. */
static const char *earlier_result(const struct send *send)
{
	const struct send_group *group = send->group;

	if (!send_group_is_repeat(group) || (send->end != SEND_BAD && send->end != SEND_BARRED))
		return NULL;
	return group->lock->earlier.results.items[send - group->sends];
}

void send_group_results(const struct send_group *group, struct strv *results)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct send_result *result = &group->results[i];
		const char *earlier = earlier_result(&group->sends[i]);

		if (earlier)
			strv_add(results, earlier);
		else if (ends[group->sends[i].end].kept)
			strv_add(results, result->id);
		else
			strv_take(results, refusal_line(&result->problem));
	}
}

_Static_assert((int)SEND_BARRED < COUNTS_EMAILS, "each has a counter");
_Static_assert((int)INJECT_UNKNOWN < COUNTS_SUBMISSIONS, "each has a counter");

/* Those that this request has submitted, or would have. */
static void count_emails(const struct send_group *group)
{
	struct worker_counts *counts = group->worker->counts;

	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];

		if (send->test && send->end == SEND_SENT && !send_group_is_repeat(group))
			count_add(&counts->tests, 1);
		else if (send->submission.done)
			count_add(&counts->emails[send->end], 1);
	}
}

/* Nobody is told to try again what may have gone out, as a 503 does, but where
 * a repeat is known for one. */
static void word_unknown(const struct send_group *group, struct problem *problem)
{
	bool may_repeat = group->lock && !group->permissive;

	if (problem_status(problem) < 500)
		return;
	problem_set(problem, may_repeat ? PROBLEM_UNAVAILABLE : PROBLEM_INTERNAL,
		"It is not known whether the email was sent: the mail server failed while it took "
		"it.%s",
		may_repeat ? " The same request with the same idempotency key sends it unless "
			     "it was."
			   : "");
}

static void tell_results(struct send_group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];
		const struct recipients *all = &send->composed.row.recipients;

		if (all->n > 0)
			send->result->to = all->items[0].address;
		send->result->unknown = send->end == SEND_UNSURE;
		if (send->result->unknown)
			word_unknown(group, &send->result->problem);
	}
}

void send_group_end(struct send_group *group)
{
	bool refused = group->problem.kind != PROBLEM_NONE;
	const struct send_outcome outcome = {
		.problem = refused ? &group->problem : NULL,
		.results = group->results,
		.n = group->n,
		.sent = send_group_count(group, SEND_SENT) + send_group_count(group, SEND_LATE),
		.unknown = send_group_count(group, SEND_UNSURE),
		.unfinished = group->unfinished,
	};

	count_emails(group);
	tell_results(group);
	if (group->n == 1 && send_first_problem(&outcome) == NULL)
		memcpy(group->request->email_id, outcome.results->id, ID_SIZE);
	group->done(group->request, &outcome);
	send_group_free(group);
}

void send_group_fail(struct send_group *group, const struct problem *problem)
{
	group->problem = *problem;
	send_group_end(group);
}

static void leave(struct send_group *group)
{
	if (--group->left == 0)
		group->next(group);
}

void send_leave(struct send *send)
{
	leave(send->group);
}

void send_finish(struct send *send, enum send_end end)
{
	send->end = end;
	leave(send->group);
}

void send_group_each_open(struct send_group *group, void (*step)(struct send *send),
	void (*next)(struct send_group *group))
{
	group->next = next;
	group->left = 1; /* this loop */
	for (size_t i = 0; i < group->n; i++) {
		if (group->sends[i].end != SEND_OPEN)
			continue;
		group->left++;
		step(&group->sends[i]);
	}
	leave(group);
}

/* On the committer's thread. */
static void on_job_done(void *arg, int result, const struct err *err)
{
	struct send_group *group = arg;

	group->job_result = result;
	if (result < 0)
		group->job_err = *err;
	task_queue_post(group->request->worker->tasks, &group->task);
}

void send_group_commit(struct send_group *group,
	int (*run)(struct db *db, void *group, struct err *err), void (*done)(struct task *task),
	bool lazy)
{
	group->task.run = done;
	group->job.run = run;
	group->job.done = on_job_done;
	group->job.arg = group;
	group->job.lazy = lazy;
	committer_submit(group->request->worker->shared->committer, &group->job);
}
