/*
 * hosts: the heartbeat of this host, and the outbox of a host that is lost.
 *
 *   hosts_look, from the janitor of outbox.c
 *     ─(committer)─> beat_run: writes the heartbeat, reads those of the others
 *     ────────────> on_hosts_seen: who is lost? ─> take_step, until its outbox is empty
 *
 * A step takes over a few rows in a commit of its own, so requests go in between. All hosts that
 * are left do this at the same time, and each gets a part. What a lost host may still do when it
 * shows up again does no harm: its emails have new tickets here, so its milter discards its
 * messages, and the functions of store_outbox leave the rows of others alone.
 *
 * Threads: the outbox's, except for beat_run() and take_run(), on the committer's: the committer
 * has `job`, `list` and `takeover` then.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/strv.h"
#include "core/store/store_audit.h"
#include "core/store/host/store_host.h"
#include "httpd/outbox/outbox_private.h"
#include "httpd/worker/worker.h"

/* Rows that a step takes over. */
enum { STEP_ROWS = 100 };

struct hosts {
	struct outbox *outbox;
	struct host_watch watch;
	int64_t next_us; /* monotonic: the next heartbeat */
	bool busy;
	bool beats;   /* since the start */
	bool failing; /* the last round failed, which was logged */
	int64_t epoch;
	bool was_taken; /* others have taken rows of this host since the last heartbeat */
	struct host_list list;
	struct strv owners; /* other hosts with emails in the outbox */
	size_t owner;       /* the next one to look at */
	struct outbox_takeover takeover;
	int64_t moved; /* rows of that host so far */
	struct commit_job job;
	struct task task;
	int result;
	struct err err;
};

struct hosts *hosts_new(struct outbox *outbox)
{
	struct hosts *hosts = mem_new(struct hosts);

	hosts->outbox = outbox;
	return hosts;
}

void hosts_free(struct hosts *hosts)
{
	if (hosts == NULL)
		return;
	host_watch_clear(&hosts->watch);
	store_host_list_free(&hosts->list);
	strv_free(&hosts->owners);
	store_outbox_takeover_clear(&hosts->takeover);
	free(hosts);
}

/* On the committer's thread. */
static void hosts_done(void *arg, int result, const struct err *err)
{
	struct hosts *hosts = arg;

	hosts->result = result;
	hosts->err = ERR_INIT;
	if (result < 0)
		hosts->err = *err;
	task_queue_post(hosts->outbox->tasks, &hosts->task);
}

static void commit(struct hosts *hosts, int (*run)(struct db *db, void *arg, struct err *err),
	void (*then)(struct task *task))
{
	hosts->busy = true;
	hosts->task.run = then;
	hosts->job = (struct commit_job){
		.run = run, .done = hosts_done, .arg = hosts, .lazy = true};
	committer_submit(hosts->outbox->shared->committer, &hosts->job);
}

static int take_run(struct db *db, void *arg, struct err *err)
{
	struct hosts *hosts = arg;

	store_outbox_takeover_clear(&hosts->takeover);
	return store_outbox_take_over(db, &hosts->takeover, STEP_ROWS, err);
}

static void take_from_next(struct hosts *hosts);

static void on_step_taken(struct task *task)
{
	struct hosts *hosts = CONTAINER_OF(task, struct hosts, task);
	struct outbox_takeover *takeover = &hosts->takeover;
	struct outbox *outbox = hosts->outbox;

	hosts->busy = false;
	if (hosts->result >= 0) {
		hosts->moved += takeover->moved;
		for (size_t i = 0; i < takeover->counted_n; i++)
			outbox_account_join(
				outbox, takeover->counted[i].company_id, takeover->counted[i].size);
		if (takeover->moved > 0)
			feeder_hint(outbox->feeder, 1);
	}
	if (hosts->result == STORE_MORE && !outbox->stopping) {
		commit(hosts, take_run, on_step_taken);
		return;
	}
	if (hosts->result < 0)
		log_error(outbox->log, "takeover_failed", "host", takeover->host, "error",
			hosts->err.text);
	if (hosts->moved > 0)
		log_warn(outbox->log, "outbox_taken_over", "host", takeover->host, "emails",
			LOG_INT(hosts->moved));
	take_from_next(hosts);
}

/* Goes on with the next host that is lost and has emails in the outbox. */
static void take_from_next(struct hosts *hosts)
{
	int64_t beat;

	while (hosts->owner < hosts->owners.n && !hosts->outbox->stopping) {
		const char *host = hosts->owners.items[hosts->owner++];

		if (!host_watch_is_lost(&hosts->watch, host, &beat))
			continue;
		/* The name stays in the list until the next heartbeat. */
		hosts->takeover.host = host;
		hosts->takeover.beat = beat;
		hosts->takeover.mark = 0;
		hosts->moved = 0;
		commit(hosts, take_run, on_step_taken);
		return;
	}
}

static int beat_run(struct db *db, void *arg, struct err *err)
{
	struct hosts *hosts = arg;
	struct outbox *outbox = hosts->outbox;
	_cleanup_buf_ struct buf problem = BUF_INIT;
	int64_t epoch = 0, read_us;

	store_host_list_free(&hosts->list);
	strv_free(&hosts->owners);
	hosts->owner = 0;
	hosts->was_taken = false;
	read_us = outbox->hooks.tell_host(outbox->shared, &problem);
	if (store_host_beat(db, "httpd", !hosts->beats, buf_str(&problem), read_us,
		    clock_now_us(outbox->shared->clock), &epoch, err) < 0 ||
		store_host_list(db, &hosts->list, err) < 0 ||
		store_outbox_hosts(db, &hosts->owners, err) < 0)
		return -1;
	hosts->was_taken = hosts->beats && epoch != hosts->epoch;
	hosts->epoch = epoch;
	hosts->beats = true;
	/* No row is added or removed meanwhile: this transaction has the write lock. */
	return hosts->was_taken ? outbox_account_again(outbox, db, err) : 0;
}

static void on_hosts_seen(struct task *task)
{
	struct hosts *hosts = CONTAINER_OF(task, struct hosts, task);
	struct outbox *outbox = hosts->outbox;

	hosts->busy = false;
	if (hosts->result < 0) {
		if (!hosts->failing)
			log_error(outbox->log, "heartbeat_failed", "error", hosts->err.text);
		hosts->failing = true;
		return;
	}
	if (hosts->failing)
		log_info(outbox->log, "heartbeat_written");
	hosts->failing = false;
	if (hosts->was_taken)
		log_warn(outbox->log, "outbox_was_taken_over", "hint",
			"other hosts saw no heartbeat of this one, and submit its emails");
	outbox->hooks.hosts_seen(outbox->shared, db_host(outbox->db), &hosts->list);
	host_watch_look(&hosts->watch, "httpd", &hosts->list);
	take_from_next(hosts);
}

void hosts_look(struct hosts *hosts)
{
	if (hosts->busy || *db_host(hosts->outbox->db) == '\0' ||
		clock_monotonic_us() < hosts->next_us)
		return;
	hosts->next_us = clock_monotonic_us() + HOST_BEAT_S * SECOND_US;
	commit(hosts, beat_run, on_hosts_seen);
}

bool hosts_is_idle(const struct hosts *hosts)
{
	return !hosts->busy;
}
