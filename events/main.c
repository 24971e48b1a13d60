/*
 * postern-events: reads Postfix's log and stores what became of each recipient.
 *
 * One thread reads, stores and waits for signals. The source of the log is chosen once at
 * start. The exit status is one of sysexits.h. After a restart by the supervisor it continues
 * at the stored position.
 */
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
#include "core/store/host/store_host.h"
#include "core/postfix/postfix_queue.h"
#include "events/reader.h"
#include "events/repair.h"
#include "events/source.h"

enum {
	/* Interval of reads at the end of the log. If there is much to read, a longer interval
	 * lets the lines of an email come together and be stored at once. */
	LOOK_MS = 200,
	BUSY_MS = 500,
	BUSY_LINES = 100,
	PAUSE_MS = 1,     /* between batches, so that other writers get at the database */
	CACHE_KIB = 4096, /* of the database */
	FAILED_MS = 1000, /* after an error that may pass */
	COUNTS_MS = 60 * 60 * 1000,
	REPAIR_MIN_MS = 60 * 1000, /* after a gap or a failed comparison */
};

static const struct daemon_about about = {
	.program = "postern-events",
	.purpose = "Reads Postfix's log, and keeps what became of each email.",
	.default_path = CONF_DEFAULT_PATH,
	.file_option = "once",
	.file_help = "read this log, packed or not, and end",
	.flag_option = "check",
	.flag_help = "say where the log would be read, and end",
};

struct daemon {
	const char *conf_path;
	struct daemon_given given;
	const char *once; /* the file of --once; NULL: follow the log */
	struct conf *conf;
	struct log *log;
	struct db *db;
	struct db_identity identity;
	struct source_location location;
	struct reader *reader;
	struct postfix_queue *queue;
	struct repair *repair;
	int64_t counted_us;
	int64_t repaired_us;
	bool repair_failed;
	struct host_pulse pulse;
	struct metrics_file *metrics;
	struct metrics_events values; /* the content of the metrics file */
	uint64_t unlisted_told;       /* the count at the last warning, */
	int64_t unlisted_us;          /* and its time */
	int64_t written_us;
};

static void free_daemon(struct daemon *daemon)
{
	metrics_file_free(daemon->metrics);
	repair_free(daemon->repair);
	postfix_queue_free(daemon->queue);
	reader_free(daemon->reader);
	db_close(daemon->db);
	source_location_clear(&daemon->location);
	log_free(daemon->log);
	conf_free(daemon->conf);
}

static int each_message(void *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err)
{
	return postfix_queue_each(queue, on_item, arg, err);
}

