/*
 * batch: the emails of one request, from the commit that stages them to the answer.
 *
 *   outbox_send: is there room? ─(pool)─> write_some: large messages become files
 *     ─> stage ─> stage_run ─(committer)─> on_batch_staged: a parcel for each email, which is
 *     the dispatcher's ─> outbox_tell for each, or the wait is over
 *     ─> settle ─> settle_run ─(committer)─> on_batch_settled ─> answer
 *     ─(the worker's tasks)─> done
 *
 * Nobody waits: the answer goes out when it is staged, beside on_batch_staged.
 *
 * Settling writes what the store does not say by itself: that Postfix has refused an
 * email for good, so that its row goes; that the client learns the id of one before the
 * milter has decided, which has to be durable; and what a repeat of a request with an
 * Idempotency-Key is told. Mostly there is nothing to write.
 *
 * Threads: outbox_send() is the worker's, write_some() the pool's, *_run() and *_done() are
 * the committer's, all else is the outbox's. A batch belongs to one of them at a time, but
 * for its references; one that was answered first is its maker's to read, and the outbox
 * changes only its mails' parcels.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_later_refusal.h"
#include "core/store/store_message.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

struct outbox_batch *outbox_batch_new(size_t n)
{
	struct outbox_batch *batch = mem_new(struct outbox_batch);

	batch->mails = mem_alloc(n, sizeof(*batch->mails));
	batch->n = n;
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
	store_idempotency_clear(&batch->kept);
	budget_give_back(&batch->share);
	free(batch);
}

static bool is_scheduled(const struct outbox_mail *mail)
{
	return mail->row.scheduled_us > 0;
}

/* It comes to the outbox with this batch. */
static bool is_new(const struct outbox_mail *mail)
{
	return !mail->waits && !mail->test;
}

static bool has_file(const struct outbox_mail *mail)
{
	return is_new(mail) && mail->message.len > MESSAGE_FILE_BYTES;
}

/* The email is not in the outbox, or no more. On any thread. */
static void leave(const struct outbox_batch *batch, const struct outbox_mail *mail)
{
	struct outbox *outbox = batch->outbox;

	if (is_new(mail))
		outbox_account_leave(outbox, batch->company_id, (int64_t)mail->message.len);
	if (has_file(mail))
		store_message_discard(outbox->shared->database_path, mail->row.id);
}

static void on_batch_answered(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);

	batch->done(batch);
}

/* On any thread: hands the batch back to its maker. */
static void answer(struct outbox_batch *batch)
{
	struct task_queue *tasks = batch->tasks;

	batch->task.run = on_batch_answered;
	task_queue_post(tasks, &batch->task);
}

/* On any thread: nothing of it is kept. */
static void give_back(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		leave(batch, &batch->mails[i]);
	answer(batch);
}

/*
 * It is settled, and answered.
 */

/* What a repeat is told of the whole request. */
static int settle_key(struct db *db, const struct outbox_batch *batch, struct err *err)
{
	struct idempotency kept = {.settled = true};
	bool any = false;
	int result;

	for (size_t i = 0; i < batch->kept.results.n; i++)
		strv_add(&kept.results, batch->kept.results.items[i]);
	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];
		char **told = &kept.results.items[mail->place];
		const char *why = mail->outcome == OUTBOX_REJECTED  ? mail->err.text
				  : mail->outcome == OUTBOX_REFUSED ? mail->refusal
								    : NULL;

		if (why == NULL)
			continue;
		free(*told);
		*told = store_idempotency_refusal(why);
	}
	for (size_t i = 0; i < kept.results.n; i++)
		any |= kept.results.items[i][0] != '!';
	/* A request of which nothing was sent may come again. */
	result = any ? store_idempotency_settle(db, &batch->key, &kept, err)
		     : store_idempotency_remove(db, &batch->key, err);
	strv_free(&kept.results);
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

/* What Postfix has refused has left. Where nothing could be written: of what is not durable
 * the client is told to send it again, and it does not go out by itself; but what has an
 * Idempotency-Key does, since a repeat finds it. */
static void on_batch_settled(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);
	struct journal *journal = batch->outbox->journal;
	bool written = batch->err.code == ERR_NONE;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		struct outbox_row row = {.size = (int64_t)mail->message.len};

		memcpy(row.id, mail->row.id, ID_SIZE);
		memcpy(row.company_id, batch->company_id, ID_SIZE);
		if (mail->outcome == OUTBOX_REJECTED && written) {
			leave(batch, mail);
		} else if (mail->outcome == OUTBOX_REJECTED) {
			journal_fail(journal, &row, mail->err.text);
		} else if (mail->outcome == OUTBOX_ACCEPTED && !mail->row.answered && !written) {
			mail->outcome = OUTBOX_UNKEPT;
			mail->err = batch->err;
			if (!batch->has_key)
				journal_cancel(journal, &row);
		}
	}
	answer(batch);
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

