/*
 * postern-events: reads Postfix's log, and keeps what became of each recipient.
 *
 * One thread reads, stores and waits for signals. Where it reads is chosen
 * once, at the start. The exit status is one of sysexits.h; a supervisor starts
 * it again, and it goes on where it was.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"
#include "core/db/db_file.h"
#include "core/db/migrate.h"
#include "core/metrics/metrics.h"
#include "core/postfix/postfix_queue.h"
#include "events/reader.h"
#include "events/repair.h"

enum {
	/* Until the next look at the log, when all was read. Where there is
	 * much the lines of an email come together, and are written once. */
	LOOK_MS = 200,
	BUSY_MS = 500,
	BUSY_LINES = 100,
	PAUSE_MS = 1, /* when it was not, for those who wait for the database */
	CACHE_KIB = 4096, /* of the database */
	FAILED_MS = 1000, /* after what may pass */
	COUNTS_MS = 60 * 60 * 1000,
	REPAIR_MIN_MS = 60 * 1000, /* after a gap */
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

/* What was learnt of Postfix at the start. */
struct postfix {
	char *instance;     /* the first part of its tags */
	char *maillog_file; /* "": it logs to syslog */
	char *owner;        /* the user that it runs as */
};

struct daemon {
	const char *conf_path;
	struct daemon_given given;
	const char *once; /* the file of --once; NULL: goes on */
	struct conf *conf;
	struct log *log;
	struct db *db;
	struct db_file_id file;
	struct postfix postfix;
	enum events_source source;
	char *log_file;
	char *cursor; /* the name of the source's position */
	struct reader *reader;
	struct postfix_queue *queue;
	struct repair *repair;
	int64_t counted_us;
	int64_t repaired_us;
	struct metrics_file *metrics;
	struct metrics_events values; /* what it says */
	int64_t written_us;
	bool metrics_failed;
};

static void clear(struct daemon *daemon)
{
	metrics_file_free(daemon->metrics);
	repair_free(daemon->repair);
	postfix_queue_free(daemon->queue);
	reader_free(daemon->reader);
	db_close(daemon->db);
	free(daemon->log_file);
	free(daemon->cursor);
	free(daemon->postfix.instance);
	free(daemon->postfix.maillog_file);
	free(daemon->postfix.owner);
	log_free(daemon->log);
	conf_free(daemon->conf);
}

/* An old log may be read where there is no Postfix. */
static int ask_postfix(struct daemon *daemon, struct err *err)
{
	static const char *const names[] = {
		"syslog_name", "maillog_file", "mail_owner"};
	char *values[ARRAY_SIZE(names)] = {NULL, NULL, NULL};

	if (postconf_read(daemon->conf->submission.postfix_config, names,
		    ARRAY_SIZE(names), values, err) < 0 &&
		daemon->once == NULL)
		return -1;
	daemon->postfix.instance = str_empty(values[0]) ? mem_strdup("postfix")
							: TAKE_PTR(values[0]);
	daemon->postfix.maillog_file = values[1];
	daemon->postfix.owner = values[2];
	free(values[0]);
	return 0;
}

static int open_journal(struct daemon *daemon, const char *position,
	struct source **source_r, struct err *err)
{
	const char *owner = daemon->postfix.owner;
	const struct passwd *user = getpwnam(
		str_empty(owner) ? "postfix" : owner);

	if (user == NULL)
		return err_set(err, ERR_CONFIG,
			"there is no user %s, as whom Postfix runs", owner);
	return source_journal_open(
		&(struct journal_match){daemon->conf->events.journal,
			(int64_t)user->pw_uid, daemon->postfix.instance},
		position, source_r, err);
}

static int open_source(void *arg, const char *position,
	struct source **source_r, struct err *err)
{
	struct daemon *daemon = arg;

	if (daemon->once)
		return source_file_once(daemon->once, source_r, err);
	if (daemon->source == EVENTS_JOURNAL)
		return open_journal(daemon, position, source_r, err);
	return source_file_open(daemon->log_file, position, source_r, err);
}

