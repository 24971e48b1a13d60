/*
 * outbox: the thread, and the batches of requests.
 *
 *   outbox_send: is there room? ─(pool)─> write_some: large messages become files
 *     ─> stage_run ─(committer)─> on_batch_staged
 *     ─> a parcel for each email ─> outbox_tell, or the wait is over
 *     ─> settle_run ─(committer)─> answer ─(the worker's tasks)─> done
 *   nobody waits: stage_run ─(committer)─> answer, and beside it on_batch_answered_first
 *     ─> a parcel for each email
 *
 * Settling writes what the store does not say by itself: that Postfix has refused an
 * email for good, so that its row goes; that the client learns the id of one before the
 * milter has decided, which has to be durable; and what a repeat of a request with an
 * Idempotency-Key is told. Mostly there is nothing to write.
 *
 * Threads: outbox_send() is the worker's, write_some() the pool's, stage_run() and
 * settle_run() are the committer's, all else is the outbox's. A batch belongs to one of them at a
 * time, but for its references; one that was answered first is its maker's to read, and the
 * outbox changes only its mails' parcels.
 */
#include "httpd/outbox/outbox.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_backlog.h"
#include "core/store/store_message.h"
#include "httpd/admission/counts.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	JANITOR_MS = 20,
	DISK_LOOK_US = 100 * 1000,
	CPU_LOOK_US = 100 * 1000,
	/* Sessions for each core, and at least, that keep them busy. */
	SESSIONS_OF_CORE = 2,
	SESSIONS_LEAST = 4,
	REFUSED_TOLD_US = 30 * 1000 * 1000,
	FULL_PART = 20, /* where less than such a part of it is left, it counts as full */
	/* After the last worker has ended: how long what is on its way has. */
	LAST_ANSWERS_US = 2 * 1000 * 1000,
};

/*
 * The account.
 */

static _Atomic int64_t *of_company(struct outbox_account *account, const char *company_id)
{
	unsigned hash = 0;

	for (const char *p = company_id; *p; p++)
		hash = hash * 31 + (unsigned char)*p;
	return &account->by_company[hash % OUTBOX_COMPANIES];
}

static void account_add(void *arg, const char *company_id, int64_t bytes, int64_t emails)
{
	struct outbox *outbox = arg;

	atomic_fetch_add(&outbox->account.bytes, bytes);
	atomic_fetch_add(&outbox->account.emails, emails);
	atomic_fetch_add(of_company(&outbox->account, company_id), bytes);
}

void outbox_account_join(struct outbox *outbox, const char *company_id, int64_t bytes)
{
	account_add(outbox, company_id, bytes, 1);
}

void outbox_account_leave(struct outbox *outbox, const char *company_id, int64_t bytes)
{
	account_add(outbox, company_id, -bytes, -1);
}

static int check_room(struct outbox *outbox, const char *company_id, int64_t bytes, struct err *err)
{
	switch (store_outbox_room(bytes, atomic_load(of_company(&outbox->account, company_id)),
		atomic_load(&outbox->account.bytes), atomic_load(&outbox->max_bytes),
		atomic_load(&outbox->disk_room))) {
	case OUTBOX_FULL:
		atomic_store(&outbox->refused_us, clock_monotonic_us());
		return err_set(err, ERR_TEMPORARY, "the outbox is full");
	case OUTBOX_DISK_FULL:
		return err_set(err, ERR_TEMPORARY, "the disk of the store is nearly full");
	case OUTBOX_ROOM:
		break;
	}
	return 0;
}

/* What is taken until the next look counts at once. */
static void look_at_disk(struct outbox *outbox)
{
	int64_t now_us = clock_monotonic_us(), free_bytes, room;
	struct statvfs disk;

	if (now_us < outbox->disk_look_us || statvfs(outbox->shared->database_path, &disk) < 0)
		return;
	outbox->disk_look_us = now_us + DISK_LOOK_US;
	free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
	room = free_bytes - outbox->conf->outbox.min_free;
	atomic_store(&outbox->disk_room, room);
	if (room < 0 && !outbox->disk_full)
		log_error(outbox->log, "disk_nearly_full", "free_bytes", LOG_INT(free_bytes),
			"effect", "emails are answered with 503", "hint",
			"make room on the disk of the store, or lower outbox.min_free");
	if (room > 0 && outbox->disk_full)
		log_info(outbox->log, "disk_has_room", "free_bytes", LOG_INT(free_bytes));
	outbox->disk_full = room < 0 || (outbox->disk_full && room == 0);
}

