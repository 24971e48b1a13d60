/*
 * postern-webhook: reports by HTTP what becomes of emails, to the endpoints that companies chose.
 *
 * One thread runs an event loop for the connections, and a tick that reads and writes the store.
 * The program that talks to strangers reads no log and decides about no mail. Killing it loses
 * nothing: what is not recorded as sent is sent again.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/clock.h"
#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/db/db.h"
#include "core/db/migrate.h"
#include "core/metrics/metrics.h"
#include "core/store/webhook/store_webhook_event.h"
#include "webhook/feeder.h"
#include "webhook/leases.h"
#include "webhook/sender.h"

enum {
	TICK_MS = 20,    /* while attempts are under way */
	IDLE_MS = 100,   /* while none is */
	LOOK_MS = 500,   /* between looks at what is due while nothing writes the database */
	CHANGED_MS = 90, /* between looks while something does */
	FEED_BUDGET_US = 20 * 1000,
	FAILED_MS = 1000, /* pause after a temporary failure */
	WAIT_MS = 1000,   /* for another writer */
	CLEAN_MS = 10 * 1000,
	CLEAN_ROWS = 500,
	CACHE_KIB = 4096,
};

static const struct daemon_about about = {
	.program = "postern-webhook",
	.purpose = "Tells webhooks what becomes of emails.",
	.default_path = CONF_DEFAULT_PATH,
};

struct daemon {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct db *db;
	struct db_identity identity;
	struct event_base *base;
	struct event *tick;
	struct sender *sender;
	struct leases *leases;
	struct metrics_file *metrics;
	struct metrics_webhook values;
	int64_t version; /* of the database, at the last look */
	int64_t looked_us, cleaned_us, written_us, failed_us;
	bool has_more; /* events that are not queued yet */
	bool failing;
	int status;
};

static void free_daemon(struct daemon *daemon)
{
	metrics_file_free(daemon->metrics);
	sender_free(daemon->sender);
	leases_free(daemon->leases);
	if (daemon->tick)
		event_free(daemon->tick);
	if (daemon->base)
		event_base_free(daemon->base);
	db_close(daemon->db);
	log_free(daemon->log);
	conf_free(daemon->conf);
}

static void write_metrics(struct daemon *daemon)
{
	const struct sender_counts *counts = sender_counts(daemon->sender);
	struct metrics_webhook *values = &daemon->values;
	struct err err = ERR_INIT;

	values->store = *db_counts(daemon->db);
	values->succeeded = counts->succeeded;
	values->failed = counts->failed;
	values->disabled = counts->disabled;
	values->under_way = (int64_t)sender_under_way(daemon->sender);
	store_webhook_event_count(daemon->db, &values->waiting, &err);
	metrics_file_update(daemon->metrics, values, daemon->log);
	daemon->written_us = clock_monotonic_us();
}

static int apply_settings(void *arg, struct conf *next, struct err *err)
{
	struct daemon *daemon = arg;

	return sender_reload(daemon->sender, next, err);
}

/* Removes events that are too old, some rows at a time. Returns 0 or -1. */
static int remove_old_events(struct daemon *daemon, int64_t now_us, struct err *err)
{
	int64_t keep_us = daemon->conf->retention.webhooks_ms * 1000;
	int more;

	if (now_us - daemon->cleaned_us < CLEAN_MS * INT64_C(1000))
		return 0;
	if (db_begin(daemon->db, err) < 0)
		return -1;
	more = store_webhook_clean(
		daemon->db, clock_now_us(&clock_system) - keep_us, CLEAN_ROWS, err);
	if (more < 0) {
		db_rollback(daemon->db);
		return -1;
	}
	if (db_commit_lazy(daemon->db, err) < 0)
		return -1;
	if (more == 0)
		daemon->cleaned_us = now_us;
	return 0;
}

/* Queues new events, records outcomes, and starts attempts. Returns 0 or -1. */
static int work(struct daemon *daemon, struct err *err)
{
	int64_t now_us = clock_monotonic_us(), version = daemon->version;
	int64_t waited_us = now_us - daemon->looked_us;
	bool look = waited_us >= LOOK_MS * INT64_C(1000);
	int fed = 1;

	if (waited_us >= CHANGED_MS * INT64_C(1000) && db_version(daemon->db, &version, err) < 0)
		return -1;
	look |= version != daemon->version;
	while (look && fed > 0 && clock_monotonic_us() - now_us < FEED_BUDGET_US) {
		fed = feeder_round(daemon->db, clock_now_us(&clock_system), err);
		if (fed < 0)
			return -1;
	}
	if (sender_round(daemon->sender, look, err) < 0)
		return -1;
	daemon->has_more = look && fed > 0;
	/* The next tick goes on with the events that are left. */
	if (look && fed == 0) {
		daemon->version = version;
		daemon->looked_us = now_us;
	}
	return remove_old_events(daemon, now_us, err);
}