/* All emails have an outcome. */
static void settle(struct outbox_batch *batch)
{
	struct outbox *outbox = batch->outbox;
	/* What is neither sent nor to be waited for, the key has to tell. */
	bool key_tells = batch->has_key && !batch->kept.settled, news = false;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];

		news |= mail->outcome == OUTBOX_REJECTED ||
			(mail->outcome == OUTBOX_REFUSED && key_tells) ||
			(mail->outcome == OUTBOX_ACCEPTED && (key_tells || !mail->row.answered));
	}
	batch->answered = true;
	if (batch->timer) {
		event_free(batch->timer);
		batch->timer = NULL;
		TAILQ_REMOVE(&outbox->waiting, batch, link);
	}
	if (!news) {
		answer(batch);
		return;
	}
	batch->job = (struct commit_job){
		.run = settle_run,
		.done = settle_done,
		.arg = batch,
	};
	committer_submit(outbox->shared->committer, &batch->job);
}

void outbox_tell(struct parcel *parcel, enum outbox_outcome outcome)
{
	struct outbox_batch *batch = parcel->batch;

	if (!parcel->awaited)
		return;
	parcel->awaited = false;
	parcel->mail->outcome = outcome;
	if (--batch->left == 0)
		settle(batch);
}

void outbox_end_wait(struct outbox_batch *batch)
{
	batch->left++; /* this loop */
	for (size_t i = 0; i < batch->n; i++)
		if (batch->mails[i].parcel)
			outbox_tell(batch->mails[i].parcel, OUTBOX_ACCEPTED);
	if (--batch->left == 0)
		settle(batch);
}

static void on_wait_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	outbox_end_wait(arg);
}

/*
 * It is staged.
 */

static struct parcel *parcel_of(struct outbox_batch *batch, struct outbox_mail *mail)
{
	struct parcel *parcel = mem_new(struct parcel);

	parcel->outbox = batch->outbox;
	parcel->batch = batch;
	parcel->mail = mail;
	memcpy(parcel->row.id, mail->row.id, ID_SIZE);
	memcpy(parcel->row.company_id, batch->company_id, ID_SIZE);
	memcpy(parcel->row.ticket, mail->row.ticket, sizeof(parcel->row.ticket));
	parcel->row.sender = mem_strdup(mail->row.sender);
	parcel->row.size = (int64_t)mail->message.len;
	for (size_t i = 0; i < mail->row.recipients.n; i++)
		parcel->row.utf8 |= !str_is_ascii(mail->row.recipients.items[i].address);
	parcel->awaited = batch->wait_ms > 0;
	mail->parcel = parcel;
	atomic_fetch_add(&batch->refs, 1);
	batch->outbox->parcels++;
	return parcel;
}

/* Others may see the emails, in hand of nobody. The client is told to come again: with an
 * Idempotency-Key the emails go out by the store, since a repeat finds them; without one they
 * are canceled, since other ones will come. */
static void on_batch_unsynced(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, staged);
	struct journal *journal = batch->outbox->journal;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];
		struct outbox_row row = {.size = (int64_t)mail->message.len};

		if (!is_new(mail))
			continue;
		memcpy(row.id, mail->row.id, ID_SIZE);
		memcpy(row.company_id, batch->company_id, ID_SIZE);
		if (!batch->has_key)
			journal_cancel(journal, &row);
		journal_give_back(journal, &row, 0, NULL);
	}
	answer(batch);
}

/* What is due goes to the dispatcher, and what an earlier request has brought is waited for.
 * Where somebody waits, the timer runs first: each email may have its outcome at once. */