static void look_at_cpu(struct outbox *outbox)
{
	int64_t now_us = clock_monotonic_us(), ran_ns, waited_ns;
	char text[64];
	ssize_t n;

	if (outbox->cpu.fd < 0 || now_us < outbox->cpu.look_us)
		return;
	n = pread(outbox->cpu.fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%" SCNd64 " %" SCNd64, &ran_ns, &waited_ns) != 2)
		return;
	outbox->cpu.look_us = now_us + CPU_LOOK_US;
	outbox->cpu.crowded = waited_ns - outbox->cpu.waited_ns > ran_ns - outbox->cpu.ran_ns;
	outbox->cpu.ran_ns = ran_ns;
	outbox->cpu.waited_ns = waited_ns;
}

/* Each session is some processes of Postfix at work. Where they have the cores busy, more of
 * them take the CPU from those who answer requests: while such come, emails that nobody waits
 * for get no more sessions than keep the cores busy. */
void outbox_set_sessions(struct outbox *outbox)
{
	bool few = outbox->cpu.crowded && TAILQ_EMPTY(&outbox->waiting) &&
		   clock_monotonic_us() - outbox->cpu.staged_us < SECOND_US;

	outbox->inject->busy_max = few ? outbox->cpu.sessions : 0;
}

/*
 * Batches.
 */

struct outbox_batch *outbox_batch_new(size_t n)
{
	struct outbox_batch *batch = mem_new(struct outbox_batch);

	batch->mails = mem_alloc(n, sizeof(*batch->mails));
	batch->n = n;
	batch->refs = 1;
	batch->err = ERR_INIT;
	return batch;
}

void outbox_batch_ref(struct outbox_batch *batch)
{
	atomic_fetch_add(&batch->refs, 1);
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

static bool is_submitted_here(const struct outbox_mail *mail)
{
	return !mail->waits && !mail->test;
}

static int64_t size_of(const struct outbox_batch *batch, size_t *emails_r)
{
	int64_t bytes = 0;

	*emails_r = 0;
	for (size_t i = 0; i < batch->n; i++) {
		if (!is_submitted_here(&batch->mails[i]))
			continue;
		bytes += (int64_t)batch->mails[i].message.len;
		++*emails_r;
	}
	return bytes;
}

/* It goes no further: nobody else can record a test. */
static int stage_one(struct db *db, struct outbox_mail *mail, struct err *err)
{
	const struct email *row = &mail->row;
	int added;

	if (store_email_stage(db, row, err) < 0)
		return -1;
	if (mail->test)
		return store_email_record(db, row->ticket, "", row->created_us, err) < 0 ? -1 : 0;
	if (store_message_keep(db, row->id, &mail->message, err) < 0)
		return -1;
	added = store_outbox_add(db, row->id, (int64_t)mail->message.len, row->scheduled_us, err);
	mail->paused = added > 0;
	return added < 0 ? -1 : 0;
}

static int stage_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox_batch *batch = arg;

	for (size_t i = 0; i < batch->n; i++)
		if (!batch->mails[i].waits && stage_one(db, &batch->mails[i], err) < 0)
			return -1;
	if (!batch->has_key || batch->is_repeat)
		return 0;
	return store_idempotency_add(db, &batch->key, &batch->kept, err);
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

/* Nothing of it is kept. On any thread. */
static void give_back(struct outbox_batch *batch)
{
	struct outbox *outbox = batch->outbox;

	for (size_t i = 0; i < batch->n; i++) {
		const struct outbox_mail *mail = &batch->mails[i];

		if (!is_submitted_here(mail))
			continue;
		outbox_account_leave(outbox, batch->company_id, (int64_t)mail->message.len);
		if (mail->message.len > MESSAGE_FILE_BYTES)
			store_message_discard(outbox->shared->database_path, mail->row.id);
	}
}

static void on_batch_staged(struct task *task);
static void on_batch_answered_first(struct task *task);

/* What is known when it is staged. */
static void set_outcomes(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		batch->mails[i].outcome = batch->mails[i].test ? OUTBOX_SENT : OUTBOX_ACCEPTED;
}

/* Nobody waits for the outbox's thread: the commit was all that was to be written. */
static void answer_first(struct outbox_batch *batch)
{
	struct outbox *outbox = batch->outbox;

	outbox_batch_ref(batch);
	atomic_fetch_add(&outbox->to_begin, 1);
	batch->answered = true;
	batch->begin.run = on_batch_answered_first;
	task_queue_post(outbox->tasks, &batch->begin);
	answer(batch);
}

/* On the committer's thread. */
static void stage_done(void *arg, int result, const struct err *err)
{
	struct outbox_batch *batch = arg;

	batch->result = result < 0 ? -1 : 0;
	if (result < 0) {
		batch->err = *err;
		give_back(batch);
		answer(batch);
		return;
	}
	set_outcomes(batch);
	if (batch->wait_ms == 0) {
		answer_first(batch);
		return;
	}
	batch->task.run = on_batch_staged;
	task_queue_post(batch->outbox->tasks, &batch->task);
}

/* By SMTP the milter's record, which is durable before Postfix answers, makes so what
 * was committed before; or the commit that settles the batch does. By sendmail(1) the
 * record may be seen here before it is on the disk. A test has neither. */
static bool may_be_lazy(const struct outbox_batch *batch)
{
	if (batch->wait_ms == 0 || outbox_way(batch->outbox) != EMAIL_WAY_SMTP)
		return false;
	for (size_t i = 0; i < batch->n; i++)
		if (batch->mails[i].test || is_scheduled(&batch->mails[i]))
			return false;
	return true;
}

/* Those that are not waited for have their answer in this commit. */
static void prepare(struct outbox *outbox, struct outbox_batch *batch)
{
	enum email_way way = outbox_way(outbox);

	batch->outbox = outbox;
	if (batch->n > OUTBOX_WAITED_MAX)
		batch->wait_ms = 0;
	batch->lazy = may_be_lazy(batch);
	for (size_t i = 0; i < batch->n; i++) {
		batch->mails[i].row.way = way;
		batch->mails[i].row.answered = batch->wait_ms == 0 ||
					       is_scheduled(&batch->mails[i]);
	}
	batch->kept.settled |= batch->wait_ms == 0;
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

/* One large message becomes a file; true when none is left. */
static bool write_some(struct work *work)
{
	struct outbox_batch *batch = CONTAINER_OF(work, struct outbox_batch, work);

	while (batch->written < batch->n && batch->result == 0) {
		const struct outbox_mail *mail = &batch->mails[batch->written++];

		if (!is_submitted_here(mail) || mail->message.len <= MESSAGE_FILE_BYTES)
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

	if (batch->result < 0) {
		give_back(batch);
		answer(batch);
	} else {
		stage(batch);
	}
}

static bool has_large(const struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		if (is_submitted_here(&batch->mails[i]) &&
			batch->mails[i].message.len > MESSAGE_FILE_BYTES)
			return true;
	return false;
}

void outbox_send(struct outbox *outbox, struct outbox_batch *batch)
{
	size_t emails;
	int64_t bytes = size_of(batch, &emails);

	prepare(outbox, batch);
	if (emails > 0 && check_room(outbox, batch->company_id, bytes, &batch->err) < 0) {
		batch->result = -1;
		answer(batch);
		return;
	}
	account_add(outbox, batch->company_id, bytes, (int64_t)emails);
	atomic_fetch_sub(&outbox->disk_room, OUTBOX_DISK_FACTOR * bytes);
	if (!has_large(batch)) {
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

/*
 * From here on, the outbox's thread.
 */

static size_t count_mails(const struct outbox_batch *batch, enum outbox_outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < batch->n; i++)
		n += batch->mails[i].outcome == outcome;
	return n;
}

/* Problems may quote what a client sent; results stand in lines. */
static char *refusal_line(const char *text)
{
	char *line = mem_printf("!%s", text);

	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return line;
}

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
		const char *why = NULL;

		if (mail->outcome == OUTBOX_REJECTED)
			why = mail->err.text;
		else if (mail->outcome == OUTBOX_REFUSED)
			why = mail->refusal;
		if (why == NULL)
			continue;
		free(kept.results.items[mail->place]);
		kept.results.items[mail->place] = refusal_line(why);
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

		if (mail->outcome == OUTBOX_REJECTED)
			result = store_email_retract(db, mail->row.ticket, err);
		else if (mail->outcome == OUTBOX_ACCEPTED && !mail->row.answered)
			result = store_email_answered(db, mail->row.id, err);
		if (result < 0)
			return -1;
	}
	return batch->has_key ? settle_key(db, batch, err) : 0;
}

/* What Postfix has refused is taken back. */
static void leave_rejected(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		if (mail->outcome != OUTBOX_REJECTED || !is_submitted_here(mail))
			continue;
		outbox_account_leave(batch->outbox, batch->company_id, (int64_t)mail->message.len);
		if (mail->message.len > MESSAGE_FILE_BYTES)
			store_message_discard(batch->outbox->shared->database_path, mail->row.id);
	}
}

/* Nothing was written. Of what is not durable the client is told to send it again, and
 * it does not go out by itself; but what has an Idempotency-Key does, since a repeat
 * finds it. */
static void leave_unsettled(struct outbox_batch *batch)
{
	struct journal *journal = batch->outbox->journal;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];
		struct outbox_row row = {.size = (int64_t)mail->message.len};

		memcpy(row.id, mail->row.id, ID_SIZE);
		memcpy(row.company_id, batch->company_id, ID_SIZE);
		if (mail->outcome == OUTBOX_REJECTED)
			journal_fail(journal, &row, mail->err.text);
		if (mail->outcome != OUTBOX_ACCEPTED || mail->row.answered)
			continue;
		mail->outcome = OUTBOX_UNKEPT;
		mail->err = batch->err;
		if (!batch->has_key)
			journal_cancel(journal, &row);
	}
}