static void tick(struct daemon *daemon)
{
	const struct conf_reader reader = {.apply = apply_settings, .arg = daemon};
	struct err err = ERR_INIT;
	int64_t now_us = clock_monotonic_us();
	int number = daemon_wait_signal(0);

	if (number == SIGHUP) {
		conf_reread(daemon->conf, daemon->conf_path, daemon->log, &reader, &err);
		err = ERR_INIT;
	} else if (number != 0) {
		/* Attempts that are under way are made again. */
		log_info(daemon->log, "stopping", "signal", strsignal(number));
		event_base_loopbreak(daemon->base);
		return;
	}
	if (db_same(conf_store(daemon->conf), &daemon->identity, &err) < 0) {
		log_error(daemon->log, "database_gone", "error", err.text);
		daemon->status = EX_TEMPFAIL;
		event_base_loopbreak(daemon->base);
		return;
	}
	if (daemon->failing && now_us - daemon->failed_us < FAILED_MS * INT64_C(1000))
		return;
	/* Work meets the same error, and reports it. */
	(void)leases_beat(
		daemon->leases, daemon->failing ? "It cannot work with the store." : "", &err);
	err = ERR_INIT;
	if (work(daemon, &err) < 0) {
		if (!daemon->failing)
			log_error(daemon->log, "work_failed", "error", err.text);
		daemon->failing = true;
		daemon->failed_us = now_us;
	} else if (daemon->failing) {
		log_info(daemon->log, "works_again");
		daemon->failing = false;
	}
	daemon->values.failing = daemon->failing;
	if (now_us - daemon->written_us >= METRICS_WRITE_MS * INT64_C(1000))
		write_metrics(daemon);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *daemon = arg;
	struct timeval next = {0};

	(void)fd;
	(void)what;
	tick(daemon);
	next.tv_usec = (daemon->has_more || sender_is_busy(daemon->sender) ? TICK_MS : IDLE_MS) *
		       1000;
	event_add(daemon->tick, &next);
}

static int start_daemon(struct daemon *daemon, struct err *err)
{
	const struct timeval at_once = {0};
	const char *store = conf_store(daemon->conf);

	if (migrate_check_name(store, err) < 0 || db_open(store, DB_WRITE, &daemon->db, err) < 0 ||
		db_set_cache(daemon->db, CACHE_KIB, err) < 0 ||
		db_same(store, &daemon->identity, err) < 0)
		return -1;
	db_set_wait(daemon->db, WAIT_MS);
	daemon->leases = leases_new(daemon->db);
	daemon->base = event_base_new();
	if (daemon->base == NULL)
		return err_set(err, ERR_INTERNAL, "cannot make an event loop");
	if (sender_new(daemon->base, daemon->db, daemon->leases, daemon->log, daemon->conf,
		    &daemon->sender, err) < 0)
		return -1;
	daemon->tick = event_new(daemon->base, -1, 0, on_tick, daemon);
	event_add(daemon->tick, &at_once);
	return 0;
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	/* Without TZ, libc checks /etc/localtime for every stamp of the log. */
	setenv("TZ", ":/etc/localtime", 0);
	daemon.conf_path = daemon_begin(&about, argc, argv, NULL, &status);
	if (daemon.conf_path == NULL)
		return status;
	daemon_raise_descriptor_limit();
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-webhook: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	daemon.log = log_new("postern-webhook", (enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	if (start_daemon(&daemon, &err) < 0) {
		log_error(daemon.log, "start_failed", "error", err.text);
		daemon.status = err_info(err.code)->exit_status;
		free_daemon(&daemon);
		return daemon.status;
	}
	log_info(daemon.log, "started", "version", POSTERN_VERSION);
	daemon_ready();
	daemon.metrics = metrics_file_new(daemon.conf->store.database, METRICS_WEBHOOK);
	write_metrics(&daemon);
	event_base_dispatch(daemon.base);
	if (daemon.status == EX_OK && sender_round(daemon.sender, false, &err) < 0)
		log_error(daemon.log, "work_failed", "error", err.text);
	write_metrics(&daemon);
	log_info(daemon.log, "stopped");
	free_daemon(&daemon);
	return daemon.status;
}