static void on_batch_staged(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, staged);
	struct outbox *outbox = batch->outbox;
	bool awaited = batch->wait_ms > 0;

	batch->left = 1; /* this function */
	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		if (is_scheduled(mail))
			feeder_hint(outbox->feeder, mail->row.scheduled_us);
		else if (!mail->test && !mail->paused && (awaited || !mail->waits))
			batch->left += parcel_of(batch, mail)->awaited;
	}
	if (awaited) {
		const struct timeval wait = {
			.tv_sec = batch->wait_ms / 1000, .tv_usec = batch->wait_ms % 1000 * 1000};

		batch->timer = event_new(outbox->base, -1, 0, on_wait_over, batch);
		event_add(batch->timer, &wait);
		TAILQ_INSERT_TAIL(&outbox->waiting, batch, link);
	} else {
		outbox->cpu.staged_us = clock_monotonic_us();
	}
	for (size_t i = 0; i < batch->n; i++) {
		struct parcel *parcel = batch->mails[i].parcel;

		if (parcel && batch->mails[i].waits)
			dispatcher_wait(parcel);
		else if (parcel)
			dispatcher_begin(parcel);
	}
	if (--batch->left == 0 && awaited)
		settle(batch);
	if (!batch->answered && outbox->cut_short)
		outbox_end_wait(batch);
	outbox_batch_release(batch);
	atomic_fetch_sub(&outbox->to_begin, 1);
}

/* A test goes no further: nobody else can record it. */
static int stage_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		const struct email *row = &mail->row;
		int added = 0;

		if (mail->waits)
			continue;
		if (store_email_stage(db, row, err) < 0)
			return -1;
		if (mail->test)
			added = store_email_record(db, row->ticket, "", row->created_us, err);
		else if (store_message_keep(db, row->id, &mail->message, err) < 0)
			added = -1;
		else
			added = store_outbox_add(
				db, row->id, (int64_t)mail->message.len, row->scheduled_us, err);
		if (added < 0)
			return -1;
		mail->paused = !mail->test && added > 0;
	}
	if (!batch->has_key || batch->is_repeat)
		return 0;
	return store_idempotency_add(db, &batch->key, &batch->kept, err);
}

/* Where nobody waits for the outbox's thread, the commit was all that was to be written. */
static void stage_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;
	struct outbox *outbox = batch->outbox;

	batch->result = result < 0 ? -1 : 0;
	if (result < 0) {
		batch->err = *err;
		batch->staged.run = on_batch_unsynced;
		if (batch->job.unsynced)
			task_queue_post(outbox->tasks, &batch->staged);
		else
			give_back(batch);
		return;
	}
	for (size_t i = 0; i < batch->n; i++)
		batch->mails[i].outcome = batch->mails[i].test ? OUTBOX_SENT : OUTBOX_ACCEPTED;
	batch->answered = batch->wait_ms == 0;
	/* It may be answered, and its maker be done with it, before the last parcel has begun. */
	atomic_fetch_add(&batch->refs, 1);
	atomic_fetch_add(&outbox->to_begin, 1);
	batch->staged.run = on_batch_staged;
	if (batch->answered)
		answer(batch);
	task_queue_post(outbox->tasks, &batch->staged);
}

static void stage(struct outbox_batch *batch)
{
	batch->job = (struct commit_job){
		.run = stage_run,
		.done = stage_done,
		.arg = batch,
		.lazy = batch->lazy,
	};
	committer_submit(batch->outbox->shared->committer, &batch->job);
}

/*
 * It comes.
 */

/* One large message becomes a file; true when none is left. */
static bool write_some(struct work *work)
{
	struct outbox_batch *batch = CONTAINER_OF(work, struct outbox_batch, work);

	while (batch->written < batch->n && batch->result == 0) {
		const struct outbox_mail *mail = &batch->mails[batch->written++];

		if (!has_file(mail))
			continue;
		batch->result = store_message_write(batch->outbox->shared->database_path,
			mail->row.id, &mail->message, &batch->err);
		return false;
	}
	return true;
}

static void on_batch_written(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, work.done);

	if (batch->result < 0)
		give_back(batch);
	else
		stage(batch);
}

void outbox_send(struct outbox *outbox, struct outbox_batch *batch)
{
	enum email_way way = outbox_way(outbox);
	int64_t bytes = 0, emails = 0;
	bool files = false;

	batch->outbox = outbox;
	if (batch->n > OUTBOX_WAITED_MAX)
		batch->wait_ms = 0;
	/* Those that are not waited for have their answer in the commit that stages them. */
	batch->kept.settled |= batch->wait_ms == 0;
	/* By SMTP the milter's record, which is durable before Postfix answers, makes so what
	 * was committed before; or the commit that settles the batch does. By sendmail(1) the
	 * record may be seen here before it is on the disk. A test has neither. */
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
		answer(batch);
		return;
	}
	if (!files) {
		stage(batch);
		return;
	}
	batch->work = (struct work){
		.done = {.run = on_batch_written},
		.tasks = outbox->tasks,
		.company_id = batch->company_id,
		.run = write_some,
	};
	work_pool_submit(outbox->shared->pool, &batch->work);
}
