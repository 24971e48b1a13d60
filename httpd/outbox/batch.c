/*
 * batch: the emails of one request, from the commit that stages them to the answer.
 *
 *   outbox_send: is there room?
 *     ─(pool)──────> write_next_file: large messages become files
 *     ─(committer)─> stage_run: emails, recipients, messages, outbox rows and the
 *                    Idempotency-Key in one commit; of a large batch, prepare_run in
 *                    steps, and publish_run
 *     ─────────────> on_batch_staged: an attempt for each email that is due   dispatcher.c
 *     ─────────────> mail_end for each outcome; or the wait is over
 *     ─(committer)─> settle_run, if there is something to write
 *     ─(worker)────> done
 *
 * If nobody waits for outcomes, done comes right after the commit, and the attempts start at the
 * same time.
 *
 * Settling writes what the store does not know by itself:
 * - Postfix refused an email for good: its row goes.
 * - The client learns an id before the milter has decided: the email is `answered`, durably.
 * - What a repeat of the request, by its Idempotency-Key, is told of refused emails.
 * Mostly there is nothing to write.
 *
 * Threads: outbox_send() is the worker's, write_next_file() the pool's, *_run() and *_done() are
 * the committer's; the rest is the outbox's. A batch belongs to one of them at a time, except for
 * its references. A batch that was answered right after the commit belongs to its maker; then the
 * outbox only reads it.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/host/store_later_refusal.h"
#include "core/store/email/store_message.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

/* A commit takes as long for each of these as for a small email with one recipient. */
enum { RECIPIENTS_AN_EMAIL = 10, BYTES_AN_EMAIL = 32 * 1024, PUBLISHED_AN_EMAIL = 8 };

struct outbox_batch *outbox_batch_new(size_t n)
{
	struct outbox_batch *batch = mem_new(struct outbox_batch);

	batch->mails = mem_alloc(n, sizeof(*batch->mails));
	batch->n = n;
	for (size_t i = 0; i < n; i++)
		batch->mails[i].batch = batch;
	batch->refs = 1;
	batch->err = ERR_INIT;
	return batch;
}

void outbox_batch_release(struct outbox_batch *batch)
{
	if (atomic_fetch_sub(&batch->refs, 1) > 1)
		return;
	for (size_t i = 0; i < batch->n; i++) {
		store_email_clear(&batch->mails[i].row);
		buf_free(&batch->mails[i].message);
		free(batch->mails[i].refusal);
	}
	free(batch->mails);
	store_idempotency_clear(&batch->idempotency);
	budget_give_back(&batch->share);
	free(batch);
}

static bool is_scheduled(const struct outbox_mail *mail)
{
	return mail->row.scheduled_us > 0;
}

/* True if the batch adds the email to the outbox. */
static bool is_new(const struct outbox_mail *mail)
{
	return !mail->stored && !mail->test;
}

static bool has_file(const struct outbox_mail *mail)
{
	return is_new(mail) && mail->message.len > MESSAGE_FILE_BYTES;
}

/* The row that identifies the email to the journal and the dispatcher. */
static struct outbox_row row_of(const struct outbox_mail *mail)
{
	struct outbox_row row = {.size = (int64_t)mail->message.len};

	memcpy(row.id, mail->row.id, ID_SIZE);
	memcpy(row.company_id, mail->batch->company_id, ID_SIZE);
	memcpy(row.ticket, mail->row.ticket, sizeof(row.ticket));
	return row;
}

static void on_batch_answered(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);

	batch->done(batch);
}

/* Hands the batch back to its maker. Any thread. */
static void answer_batch(struct outbox_batch *batch)
{
	struct task_queue *tasks = batch->tasks;

	batch->task.run = on_batch_answered;
	task_queue_post(tasks, &batch->task);
}

/* Undoes what was reserved and written for an email that is not in the outbox after all. Any
 * thread. */
static void discard_mail(const struct outbox_mail *mail)
{
	struct outbox *outbox = mail->batch->outbox;

	if (is_new(mail))
		outbox_account_leave(outbox, mail->batch->company_id, (int64_t)mail->message.len);
	if (has_file(mail))
		store_message_discard(outbox->shared->database_path, mail->row.id);
}

/* Answers a batch of which nothing was stored. Any thread. */
static void discard_batch(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		discard_mail(&batch->mails[i]);
	answer_batch(batch);
}