static void on_batch_settled(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);

	if (batch->err.code == ERR_NONE)
		leave_rejected(batch);
	else
		leave_unsettled(batch);
	answer(batch);
}

/* On the committer's thread. */
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

/* Whether an email was accepted by now alone. */
static bool has_untold(const struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		if (batch->mails[i].outcome == OUTBOX_ACCEPTED && !batch->mails[i].row.answered)
			return true;
	return false;
}

static void settle(struct outbox_batch *batch)
{
	struct outbox *outbox = batch->outbox;
	/* What is neither sent nor to be waited for, the key has to tell. */
	bool key_news = batch->has_key && !batch->kept.settled &&
			count_mails(batch, OUTBOX_REFUSED) + count_mails(batch, OUTBOX_ACCEPTED) >
				0;
	bool news = count_mails(batch, OUTBOX_REJECTED) > 0 || has_untold(batch) || key_news;

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

/* What has no outcome yet is accepted. */
static void end_wait(struct outbox_batch *batch)
{
	batch->left++; /* this loop */
	for (size_t i = 0; i < batch->n; i++) {
		struct parcel *parcel = batch->mails[i].parcel;

		if (parcel && parcel->awaited)
			outbox_tell(parcel, OUTBOX_ACCEPTED);
	}
	if (--batch->left == 0)
		settle(batch);
}

static void on_wait_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end_wait(arg);
}

