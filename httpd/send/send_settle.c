/*
 * send_settle: what is left to be written when every email of a request has
 * come to an end.
 *
 * What surely did not reach Postfix is taken back. The Idempotency-Key goes in
 * the same commit when nothing was sent at all, so that the request may come
 * again. When some emails went out and others may yet, the key and their rows
 * stay as they are: a repeat goes on from there. Else the results are final.
 *
 * What Postfix has lost, or may have, after the milter let it pass is staged
 * again. It is taken back only when Postfix has refused it for good, and not on
 * a repeat, whose first message may have come through.
 *
 * Threads: the worker's, but for settle_run, which is the committer's.
 */
#include <string.h>

#include "core/base/log.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/send/send_group.h"

/* Whether the next attempt may succeed where this one did not. */
static bool may_pass(const struct send *send)
{
	return send->end == SEND_UNSURE ||
	       (send->end == SEND_FAILED && problem_status(&send->result->problem) == 503);
}

static bool can_be_finished(const struct send_group *group)
{
	if (group->lock == NULL || group->permissive || !send_group_is_out(group))
		return false;
	for (size_t i = 0; i < group->n; i++)
		if (may_pass(&group->sends[i]))
			return true;
	return false;
}

static int take_one_back(struct db *db, const struct send *send, struct err *err)
{
	const char *ticket = send->composed.row.ticket;

	if (send->rejected && !send_group_is_repeat(send->group))
		return store_email_retract(db, ticket, err);
	return store_email_unstage(db, ticket, err);
}

/* 1 all of them, 0 not all: there was a record, or another httpd has taken the
 * request up. */
static int take_back(struct db *db, const struct send_group *group, struct err *err)
{
	int all = 1;

	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];
		int done;

		if (send->end != SEND_FAILED)
			continue;
		done = take_one_back(db, send, err);
		if (done < 0)
			return -1;
		all &= done;
	}
	return all;
}

/* Whether a record may be there that is no proof: the milter had let the
 * message pass, and then Postfix did not take it, or nobody knows. That of an
 * earlier message stays. */
static bool is_doubtful(const struct send *send)
{
	return send->doubted && send->composed.row.state != EMAIL_SENT;
}

static bool has_doubts(const struct send_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		if (is_doubtful(&group->sends[i]))
			return true;
	return false;
}

static int doubt_all(struct db *db, const struct send_group *group, struct err *err)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];

		if (is_doubtful(send) && store_email_doubt(db, send->composed.row.ticket, err) < 0)
			return -1;
	}
	return 0;
}

/* 1, 0 when another httpd has removed the key meanwhile, -1. */
static int settle_key(struct db *db, const struct send_group *group, struct err *err)
{
	const struct idempotency_key *key = &group->lock->entry.key;
	struct idempotency kept = {.settled = send_group_is_final(group)};
	int result;

	if (!send_group_is_out(group))
		return store_idempotency_remove(db, key, err);
	send_group_results(group, &kept.results);
	result = store_idempotency_settle(db, key, &kept, err);
	store_idempotency_clear(&kept);
	return result;
}

static int settle_run(struct db *db, void *arg, struct err *err)
{
	const struct send_group *group = arg;
	int all;

	if (has_doubts(group) && doubt_all(db, group, err) < 0)
		return -1;
	if (group->unfinished)
		return 0;
	all = take_back(db, group, err);
	if (all <= 0 || group->lock == NULL)
		return all < 0 ? -1 : 0;
	return settle_key(db, group, err) < 0 ? -1 : 0;
}

static void on_send_settled(struct task *task)
{
	struct send_group *group = CONTAINER_OF(task, struct send_group, task);
	const struct request *request = group->request;

	if (group->job_result < 0)
		log_error(request->worker->log, "unstage_failed", "request", request->id, "error",
			group->job_err.text);
	send_group_end(group);
}

/* Whether the store does not say so by itself. */
static bool is_news(const struct send_group *group)
{
	if (send_group_count(group, SEND_FAILED) > 0)
		return true;
	if (group->lock == NULL || group->lock->earlier.settled)
		return false;
	return !send_group_is_out(group) || send_group_count(group, SEND_LATE) > 0 ||
	       send_group_count(group, SEND_REFUSED) > 0;
}

/* Whether an email will be answered for that no commit of the milter's has made
 * durable: any commit does. */
static bool is_volatile(const struct send_group *group)
{
	return group->lazy && send_group_count(group, SEND_LATE) > 0;
}

/* The client is told that these are sent, and has no reason to come again. */
static void prove_earlier(const struct send_group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];

		if (send->end == SEND_SENT && send->earlier_ticket[0])
			send_prove(send, send->earlier_ticket);
	}
}

void send_settle(struct send_group *group)
{
	group->unfinished = can_be_finished(group);
	if (!group->unfinished)
		prove_earlier(group);
	if (has_doubts(group) || is_volatile(group) || (!group->unfinished && is_news(group)))
		send_group_commit(group, settle_run, on_send_settled, false);
	else
		send_group_end(group);
}