/* Submits a job of the batch, which has only one at a time. */
static void submit_job(struct outbox_batch *batch,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*done)(void *arg, int result, const struct err *err), bool lazy, size_t weight)
{
	batch->job = (struct commit_job){
		.run = run,
		.repeatable = true,
		.done = done,
		.arg = batch,
		.lazy = lazy,
		.company_id = batch->company_id,
		.weight = (unsigned)weight,
	};
	committer_submit(batch->outbox->shared->committer, &batch->job);
}

/*
 * Settling: all emails have an outcome.
 */

/* Stores the results for a repeat of the request. If nothing was sent, the key is removed, so the
 * request can be made again. */
static int settle_key(struct db *db, const struct outbox_batch *batch, struct err *err)
{
	struct idempotency settled = {.settled = true};
	bool any_sent = false;
	int result;

	for (size_t i = 0; i < batch->idempotency.results.n; i++)
		strv_add(&settled.results, batch->idempotency.results.items[i]);
	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];
		const char *reason = mail->outcome == OUTBOX_REJECTED  ? mail->err.text
				     : mail->outcome == OUTBOX_REFUSED ? mail->refusal
								       : NULL;

		if (reason) {
			free(settled.results.items[mail->index]);
			settled.results.items[mail->index] = store_idempotency_refusal(reason);
		}
	}
	for (size_t i = 0; i < settled.results.n; i++)
		any_sent |= settled.results.items[i][0] != '!';
	result = any_sent ? store_idempotency_settle(db, &batch->key, &settled, err)
			  : store_idempotency_remove(db, &batch->key, err);
	strv_free(&settled.results);
	return result < 0 ? -1 : 0;
}

static int settle_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];
		int result = 0;

		if (mail->outcome == OUTBOX_REJECTED) {
			result = store_later_refusal_add_email(
				db, mail->row.ticket, mail->err.text, mail->row.created_us, err);
			if (result == 0)
				result = store_email_retract(db, mail->row.ticket, err);
		} else if (mail->outcome == OUTBOX_ACCEPTED && !mail->row.answered)
			result = store_email_answered(db, mail->row.id, err);
		if (result < 0)
			return -1;
	}
	return batch->has_key ? settle_key(db, batch, err) : 0;
}

/* If settling failed, an acceptance may not be durable. Then the client is told to send the email
 * again, and this one is canceled; unless it has an Idempotency-Key, by which a repeat finds it. */
static void on_batch_settled(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);
	struct journal *journal = batch->outbox->journal;
	bool written = batch->err.code == ERR_NONE;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		const struct outbox_row row = row_of(mail);

		if (mail->outcome == OUTBOX_REJECTED && written) {
			discard_mail(mail);
		} else if (mail->outcome == OUTBOX_REJECTED) {
			journal_fail(journal, &row, mail->err.text);
		} else if (mail->outcome == OUTBOX_ACCEPTED && !mail->row.answered && !written) {
			mail->outcome = OUTBOX_UNKEPT;
			mail->err = batch->err;
			if (!batch->has_key)
				journal_cancel(journal, &row);
		}
	}
	answer_batch(batch);
}

static void settle_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;

	if (result < 0) {
		batch->err = *err;
		log_error(batch->outbox->log, "settle_failed", "request", batch->request_id,
			"error", err->text);
	}
	batch->task.run = on_batch_settled;
	task_queue_post(batch->outbox->tasks, &batch->task);
}

static void settle_batch(struct outbox_batch *batch)
{
	struct outbox *outbox = batch->outbox;
	bool key_is_open = batch->has_key && !batch->idempotency.settled;
	bool writes = false;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];

		writes |= mail->outcome == OUTBOX_REJECTED ||
			  (mail->outcome == OUTBOX_REFUSED && key_is_open) ||
			  (mail->outcome == OUTBOX_ACCEPTED &&
				  (key_is_open || !mail->row.answered));
	}
	batch->answered = true;
	if (batch->timer) {
		event_free(batch->timer);
		batch->timer = NULL;
		TAILQ_REMOVE(&outbox->waiting, batch, link);
	}
	if (!writes) {
		answer_batch(batch);
		return;
	}
	submit_job(batch, settle_run, settle_done, false, batch->n);
}

/*
 * Waiting for the outcomes.
 */

/* The last outcome settles the batch. */
static void mail_end(struct outbox_mail *mail, enum outbox_outcome outcome)
{
	mail->awaited = false;
	mail->outcome = outcome;
	if (--mail->batch->left == 0)
		settle_batch(mail->batch);
}

void outbox_end_wait(struct outbox_batch *batch)
{
	batch->left++; /* this loop */
	for (size_t i = 0; i < batch->n; i++)
		if (batch->mails[i].awaited)
			mail_end(&batch->mails[i], OUTBOX_ACCEPTED);
	if (--batch->left == 0)
		settle_batch(batch);
}