static const char *syslog_file(void)
{
	static const char *const files[] = {
		"/var/log/mail.log", "/var/log/maillog"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}

/* Whether the journal has something of Postfix. */
static bool journal_has_postfix(struct daemon *daemon, struct err *err)
{
	_cleanup_(source) struct source *source = NULL;
	struct source_line line;

	if (open_journal(daemon, NULL, &source, err) < 0)
		return false;
	if (source_next(source, &line, err) == 1)
		return true;
	err_set(err, ERR_NOT_FOUND, "the journal has no line of Postfix");
	return false;
}

/* The file that the settings name, or Postfix's, or syslog's. */
static const char *choose_file(struct daemon *daemon, const char **why_r)
{
	if (!str_empty(daemon->conf->events.log_file)) {
		*why_r = "events.log_file names it";
		return daemon->conf->events.log_file;
	}
	if (!str_empty(daemon->postfix.maillog_file)) {
		*why_r = "it is Postfix's maillog_file";
		return daemon->postfix.maillog_file;
	}
	*why_r = "it is syslog's";
	return syslog_file();
}

/* Whether the group exists and this process is not in it. */
static bool lacks_group(const char *name)
{
	const struct group *group = getgrnam(name);
	gid_t groups[256];
	int n = getgroups(ARRAY_SIZE(groups), groups);

	if (group == NULL || geteuid() == 0 || getegid() == group->gr_gid)
		return false;
	while (n > 0)
		if (groups[--n] == group->gr_gid)
			return false;
	return true;
}

/* Says what to do about a log that this user may not read. */
static int cannot_read(const char *what, const char *group, struct err *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : "that runs it";

	return err_set(err, ERR_CONFIG,
		"%s may not be read by the user %s, who is not in the group "
		"%s: usermod -aG %s %s, and start postern-events again",
		what, name, group, group, name);
}

/* The file need not be there yet. */
static int check_file(const char *path, struct err *err)
{
	const struct group *group = NULL;
	struct stat st;

	if (access(path, R_OK) == 0 || errno == ENOENT)
		return 0;
	if (errno == EACCES && stat(path, &st) == 0 && st.st_mode & S_IRGRP)
		group = getgrgid(st.st_gid);
	if (group && lacks_group(group->gr_name))
		return cannot_read(path, group->gr_name, err);
	return err_set(err, ERR_CONFIG,
		"%s: Permission denied, and no group may read it: see "
		"WHERE IT READS in postern-events(8)",
		path);
}

static int choose_source(
	struct daemon *daemon, const char **why_r, struct err *err)
{
	struct err no_journal = ERR_INIT;
	const char *why, *file = choose_file(daemon, &why);
	bool of_syslog = file == NULL || str_starts(why, "it is syslog");

	daemon->source = (enum events_source)daemon->conf->events.source;
	if (daemon->source == EVENTS_AUTO && of_syslog &&
		journal_has_postfix(daemon, &no_journal))
		daemon->source = EVENTS_JOURNAL;
	if (daemon->source == EVENTS_JOURNAL) {
		*why_r = daemon->conf->events.source == EVENTS_JOURNAL
				 ? "events.source names it"
				 : "Postfix has no maillog_file, and is in it";
		if (str_empty(daemon->conf->events.journal) &&
			lacks_group("systemd-journal") && lacks_group("adm"))
			return cannot_read("the journal", "systemd-journal", err);
		return 0;
	}
	if (file == NULL && lacks_group("systemd-journal"))
		return cannot_read("the journal", "systemd-journal", err);
	if (file == NULL)
		return err_set(err, ERR_CONFIG,
			"no log of Postfix was found: it has no maillog_file, "
			"there is no /var/log/mail.log that this user may read "
			"(group adm), and the journal (group systemd-journal) "
			"does not help: %s",
			no_journal.code ? no_journal.text : "it is not wanted");
	daemon->source = EVENTS_FILE;
	daemon->log_file = mem_strdup(file);
	*why_r = why;
	return check_file(file, err);
}

static int each_message(void *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err),
	void *arg, struct err *err)
{
	return postfix_queue_each(queue, on_item, arg, err);
}

