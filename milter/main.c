/*
 * postern-milter: tells Postfix which messages may pass, and records them.
 *
 * Starts from the inside out: settings, log, database, socket; ends the other
 * way round. The main thread waits for signals and is the janitor; libmilter
 * serves in others, until the process ends: it is never told to stop. It would
 * wait for up to five seconds and finish nothing. A message whose answer does
 * not reach Postfix any more is presented again, and its record made again.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/metrics/metrics.h"
#include "core/mime/mime_gmime.h"
#include "milter/filter.h"
#include "milter/socket.h"
#include "milter/service.h"

static const struct daemon_about about = {
	.program = "postern-milter",
	.purpose = "Tells the local Postfix which messages may pass, and "
		   "records them.",
	.default_path = CONF_DEFAULT_PATH,
};

/* How often the janitor looks around. */
enum { ROUND_MS = 2 * 1000 };

/* All that run() holds. */
struct daemon {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct service *service;
	struct socket *socket;
	struct metrics_file *metrics;
	struct metrics_milter values; /* what it says */
	bool metrics_failed;
};

static int open_socket(struct daemon *daemon, struct err *err)
{
	const struct conf *conf = daemon->conf;

	if (socket_lock(conf->milter.socket, &daemon->socket, err) < 0)
		return -1;
	if (filter_open(daemon->service, conf, err) < 0)
		return -1;
	if (socket_publish(daemon->socket, conf->milter.socket_mode, err) == 0)
		return 0;
	socket_hide(daemon->socket);
	return -1;
}

static int start(struct daemon *daemon, struct err *err)
{
	daemon_raise_descriptor_limit();
	if (service_open(daemon->conf, daemon->log, &daemon->service, err) < 0 ||
		open_socket(daemon, err) < 0)
		return -1;
	if (filter_start(err) == 0)
		return 0;
	socket_hide(daemon->socket);
	return -1;
}

static void reload(struct daemon *daemon)
{
	_cleanup_(conf) struct conf *fresh = NULL;
	_cleanup_buf_ struct buf restart = BUF_INIT;
	struct err err = ERR_INIT;

	if (conf_load(daemon->conf_path, &fresh, &err) < 0 ||
		service_reload(daemon->service, fresh, &err) < 0) {
		log_error(daemon->log, "reload_failed", "error", err.text);
		return;
	}
	conf_reload(daemon->conf, fresh, &restart);
	log_info(daemon->log, "reloaded");
	if (restart.len > 0)
		log_warn(daemon->log, "restart_needed", "needs_restart",
			buf_str(&restart));
}

/* For postern-httpd's /metrics; that they cannot be written is said once. */
static void write_metrics(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	bool failed;

	counts_tell(&daemon->service->counts, &daemon->values);
	failed = metrics_file_write(daemon->metrics, &daemon->values, &err) < 0;
	if (failed && !daemon->metrics_failed)
		log_warn(daemon->log, "metrics_not_written", "error", err.text);
	daemon->metrics_failed = failed;
}

/* EX_OK to go on, else why not. Whoever removes the file of the socket, or puts
 * another one in its place, cuts the milter off while it lives: it listens
 * where no name leads. */
static int look_after(struct daemon *daemon)
{
	if (filter_has_ended()) {
		log_error(daemon->log, "libmilter_ended");
		return EX_UNAVAILABLE;
	}
	daemon->values.store = committer_stats(daemon->service->committer).db;
	write_metrics(daemon);
	counts_log_hourly(
		&daemon->service->counts, daemon->log, clock_monotonic_us());
	if (socket_is_named(daemon->socket))
		return EX_OK;
	log_error(daemon->log, "socket_gone", "socket",
		daemon->conf->milter.socket);
	return EX_TEMPFAIL;
}

/* Serves until there is a reason to end: the exit status. */
static int serve(struct daemon *daemon)
{
	int number, status;

	counts_log_hourly(
		&daemon->service->counts, daemon->log, clock_monotonic_us());
	for (;;) {
		number = daemon_wait_signal(ROUND_MS);
		if (number == SIGHUP) {
			reload(daemon);
		} else if (number != 0) {
			log_info(daemon->log, "stopping", "signal",
				strsignal(number));
			return EX_OK;
		}
		status = look_after(daemon);
		if (status != EX_OK)
			return status;
	}
}

static int run(struct daemon *daemon)
{
	struct err err = ERR_INIT;
	int status;

	if (start(daemon, &err) < 0) {
		log_error(daemon->log, "start_failed", "error", err.text);
		if (daemon->service) {
			service_close(daemon->service);
			service_free(daemon->service);
		}
		return err_info(err.code)->exit_status;
	}
	log_info(daemon->log, "started", "version", POSTERN_VERSION, "socket",
		daemon->conf->milter.socket);
	daemon->metrics = metrics_file_new(
		daemon->conf->store.database, METRICS_MILTER);
	write_metrics(daemon);
	status = serve(daemon);
	socket_hide(daemon->socket);
	service_close(daemon->service);
	write_metrics(daemon);
	counts_log(&daemon->service->counts, daemon->log);
	log_info(daemon->log, "stopped");
	return status;
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	daemon_block_signals();
	daemon.conf_path = daemon_arguments(&about, argc, argv, NULL, &status);
	if (daemon.conf_path == NULL)
		return status;
	if (secret_init() < 0) {
		fputs("postern-milter: cannot initialize\n", stderr);
		return EX_OSERR;
	}
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-milter: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	mime_init();
	daemon.log = log_new("postern-milter",
		(enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	status = run(&daemon);
	metrics_file_free(daemon.metrics);
	socket_free(daemon.socket);
	log_free(daemon.log);
	conf_free(daemon.conf);
	return status;
}