static void on_wait_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	outbox_end_wait(arg);
}

/* The dispatcher reports how the attempt ended. */
static bool on_attempt_told(void *arg, const struct attempt_outcome *outcome)
{
	struct outbox_mail *mail = arg;

	if (!mail->awaited)
		return false;
	mail->refusal = mem_strdup(outcome->refusal);
	if (outcome->err)
		mail->err = *outcome->err;
	mail_end(mail, outcome->outcome);
	return true;
}

static void on_attempt_released(void *arg)
{
	struct outbox_mail *mail = arg;

	outbox_batch_release(mail->batch);
}

static void start_attempt(struct outbox_mail *mail)
{
	struct attempt *attempt = mem_new(struct attempt);

	attempt->outbox = mail->batch->outbox;
	attempt->row = row_of(mail);
	attempt->row.sender = mem_strdup(mail->row.sender);
	for (size_t i = 0; i < mail->row.recipients.n; i++)
		attempt->row.utf8 |= !str_is_ascii(mail->row.recipients.items[i].address);
	attempt->message = &mail->message;
	attempt->told = on_attempt_told;
	attempt->released = on_attempt_released;
	attempt->arg = mail;
	atomic_fetch_add(&mail->batch->refs, 1);
	dispatcher_start(attempt);
}

/* Called for an email that another batch submits, when the milter has decided about it or the wait
 * is over. */
static void on_stored_recorded(struct watched *watched, enum email_state state, const char *refusal)
{
	struct outbox_mail *mail = CONTAINER_OF(watched, struct outbox_mail, watched);
	struct outbox_batch *batch = mail->batch;

	batch->outbox->under_way--;
	if (mail->awaited) {
		if (state == EMAIL_REFUSED)
			mail->refusal = mem_strdup(refusal);
		mail_end(mail, state == EMAIL_SENT      ? OUTBOX_SENT
			       : state == EMAIL_REFUSED ? OUTBOX_REFUSED
							: OUTBOX_ACCEPTED);
	}
	outbox_batch_release(batch);
}

/* True if it must be submitted now: it waits neither for its time nor for an admin. */
static bool is_due(const struct outbox_mail *mail)
{
	return !mail->test && !mail->paused && !is_scheduled(mail);
}

/* The emails are durable. Everything is set up for their outcomes before the first attempt starts,
 * since an attempt may have its outcome at once. */
static void on_batch_staged(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, staged);
	struct outbox *outbox = batch->outbox;
	const struct timeval wait = {
		.tv_sec = batch->wait_ms / 1000, .tv_usec = batch->wait_ms % 1000 * 1000};
	bool waits = batch->wait_ms > 0;

	batch->left = 1; /* this function */
	for (size_t i = 0; i < batch->n && waits; i++) {
		batch->mails[i].awaited = is_due(&batch->mails[i]);
		batch->left += batch->mails[i].awaited;
	}
	if (waits) {
		batch->timer = event_new(outbox->base, -1, 0, on_wait_over, batch);
		event_add(batch->timer, &wait);
		TAILQ_INSERT_TAIL(&outbox->waiting, batch, link);
	} else {
		outbox->cpu.staged_us = clock_monotonic_us();
	}
	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		if (is_scheduled(mail)) {
			feeder_hint(outbox->feeder, mail->row.scheduled_us);
		} else if (is_due(mail) && mail->stored && waits) {
			mail->watched = (struct watched){
				.email_id = mail->row.id,
				.wait_ms = batch->wait_ms,
				.done = on_stored_recorded,
			};
			atomic_fetch_add(&batch->refs, 1);
			outbox->under_way++;
			record_watch_add(outbox->watch, &mail->watched);
		} else if (is_due(mail) && !mail->stored) {
			start_attempt(mail);
		}
	}
	if (--batch->left == 0 && waits)
		settle_batch(batch);
	if (!batch->answered && outbox->cut_short)
		outbox_end_wait(batch);
	outbox_batch_release(batch);
	atomic_fetch_sub(&outbox->to_start, 1);
}

/*
 * Staging.
 */

/* The commit was made, but not synced. The emails may be seen in the store, and no attempt has
 * started. The client is asked to repeat its request. With an Idempotency-Key the emails go out
 * from the store, since the repeat finds them. Without one they are canceled, since the repeat
 * makes new ones. */
static void on_batch_unsynced(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, staged);
	struct journal *journal = batch->outbox->journal;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_row row = row_of(&batch->mails[i]);

		if (!is_new(&batch->mails[i]))
			continue;
		if (!batch->has_key)
			journal_cancel(journal, &row);
		journal_give_back(journal, &row, 0, NULL);
	}
	answer_batch(batch);
}