static bool has_utf8_recipient(const struct email *row)
{
	for (size_t i = 0; i < row->recipients.n; i++)
		if (!str_is_ascii(row->recipients.items[i].address))
			return true;
	return false;
}

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
	parcel->row.utf8 = has_utf8_recipient(&mail->row);
	parcel->awaited = batch->wait_ms > 0;
	mail->parcel = parcel;
	outbox_batch_ref(batch);
	batch->outbox->parcels++;
	return parcel;
}

static void begin_wait(struct outbox_batch *batch)
{
	const struct timeval wait = {
		.tv_sec = batch->wait_ms / 1000, .tv_usec = batch->wait_ms % 1000 * 1000};

	batch->timer = event_new(batch->outbox->base, -1, 0, on_wait_over, batch);
	event_add(batch->timer, &wait);
	TAILQ_INSERT_TAIL(&batch->outbox->waiting, batch, link);
}

/* A parcel for each email that is in hand, or waited for: how many. */
static size_t make_parcels(struct outbox_batch *batch)
{
	size_t n = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct outbox_mail *mail = &batch->mails[i];

		if (is_scheduled(mail))
			feeder_hint(batch->outbox->feeder, mail->row.scheduled_us);
		if (mail->test || is_scheduled(mail) || mail->paused ||
			(mail->waits && batch->wait_ms == 0))
			continue;
		parcel_of(batch, mail);
		n++;
	}
	return n;
}

