/*
 * outbox: how full the outbox is, what it observes of disk and CPU, its thread, start and stop.
 *
 * Threads: any may call outbox_account_enter(), _join() and _leave(); the rest is the outbox's
 * unless the header says otherwise.
 */
#include "httpd/outbox/outbox.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/thread.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/db/db_watch.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_backlog.h"
#include "httpd/admission/counts.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

enum {
	JANITOR_MS = 20,
	DISK_LOOK_US = 100 * 1000,
	CPU_LOOK_US = 100 * 1000,
	/* Sessions that keep the cores busy: for each core, and at least in total. */
	SESSIONS_OF_CORE = 2,
	SESSIONS_LEAST = 4,
	/* For this time after emails of several companies, each company has a share of the
	   sessions. */
	SEVERAL_US = 10 * 1000 * 1000,
	REFUSED_TOLD_US = 30 * 1000 * 1000,
	FULL_PART = 20, /* the outbox counts as full if less than a 20th of its bytes is free */
	/* The time for attempts to end after the last worker has ended. */
	LAST_ANSWERS_US = 2 * 1000 * 1000,
};

static const struct timeval janitor_every = {.tv_usec = JANITOR_MS * 1000};

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

int outbox_account_again(struct outbox *outbox, struct db *db, struct err *err)
{
	atomic_store(&outbox->account.bytes, 0);
	atomic_store(&outbox->account.emails, 0);
	for (size_t i = 0; i < OUTBOX_COMPANIES; i++)
		atomic_store(&outbox->account.by_company[i], 0);
	return store_outbox_sizes(db, account_add, outbox, err);
}

int outbox_account_enter(struct outbox *outbox, const char *company_id, int64_t bytes,
	int64_t emails, struct err *err)
{
	switch (store_outbox_room(bytes, atomic_load(of_company(&outbox->account, company_id)),
		atomic_load(&outbox->account.bytes), atomic_load(&outbox->max_bytes),
		atomic_load(&outbox->disk_room))) {
	case OUTBOX_FULL:
		atomic_store(&outbox->refused_us, clock_monotonic_us());
		return err_set(err, ERR_TEMPORARY, "the outbox is full");
	case OUTBOX_DISK_FULL:
		return err_set(err, ERR_TEMPORARY, "the disk of the store is nearly full");
	case OUTBOX_SHARE_FULL:
		atomic_store(&outbox->refused_us, clock_monotonic_us());
		return err_set(err, ERR_SHARE, OUTBOX_SHARE_WORDS);
	case OUTBOX_ROOM:
		break;
	}
	account_add(outbox, company_id, bytes, emails);
	/* An estimate until the disk is checked again. */
	atomic_fetch_sub(&outbox->disk_room, OUTBOX_DISK_FACTOR * bytes);
	return 0;
}

static int64_t free_bytes_of(const struct statvfs *disk)
{
	return (int64_t)disk->f_bavail * (int64_t)disk->f_frsize;
}