/* Prints where the log would be read. */
static int check_settings(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	const struct source_location *location = &daemon->location;

	if (source_choose(daemon->conf, NULL, &daemon->location, &err) < 0 ||
		source_check(location, &err) < 0) {
		fprintf(stderr, "postern-events: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	printf("%s %s, since %s\n", location->file ? location->file : "the journal",
		location->file && access(location->file, F_OK) < 0
			? "does not exist; it is read once it does"
			: "is read",
		location->why);
	return EX_OK;
}

static int start_daemon(struct daemon *daemon, struct err *err)
{
	const bool once = daemon->once != NULL;
	const char *store = conf_store(daemon->conf);
	const struct source_location *location = &daemon->location;

	if (migrate_check_name(store, err) < 0 || db_open(store, DB_WRITE, &daemon->db, err) < 0 ||
		db_set_cache(daemon->db, CACHE_KIB, err) < 0 ||
		db_same(store, &daemon->identity, err) < 0 ||
		source_choose(daemon->conf, daemon->once, &daemon->location, err) < 0 ||
		(!once && postfix_queue_open(daemon->conf, &daemon->queue, err) < 0))
		return -1;
	if (!once)
		daemon->repair = repair_new(daemon->db, daemon->log, each_message, daemon->queue);
	if (location->file)
		log_info(daemon->log, "source", "source", "file", "file", location->file, "why",
			location->why);
	else
		log_info(daemon->log, "source", "source", "journal", "why", location->why);
	return reader_new(
		&(struct reader_setup){daemon->db, daemon->log, location,
			daemon->conf->submission.postfix_config,
			{daemon->conf->suppression.bounces, daemon->conf->suppression.bounce_codes,
				daemon->conf->limits.suppressions}},
		&daemon->reader, err);
}

static void log_counts(const struct daemon *daemon)
{
	const struct tracker_counts *counts = reader_counts(daemon->reader);

	log_info(daemon->log, "counts", "lines", LOG_INT((int64_t)counts->lines), "events",
		LOG_INT((int64_t)counts->added), "unreadable", LOG_INT((int64_t)counts->bad),
		"without_status", LOG_INT((int64_t)counts->open));
}

/* Writes the file for postern-httpd's /metrics, and warns of full lists of suppressed addresses, at
 * most once an hour. */
static void write_metrics(struct daemon *daemon)
{
	const struct tracker_counts *counts = reader_counts(daemon->reader);
	const uint64_t *repaired = repair_events(daemon->repair);
	struct metrics_events *values = &daemon->values;
	uint64_t unlisted = counts->unlisted - daemon->unlisted_told;
	int64_t now_us = clock_monotonic_us();

	values->store = *db_counts(daemon->db);
	for (size_t i = 0; i < EVENT_KINDS; i++)
		values->events[i] = (int64_t)(counts->events[i] + repaired[i]);
	values->lines = (int64_t)counts->lines;
	values->unreadable = (int64_t)counts->bad;
	values->left = (int64_t)counts->left;
	values->unlisted = (int64_t)counts->unlisted;
	metrics_file_update(daemon->metrics, values, daemon->log);
	daemon->written_us = now_us;
	if (unlisted > 0 &&
		(daemon->unlisted_told == 0 || now_us - daemon->unlisted_us >= HOUR_US)) {
		log_warn(daemon->log, "suppressions_full", "not_added", LOG_INT((int64_t)unlisted),
			"limit", LOG_INT(daemon->conf->limits.suppressions));
		daemon->unlisted_told = counts->unlisted;
		daemon->unlisted_us = now_us;
	}
}

/* Compares with the queue when it is due, when lines may be missing, or after a failure; only
 * when the log is read to its end. A failure is logged once, and so is the recovery. */
static void repair(struct daemon *daemon)
{
	int64_t now_us = clock_monotonic_us();
	int64_t waited_ms = (now_us - daemon->repaired_us) / 1000;
	bool due = waited_ms >= daemon->conf->events.repair_ms;
	struct err err = ERR_INIT;
	bool failed;

	if (!due && waited_ms < REPAIR_MIN_MS)
		return;
	if (!reader_had_gap(daemon->reader) && !daemon->repair_failed && !due)
		return;
	daemon->repaired_us = now_us;
	failed = repair_round(daemon->repair, clock_now_us(&clock_system), &err) < 0;
	if (failed && !daemon->repair_failed)
		log_warn(daemon->log, "repair_failed", "error", err.text);
	if (!failed && daemon->repair_failed)
		log_info(daemon->log, "repair_works_again");
	daemon->repair_failed = failed;
}

/* Reads the log until a signal. An error of reading is logged once; the next round tries again. */
static int serve(struct daemon *daemon)
{
	const struct conf_reader reader = {0};
	bool failed = false;

	daemon->counted_us = clock_monotonic_us();
	for (;;) {
		struct err err = ERR_INIT;
		int n = reader_round(daemon->reader, &err), pause_ms, number;

		if (n < 0 && !failed)
			log_error(daemon->log, "read_failed", "error", err.text);
		if (n >= 0 && failed)
			log_info(daemon->log, "read_again");
		failed = n < 0;
		if (n == 0) {
			daemon->values.read_to_end_us = clock_now_us(&clock_system);
			repair(daemon);
		}
		daemon->values.failing = failed;
		if (clock_monotonic_us() - daemon->written_us >= METRICS_WRITE_MS * INT64_C(1000))
			write_metrics(daemon);
		/* The next round meets the same error, and reports it. */
		(void)host_pulse(daemon->db, &daemon->pulse, "events",
			failed ? "It cannot read the log, or cannot write what it says." : "",
			&err);
		if (n != 0)
			pause_ms = n > 0 ? PAUSE_MS : FAILED_MS;
		else
			pause_ms = reader_lines(daemon->reader) < BUSY_LINES ? LOOK_MS : BUSY_MS;
		number = daemon_wait_signal(pause_ms);
		if (number == SIGHUP) {
			conf_reread(daemon->conf, daemon->conf_path, daemon->log, &reader, &err);
		} else if (number != 0) {
			log_info(daemon->log, "stopping", "signal", strsignal(number));
			return EX_OK;
		}
		if (db_same(conf_store(daemon->conf), &daemon->identity, &err) < 0) {
			log_error(daemon->log, "database_gone", "error", err.text);
			return EX_TEMPFAIL;
		}
		if (clock_monotonic_us() - daemon->counted_us >= COUNTS_MS * INT64_C(1000)) {
			daemon->counted_us = clock_monotonic_us();
			log_counts(daemon);
		}
	}
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	/* Without TZ, libc checks /etc/localtime for every stamp of the log. */
	setenv("TZ", ":/etc/localtime", 0);
	daemon.conf_path = daemon_begin(&about, argc, argv, &daemon.given, &status);
	if (daemon.conf_path == NULL)
		return status;
	daemon.once = daemon.given.file;
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-events: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	if (daemon.given.flag) {
		status = check_settings(&daemon);
		free_daemon(&daemon);
		return status;
	}
	daemon.log = log_new("postern-events", (enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	if (start_daemon(&daemon, &err) < 0) {
		log_error(daemon.log, "start_failed", "error", err.text);
		status = err_info(err.code)->exit_status;
	} else if (daemon.once) {
		while ((status = reader_round(daemon.reader, &err)) > 0)
			;
		if (status == 0) {
			log_counts(&daemon);
		} else {
			log_error(daemon.log, "read_failed", "error", err.text);
			status = err_info(err.code)->exit_status;
		}
	} else {
		log_info(daemon.log, "started", "version", POSTERN_VERSION);
		daemon_ready();
		daemon.metrics = metrics_file_new(daemon.conf->store.database, METRICS_EVENTS);
		write_metrics(&daemon);
		status = serve(&daemon);
		write_metrics(&daemon);
		log_counts(&daemon);
		log_info(daemon.log, "stopped");
	}
	free_daemon(&daemon);
	return status;
}