static int add_rows(struct db *db, struct outbox_mail *mail, struct err *err)
{
	if (store_email_stage(db, &mail->row, err) < 0)
		return -1;
	return mail->test ? 0 : store_message_keep(db, &mail->row, &mail->message, err);
}

/* A test is recorded at once: Postfix and the milter never see it. */
static int enter_outbox(struct db *db, struct outbox_mail *mail, struct err *err)
{
	struct email *row = &mail->row;
	int result;

	if (mail->test)
		return store_email_record(db, row->ticket, "", row->created_us, err);
	result = store_outbox_add(db, row->seq, (int64_t)mail->message.len, row->scheduled_us, err);
	mail->paused = result == 1;
	return result;
}

static int add_key(struct db *db, const struct outbox_batch *batch, struct err *err)
{
	if (!batch->has_key || batch->is_repeat)
		return 0;
	return store_idempotency_add(db, &batch->key, &batch->idempotency, err);
}

/* Stages a whole batch, which is within the share of a company. */
static int stage_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		if (!mail->stored &&
			(add_rows(db, mail, err) < 0 || enter_outbox(db, mail, err) < 0))
			return -1;
	}
	return add_key(db, batch, err);
}

static void stage_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;
	struct outbox *outbox = batch->outbox;

	if (result < 0) {
		batch->result = -1;
		batch->err = *err;
		batch->staged.run = on_batch_unsynced;
		if (batch->job.unsynced)
			task_queue_post(outbox->tasks, &batch->staged);
		else
			discard_batch(batch);
		return;
	}
	for (size_t i = 0; i < batch->n; i++)
		batch->mails[i].outcome = batch->mails[i].test ? OUTBOX_SENT : OUTBOX_ACCEPTED;
	batch->answered = batch->wait_ms == 0;
	/* The maker may be done with the batch before its last attempt has started. */
	atomic_fetch_add(&batch->refs, 1);
	atomic_fetch_add(&outbox->to_start, 1);
	batch->staged.run = on_batch_staged;
	if (batch->answered)
		answer_batch(batch);
	task_queue_post(outbox->tasks, &batch->staged);
}

/* Returns the end of the emails that one commit takes, beginning with `from`: as many as are within
 * the share of a company, and at least one. *weight_r: that of their job. */
static size_t step_end(const struct outbox_batch *batch, size_t from, unsigned *weight_r)
{
	size_t end = from;

	*weight_r = 0;
	while (end < batch->n) {
		const struct outbox_mail *mail = &batch->mails[end];
		const struct email *row = &mail->row;
		size_t bytes = (has_file(mail) ? 0 : mail->message.len) +
			       (row->html ? strlen(row->html) : 0) +
			       (row->text ? strlen(row->text) : 0);
		unsigned weight = mail->stored
					  ? 0
					  : (unsigned)(1 + row->recipients.n / RECIPIENTS_AN_EMAIL +
						       bytes / BYTES_AN_EMAIL);

		if (end > from && *weight_r + weight > COMMIT_SHARE)
			break;
		*weight_r += weight;
		end++;
	}
	return end;
}

/*
 * A batch beyond the share of a company is prepared in steps, between which others commit. Nobody
 * sees prepared emails, because they are neither sent nor answered, and nobody submits them,
 * because they are not in the outbox. One short commit publishes them all, with the
 * Idempotency-Key. If a step fails, the rows are removed, also in steps. What a crash leaves behind
 * is removed at the next start, by store_email_remove_unfinished().
 */

static int retract_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = batch->step_from; i < batch->step_end; i++)
		if (!batch->mails[i].stored &&
			store_email_retract(db, batch->mails[i].row.ticket, err) < 0)
			return -1;
	return 0;
}

static void retract_next(struct outbox_batch *batch);

static void retract_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;

	if (result < 0) {
		log_error(batch->outbox->log, "retract_failed", "request", batch->request_id,
			"error", err->text, "effect",
			"unfinished emails stay in the store, unseen, until postern-httpd starts");
		discard_batch(batch);
		return;
	}
	batch->step_end = batch->step_from;
	retract_next(batch);
}

static void retract_next(struct outbox_batch *batch)
{
	size_t end = batch->step_end;

	if (end == 0) {
		discard_batch(batch);
		return;
	}
	batch->step_from = end > COMMIT_SHARE ? end - COMMIT_SHARE : 0;
	submit_job(batch, retract_run, retract_done, true, end - batch->step_from);
}