/* The folder of large messages may be on a disk of its own. */
static void look_at_disk(struct outbox *outbox)
{
	const char *database = outbox->shared->database_path;
	int64_t now_us = clock_monotonic_us(), free_bytes, room;
	struct statvfs disk, of_files;

	if (now_us < outbox->disk_look_us || db_file_volume_of(database, &disk) < 0 ||
		store_message_volume(database, &of_files) < 0)
		return;
	outbox->disk_look_us = now_us + DISK_LOOK_US;
	/* Several hosts have messages in the database alone. Some file systems do not count
	 * inodes. */
	if (*db_host(outbox->db) != '\0')
		of_files = disk;
	else
		atomic_store(&outbox->no_inodes, of_files.f_files > 0 && of_files.f_favail == 0);
	free_bytes = free_bytes_of(&disk);
	if (free_bytes_of(&of_files) < free_bytes)
		free_bytes = free_bytes_of(&of_files);
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

/* Each session keeps some processes of Postfix at work. More of them than the cores can run take
 * the CPU from the threads that answer requests. So while requests arrive that do not wait, and
 * this thread gets too little CPU, Postfix gets only as many sessions as keep the cores busy. And
 * where several companies send, an email of one competes for the CPU with all sessions of another:
 * then a company gets no more of them than that. One that sends alone has all. */
void outbox_set_sessions(struct outbox *outbox)
{
	int64_t now_us = clock_monotonic_us();
	bool shared = outbox->cpu.crowded && outbox->cpu.several_us &&
		      now_us - outbox->cpu.several_us < SEVERAL_US;
	bool few = outbox->cpu.crowded && TAILQ_EMPTY(&outbox->waiting) &&
		   now_us - outbox->cpu.staged_us < SECOND_US;

	outbox->inject->busy_max = few ? outbox->cpu.sessions : 0;
	outbox->inject->company_max = shared ? outbox->cpu.sessions : 0;
}

void outbox_note_company(struct outbox *outbox, const char *company_id)
{
	if (str_eq(outbox->cpu.company_id, company_id))
		return;
	if (outbox->cpu.company_id[0])
		outbox->cpu.several_us = clock_monotonic_us();
	snprintf(outbox->cpu.company_id, sizeof(outbox->cpu.company_id), "%s", company_id);
}

struct db *outbox_reads(struct outbox *outbox, struct err *err)
{
	struct db_watch *server = outbox->shared->server;

	return server && db_watch_look(server, err) != 0 ? NULL : outbox->db;
}

void outbox_withhold(struct outbox *outbox, bool withheld)
{
	if (atomic_exchange(&outbox->withheld, withheld) == withheld)
		return;
	if (withheld)
		log_error(outbox->log, "submission_withheld", "cause", OUTBOX_WITHHELD_WORDS,
			"effect", "emails wait in the outbox", "hint", "run postern setup");
	else
		log_info(outbox->log, "submission_allowed", "waiting",
			LOG_INT(atomic_load(&outbox->account.emails)));
}

/*
 * The thread.
 */

static void set_in_hand_limits(struct outbox *outbox)
{
	in_hand_set_limits(&outbox->in_hand, outbox->conf->submission.max_pending,
		outbox->conf->http.max_inflight_bytes);
}

static void on_outbox_reload(struct task *task)
{
	struct outbox *outbox = CONTAINER_OF(task, struct outbox, reload);
	struct conf *fresh = atomic_exchange(&outbox->fresh, NULL);
	_cleanup_buf_ struct buf restart = BUF_INIT;

	if (fresh == NULL)
		return;
	conf_reload(outbox->conf, fresh, &restart);
	atomic_store(&outbox->max_bytes, outbox->conf->outbox.max_bytes);
	set_in_hand_limits(outbox);
	outbox->disk_look_us = 0;
	conf_free(fresh);
}

void outbox_reload(struct outbox *outbox, struct conf *conf)
{
	struct conf *before = atomic_exchange(&outbox->fresh, conf);

	/* If older settings were not applied yet, the task for that is posted already. */
	if (before)
		conf_free(before);
	else
		task_queue_post(outbox->tasks, &outbox->reload);
}

/* Attempts have a moment to end; then they are broken off. The loop ends when nothing is left. */
static void go_on_stopping(struct outbox *outbox)
{
	int64_t now_us = clock_monotonic_us();

	if (outbox->stopping_us == 0)
		outbox->stopping_us = now_us;
	if (outbox->under_way > 0 && !outbox->inject->stopping &&
		now_us - outbox->stopping_us > LAST_ANSWERS_US) {
		inject_stop(outbox->inject);
		record_watch_stop(outbox->watch);
	}
	if (outbox->under_way == 0 && outbox->to_start == 0 && feeder_is_idle(outbox->feeder) &&
		hosts_is_idle(outbox->hosts) &&
		(journal_is_empty(outbox->journal) ||
			now_us - outbox->stopping_us > 2 * LAST_ANSWERS_US))
		event_base_loopbreak(outbox->base);
}

/* Not EV_PERSIST, whose next time is counted from the last one: between two ticks of the coarse
 * clock that libevent reads, so that the loop would poll each millisecond until the next tick.
 * Counted from now, it is at a tick. */
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
	if (!outbox->stopping) {
		feeder_look(outbox->feeder);
		hosts_look(outbox->hosts);
	}
	while (outbox->cut_short && (batch = TAILQ_FIRST(&outbox->waiting)) != NULL)
		outbox_end_wait(batch);
	if (outbox->stopping)
		go_on_stopping(outbox);
	event_add(outbox->janitor, &janitor_every);
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
	int64_t now_us = clock_now_us(outbox->shared->clock);

	if (store_break_close(db, now_us, err) < 0)
		return -1;
	return store_outbox_reopen(db, now_us, err);
}