static int open_queue(struct daemon *daemon, struct err *err)
{
	if (postfix_queue_open(daemon->conf, &daemon->queue, err) < 0)
		return -1;
	daemon->repair = repair_new(
		daemon->db, daemon->log, each_message, daemon->queue);
	return 0;
}

/* Says where it would read. */
static int check(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	const char *why;

	if (ask_postfix(daemon, &err) < 0 ||
		choose_source(daemon, &why, &err) < 0 ||
		(daemon->source == EVENTS_JOURNAL &&
			!journal_has_postfix(daemon, &err))) {
		fprintf(stderr, "postern-events: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	printf("%s is read, since %s\n",
		daemon->log_file ? daemon->log_file : "the journal", why);
	return EX_OK;
}

static int choose(struct daemon *daemon, struct err *err)
{
	const char *why;

	if (choose_source(daemon, &why, err) < 0)
		return -1;
	if (daemon->log_file)
		log_info(daemon->log, "source", "source", "file", "file",
			daemon->log_file, "why", why);
	else
		log_info(daemon->log, "source", "source", "journal", "why", why);
	return 0;
}

static int start(struct daemon *daemon, struct err *err)
{
	const char *database = daemon->conf->store.database;

	if (migrate_check_file(database, err) < 0 ||
		db_open(database, DB_WRITE, &daemon->db, err) < 0 ||
		db_set_cache(daemon->db, CACHE_KIB, err) < 0 ||
		db_file_same(database, &daemon->file, err) < 0 ||
		ask_postfix(daemon, err) < 0 ||
		(daemon->once == NULL && (choose(daemon, err) < 0 ||
						 open_queue(daemon, err) < 0)))
		return -1;
	daemon->cursor = daemon->log_file
				 ? mem_printf("file:%s", daemon->log_file)
				 : mem_strdup(daemon->once ? "once" : "journal");
	return reader_new(
		&(struct reader_setup){
			.db = daemon->db,
			.log = daemon->log,
			.instances = daemon->postfix.instance,
			.once = daemon->once != NULL,
			.open = open_source,
			.arg = daemon,
			.name = daemon->cursor,
		},
		&daemon->reader, err);
}

static void log_counts(const struct daemon *daemon)
{
	const struct tracker_counts *counts = reader_counts(daemon->reader);

	log_info(daemon->log, "counts", "lines", LOG_INT((int64_t)counts->lines),
		"events", LOG_INT((int64_t)counts->events), "unreadable",
		LOG_INT((int64_t)counts->bad), "without_status",
		LOG_INT((int64_t)counts->open));
}

/* For postern-httpd's /metrics; that they cannot be written is said once. */
static void write_metrics(struct daemon *daemon)
{
	const struct tracker_counts *counts = reader_counts(daemon->reader);
	const uint64_t *repaired = repair_facts(daemon->repair);
	struct metrics_events *values = &daemon->values;
	struct err err = ERR_INIT;
	bool failed;

	values->store = *db_counts(daemon->db);
	for (size_t i = 0; i < FACTS; i++)
		values->facts[i] = (int64_t)(counts->facts[i] + repaired[i]);
	values->lines = (int64_t)counts->lines;
	values->unreadable = (int64_t)counts->bad;
	failed = metrics_file_write(daemon->metrics, values, &err) < 0;
	if (failed && !daemon->metrics_failed)
		log_warn(daemon->log, "metrics_not_written", "error", err.text);
	daemon->metrics_failed = failed;
	daemon->written_us = clock_monotonic_us();
}

static int read_once(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	int n;

	while ((n = reader_round(daemon->reader, &err)) > 0)
		;
	if (n == 0) {
		log_counts(daemon);
		return EX_OK;
	}
	log_error(daemon->log, "read_failed", "error", err.text);
	return err_info(err.code)->exit_status;
}

static void reload(struct daemon *daemon)
{
	_cleanup_(conf) struct conf *fresh = NULL;
	_cleanup_buf_ struct buf restart = BUF_INIT;
	struct err err = ERR_INIT;

	if (conf_load(daemon->conf_path, &fresh, &err) < 0) {
		log_error(daemon->log, "reload_failed", "error", err.text);
		return;
	}
	conf_reload(daemon->conf, fresh, &restart);
	log_set_level(daemon->log, (enum log_level)daemon->conf->log.level);
	log_info(daemon->log, "reloaded");
	if (restart.len > 0)
		log_warn(daemon->log, "restart_needed", "needs_restart",
			buf_str(&restart));
}

/* What may pass is tried again, and said once. */
static int read_on(struct daemon *daemon, bool *failed)
{
	struct err err = ERR_INIT;
	int n = reader_round(daemon->reader, &err);

	if (n < 0 && !*failed)
		log_error(daemon->log, "read_failed", "error", err.text);
	if (n >= 0 && *failed)
		log_info(daemon->log, "read_again");
	*failed = n < 0;
	return n;
}

/* Compares with the queue, when it is time or lines may be missing, and the log
 * was read to its end. */
static void repair(struct daemon *daemon)
{
	int64_t now_us = clock_monotonic_us();
	int64_t waited_ms = (now_us - daemon->repaired_us) / 1000;
	struct err err = ERR_INIT;

	if (waited_ms < REPAIR_MIN_MS &&
		waited_ms < daemon->conf->events.repair_ms)
		return;
	if (!reader_had_gap(daemon->reader) &&
		waited_ms < daemon->conf->events.repair_ms)
		return;
	daemon->repaired_us = now_us;
	if (repair_round(daemon->repair, clock_now_us(&clock_system), &err) < 0)
		log_warn(daemon->log, "repair_failed", "error", err.text);
}

/* After a round that returned that. */
static int pause_ms(const struct daemon *daemon, int result)
{
	if (result != 0)
		return result > 0 ? PAUSE_MS : FAILED_MS;
	return reader_lines(daemon->reader) < BUSY_LINES ? LOOK_MS : BUSY_MS;
}

static int serve(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	bool failed = false;
	int n, number;

	daemon->counted_us = clock_monotonic_us();
	for (;;) {
		n = read_on(daemon, &failed);
		if (n == 0) {
			daemon->values.read_to_end_us = clock_now_us(
				&clock_system);
			repair(daemon);
		}
		if (clock_monotonic_us() - daemon->written_us >=
			METRICS_WRITE_MS * INT64_C(1000))
			write_metrics(daemon);
		number = daemon_wait_signal(pause_ms(daemon, n));
		if (number == SIGHUP) {
			reload(daemon);
		} else if (number != 0) {
			log_info(daemon->log, "stopping", "signal",
				strsignal(number));
			return EX_OK;
		}
		if (db_file_same(daemon->conf->store.database, &daemon->file,
			    &err) < 0) {
			log_error(daemon->log, "database_gone", "error",
				err.text);
			return EX_TEMPFAIL;
		}
		if (clock_monotonic_us() - daemon->counted_us >=
			COUNTS_MS * INT64_C(1000)) {
			daemon->counted_us = clock_monotonic_us();
			log_counts(daemon);
		}
	}
}

static int run(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	int status;

	if (start(daemon, &err) < 0) {
		log_error(daemon->log, "start_failed", "error", err.text);
		return err_info(err.code)->exit_status;
	}
	if (daemon->once)
		return read_once(daemon);
	log_info(daemon->log, "started", "version", POSTERN_VERSION);
	daemon->metrics = metrics_file_new(
		daemon->conf->store.database, METRICS_EVENTS);
	write_metrics(daemon);
	status = serve(daemon);
	write_metrics(daemon);
	log_counts(daemon);
	log_info(daemon->log, "stopped");
	return status;
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	daemon_block_signals();
	/* Else libc looks for the file with each stamp of the log. */
	setenv("TZ", ":/etc/localtime", 0);
	daemon.conf_path = daemon_arguments(
		&about, argc, argv, &daemon.given, &status);
	if (daemon.conf_path == NULL)
		return status;
	daemon.once = daemon.given.file;
	if (secret_init() < 0) {
		fputs("postern-events: cannot initialize\n", stderr);
		return EX_OSERR;
	}
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-events: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	if (daemon.given.flag) {
		status = check(&daemon);
		clear(&daemon);
		return status;
	}
	daemon.log = log_new("postern-events",
		(enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	status = run(&daemon);
	clear(&daemon);
	return status;
}