static void begin_parcels(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct parcel *parcel = batch->mails[i].parcel;

		if (parcel == NULL)
			continue;
		if (batch->mails[i].waits)
			dispatcher_wait(parcel);
		else
			dispatcher_begin(parcel);
	}
}

/* Its maker has what it may read of it meanwhile. */
static void on_batch_answered_first(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, begin);
	struct outbox *outbox = batch->outbox;

	outbox->cpu.staged_us = clock_monotonic_us();
	make_parcels(batch);
	begin_parcels(batch);
	outbox_batch_release(batch);
	atomic_fetch_sub(&outbox->to_begin, 1);
}

/* The batch may be answered, and gone, before the last parcel has begun: a reference
 * is held meanwhile. */
static void on_batch_staged(struct task *task)
{
	struct outbox_batch *batch = CONTAINER_OF(task, struct outbox_batch, task);

	outbox_batch_ref(batch);
	batch->left = 1; /* this function */
	batch->left += make_parcels(batch);
	begin_wait(batch);
	begin_parcels(batch);
	if (--batch->left == 0)
		settle(batch);
	if (!batch->answered && batch->outbox->cut_short)
		end_wait(batch);
	outbox_batch_release(batch);
}

/*
 * The thread.
 */

static void on_outbox_reload(struct task *task)
{
	struct outbox *outbox = CONTAINER_OF(task, struct outbox, reload);
	struct conf *fresh = atomic_exchange(&outbox->fresh, NULL);
	_cleanup_buf_ struct buf restart = BUF_INIT;

	if (fresh == NULL)
		return;
	conf_reload(outbox->conf, fresh, &restart);
	atomic_store(&outbox->max_bytes, outbox->conf->outbox.max_bytes);
	outbox->disk_look_us = 0;
	conf_free(fresh);
}

void outbox_reload(struct outbox *outbox, struct conf *conf)
{
	struct conf *before = atomic_exchange(&outbox->fresh, conf);

	/* One that was not looked at yet has its task under way. */
	if (before)
		conf_free(before);
	else
		task_queue_post(outbox->tasks, &outbox->reload);
}

/* What is on its way has a moment to end; then it ends as it stands. */
static void stop_further(struct outbox *outbox)
{
	int64_t now_us = clock_monotonic_us();

	if (outbox->stopping_us == 0)
		outbox->stopping_us = now_us;
	if (outbox->parcels > 0 && !outbox->inject->stopping &&
		now_us - outbox->stopping_us > LAST_ANSWERS_US) {
		inject_stop(outbox->inject);
		record_watch_stop(outbox->watch);
	}
	if (outbox->parcels == 0 && outbox->to_begin == 0 && feeder_is_idle(outbox->feeder) &&
		(journal_is_empty(outbox->journal) ||
			now_us - outbox->stopping_us > 2 * LAST_ANSWERS_US))
		event_base_loopbreak(outbox->base);
}

static void on_outbox_janitor(evutil_socket_t fd, short what, void *arg)
{
	struct outbox *outbox = arg;
	struct outbox_batch *batch;

	(void)fd;
	(void)what;
	look_at_disk(outbox);
	look_at_cpu(outbox);
	outbox_set_sessions(outbox);
	journal_look(outbox->journal);
	if (!outbox->stopping)
		feeder_look(outbox->feeder);
	while (outbox->cut_short && (batch = TAILQ_FIRST(&outbox->waiting)) != NULL)
		end_wait(batch);
	if (outbox->stopping)
		stop_further(outbox);
}

static void *thread_main(void *arg)
{
	struct outbox *outbox = arg;

	outbox->cpu.fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	event_base_dispatch(outbox->base);
	return NULL;
}

static int reopen_run(struct db *db, void *arg, struct err *err)
{
	const struct outbox *outbox = arg;

	if (store_break_close(db, clock_now_us(outbox->shared->clock), err) < 0)
		return -1;
	return store_outbox_reopen(db, err);
}

/* What another process had in hand is looked at again. No worker has begun yet. */
static int take_over(struct outbox *outbox, struct err *err)
{
	int found = committer_run(outbox->shared->committer, reopen_run, outbox, err);

	if (found < 0 || store_outbox_sizes(outbox->db, account_add, outbox, err) < 0)
		return -1;
	if (outbox->account.emails > 0)
		log_info(outbox->log, "outbox_opened", "emails",
			LOG_INT(atomic_load(&outbox->account.emails)), "bytes",
			LOG_INT(atomic_load(&outbox->account.bytes)));
	return 0;
}