static int remove_run(struct db *db, void *arg, struct err *err)
{
	(void)arg;
	return store_email_remove_unfinished(db, err);
}

/* Emails that an earlier process had in hand are due again, and what it had not finished storing is
 * removed, which may fail: nobody sees it. Before any worker runs. */
static int take_over(struct outbox *outbox, struct err *err)
{
	struct err unremoved = ERR_INIT;
	int found = committer_run(outbox->shared->committer, reopen_run, outbox, err);

	if (found >= 0 &&
		committer_run(outbox->shared->committer, remove_run, NULL, &unremoved) < 0)
		log_warn(outbox->log, "unfinished_not_removed", "error", unremoved.text);
	if (found < 0 || store_outbox_sizes(outbox->db, account_add, outbox, err) < 0)
		return -1;
	if (outbox->account.emails > 0)
		log_info(outbox->log, "outbox_opened", "emails",
			LOG_INT(atomic_load(&outbox->account.emails)), "bytes",
			LOG_INT(atomic_load(&outbox->account.bytes)));
	return 0;
}

int outbox_new(const struct worker_shared *shared, struct conf *conf,
	const struct outbox_hooks *hooks, struct outbox **outbox_r, struct err *err)
{
	struct outbox *outbox = mem_new(struct outbox);

	outbox->shared = shared;
	outbox->log = shared->log;
	outbox->conf = conf;
	outbox->hooks = *hooks;
	outbox->max_bytes = conf->outbox.max_bytes;
	set_in_hand_limits(outbox);
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
	outbox->hosts = hosts_new(outbox);
	outbox->tasks = task_queue_new(outbox->base);
	if (outbox->tasks == NULL || db_open(shared->store, DB_READ, &outbox->db, err) < 0) {
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
	db_set_wait(outbox->db, LOOP_STORE_WAIT_MS); /* the loop reads from now on */
	outbox->inject = inject_new(outbox->base, outbox->conf);
	outbox->watch = record_watch_new(outbox->base, outbox->db, shared->server, outbox->log);
	outbox->janitor = event_new(outbox->base, -1, 0, on_outbox_janitor, outbox);
	event_add(outbox->janitor, &janitor_every);
	*outbox_r = outbox;
	return 0;
}

int outbox_start(struct outbox *outbox, struct err *err)
{
	if (thread_start(&outbox->thread, thread_main, outbox, err) < 0)
		return -1;
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
	hosts_free(outbox->hosts);
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

void outbox_bytes_get(void *outbox, const char *company_id, int64_t *all_r, int64_t *own_r)
{
	struct outbox_account *account = &((struct outbox *)outbox)->account;

	*all_r = atomic_load(&account->bytes);
	*own_r = atomic_load(of_company(account, company_id));
}

void outbox_state_get(struct outbox *outbox, struct outbox_state *state_r)
{
	int64_t max = atomic_load(&outbox->max_bytes);
	int64_t refused_us = atomic_load(&outbox->refused_us);

	state_r->emails = atomic_load(&outbox->account.emails);
	state_r->bytes = atomic_load(&outbox->account.bytes);
	state_r->in_hand = in_hand_emails(&outbox->in_hand);
	state_r->disk_full = atomic_load(&outbox->disk_full);
	state_r->no_inodes = atomic_load(&outbox->no_inodes);
	state_r->full = state_r->bytes > max - max / FULL_PART;
	state_r->crowded = refused_us && clock_monotonic_us() - refused_us < REFUSED_TOLD_US;
	breaker_state_get(&outbox->breaker, &state_r->breaker);
}