static void abandon_batch(struct outbox_batch *batch, const struct err *err)
{
	batch->result = -1;
	batch->err = *err;
	retract_next(batch);
}

static int publish_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		int found = mail->stored ? 1 : store_email_publish(db, &mail->row, err);

		if (found == 0)
			return err_set(err, ERR_TEMPORARY,
				"an email of the request was removed while it was stored");
		if (found < 0 || (!mail->stored && enter_outbox(db, mail, err) < 0))
			return -1;
	}
	return add_key(db, batch, err);
}

static void publish_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;

	if (result < 0 && !batch->job.unsynced)
		abandon_batch(batch, err);
	else
		stage_done(batch, result, err);
}

static int prepare_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;
	int result = 0;

	for (size_t i = batch->step_from; i < batch->step_end && result == 0; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		bool answered = mail->row.answered;

		if (mail->stored)
			continue;
		mail->row.answered = false;
		result = add_rows(db, mail, err);
		mail->row.answered = answered;
	}
	return result;
}

static void prepare_done(void *arg, int result, const struct err *err);

static void prepare_next(struct outbox_batch *batch)
{
	unsigned weight;

	batch->step_end = step_end(batch, batch->step_from, &weight);
	submit_job(batch, prepare_run, prepare_done, true, weight);
}

static void prepare_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;

	batch->step_from = batch->step_end;
	if (result < 0)
		abandon_batch(batch, err);
	else if (batch->step_end < batch->n)
		prepare_next(batch);
	else
		submit_job(batch, publish_run, publish_done, batch->lazy,
			1 + batch->n / PUBLISHED_AN_EMAIL);
}

static void stage_batch(struct outbox_batch *batch)
{
	unsigned weight;

	if (step_end(batch, 0, &weight) == batch->n)
		submit_job(batch, stage_run, stage_done, batch->lazy, weight);
	else
		prepare_next(batch);
}

/* Writes one large message: to a file beside the database, or in chunks to the database that hosts
 * share. Returns true when no more are left. */
static bool write_next_file(struct work *work)
{
	struct outbox_batch *batch = CONTAINER_OF(work, struct outbox_batch, work);
	const struct worker_shared *shared = batch->outbox->shared;
	bool is_shared = *db_host(batch->outbox->db) != '\0';

	while (batch->written < batch->n && batch->result == 0) {
		const struct outbox_mail *mail = &batch->mails[batch->written++];
		const char *id = mail->row.id;

		if (!has_file(mail))
			continue;
		batch->result = is_shared ? store_message_write_chunks(shared->committer, id,
						    &mail->message, &batch->err)
					  : store_message_write(shared->database_path, id,
						    &mail->message, &batch->err);
		return false;
	}
	return true;
}

static void on_batch_written(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, work.done);

	if (batch->result < 0)
		discard_batch(batch);
	else
		stage_batch(batch);
}

void outbox_send(struct outbox *outbox, struct outbox_batch *batch)
{
	enum email_way way = outbox_way(outbox);
	int64_t bytes = 0, emails = 0;
	bool files = false;

	batch->outbox = outbox;
	if (batch->n > OUTBOX_WAITED_MAX)
		batch->wait_ms = 0;
	/* If nobody waits, the commit that stages the emails has all that a repeat is told. */
	batch->idempotency.settled |= batch->wait_ms == 0;
	/* The commit need not be synced if a later one is before the client is told anything:
	 * that of the milter's record, which by SMTP is synced before Postfix answers, or that
	 * of settling. By sendmail(1) the record may be seen before it is synced. A test has
	 * no record, and what is scheduled is answered from this commit. */
	batch->lazy = batch->wait_ms > 0 && way == EMAIL_WAY_SMTP;
	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		mail->row.way = way;
		mail->row.answered = batch->wait_ms == 0 || is_scheduled(mail);
		batch->lazy &= !mail->test && !is_scheduled(mail);
		files |= has_file(mail);
		bytes += is_new(mail) ? (int64_t)mail->message.len : 0;
		emails += is_new(mail);
	}
	if (emails > 0 &&
		outbox_account_enter(outbox, batch->company_id, bytes, emails, &batch->err) < 0) {
		batch->result = -1;
		answer_batch(batch);
		return;
	}
	if (!files) {
		stage_batch(batch);
		return;
	}
	batch->work = (struct work){
		.done = {.run = on_batch_written},
		.tasks = outbox->tasks,
		.company_id = batch->company_id,
		.run = write_next_file,
	};
	work_pool_submit(outbox->shared->pool, &batch->work);
}