int outbox_new(const struct worker_shared *shared, struct conf *conf,
	void (*recorded)(struct probe_report *report), struct outbox **outbox_r, struct err *err)
{
	const struct timeval every = {.tv_usec = JANITOR_MS * 1000};
	struct outbox *outbox = mem_new(struct outbox);

	outbox->shared = shared;
	outbox->log = shared->log;
	outbox->conf = conf;
	outbox->recorded = recorded;
	outbox->max_bytes = conf->outbox.max_bytes;
	outbox->counts = counts_new(shared->routes);
	outbox->cpu.fd = -1;
	outbox->cpu.sessions = SESSIONS_OF_CORE * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (outbox->cpu.sessions < SESSIONS_LEAST)
		outbox->cpu.sessions = SESSIONS_LEAST;
	outbox->reload.run = on_outbox_reload;
	TAILQ_INIT(&outbox->waiting);
	breaker_init(&outbox->breaker);
	outbox->base = event_base_new();
	outbox->journal = journal_new(outbox);
	outbox->feeder = feeder_new(outbox);
	outbox->tasks = task_queue_new(outbox->base);
	if (outbox->tasks == NULL ||
		db_open(shared->database_path, DB_READ, &outbox->db, err) < 0) {
		if (outbox->tasks == NULL)
			err_set(err, ERR_TEMPORARY, "no descriptors left");
		outbox_free(outbox);
		return -1;
	}
	look_at_disk(outbox);
	if (take_over(outbox, err) < 0) {
		outbox_free(outbox);
		return -1;
	}
	outbox->inject = inject_new(outbox->base, outbox->conf);
	outbox->watch = record_watch_new(outbox->base, outbox->db, outbox->log);
	outbox->janitor = event_new(outbox->base, -1, EV_PERSIST, on_outbox_janitor, outbox);
	event_add(outbox->janitor, &every);
	*outbox_r = outbox;
	return 0;
}

int outbox_start(struct outbox *outbox, struct err *err)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&outbox->thread, NULL, thread_main, outbox);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s", strerror(failed));
	outbox->running = true;
	return 0;
}

void outbox_cut_short(struct outbox *outbox)
{
	outbox->cut_short = true;
}

void outbox_stop(struct outbox *outbox)
{
	if (outbox == NULL || !outbox->running)
		return;
	outbox->cut_short = true;
	outbox->stopping = true;
	pthread_join(outbox->thread, NULL);
	outbox->running = false;
}

void outbox_free(struct outbox *outbox)
{
	if (outbox == NULL)
		return;
	task_queue_free(outbox->tasks);
	feeder_free(outbox->feeder);
	journal_free(outbox->journal);
	inject_free(outbox->inject);
	record_watch_free(outbox->watch);
	if (outbox->janitor)
		event_free(outbox->janitor);
	db_close(outbox->db);
	event_base_free(outbox->base);
	if (outbox->cpu.fd >= 0)
		close(outbox->cpu.fd);
	breaker_destroy(&outbox->breaker);
	in_hand_clear(&outbox->in_hand);
	conf_free(atomic_load(&outbox->fresh));
	conf_free(outbox->conf);
	free(outbox->counts);
	free(outbox);
}

const struct worker_counts *outbox_counts(const struct outbox *outbox)
{
	return outbox->counts;
}

void outbox_state_get(struct outbox *outbox, struct outbox_state *state_r)
{
	int64_t max = atomic_load(&outbox->max_bytes);
	int64_t refused_us = atomic_load(&outbox->refused_us);

	state_r->emails = atomic_load(&outbox->account.emails);
	state_r->bytes = atomic_load(&outbox->account.bytes);
	state_r->in_hand = in_hand_emails(&outbox->in_hand);
	state_r->disk_full = atomic_load(&outbox->disk_full);
	state_r->full = state_r->bytes > max - max / FULL_PART;
	state_r->crowded = refused_us && clock_monotonic_us() - refused_us < REFUSED_TOLD_US;
	breaker_state_get(&outbox->breaker, &state_r->breaker);
}
