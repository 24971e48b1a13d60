/*
 * postern-milter: tells Postfix which messages may pass, and records them.
 *
 * Starts settings, log, database and socket in this order, and stops in reverse. The main
 * thread waits for signals and is the janitor. libmilter serves in its own threads until the
 * process ends. It is never told to stop: it would wait for up to five seconds and finish
 * nothing. If an answer does not reach Postfix, Postfix presents the message again, and the
 * same record is made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/socket.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/metrics/metrics.h"
#include "core/store/host/store_host.h"
#include "core/mime/mime_gmime.h"
#include "core/postfix/postconf.h"
#include "milter/filter.h"
#include "milter/service.h"

static const struct daemon_about about = {
	.program = "postern-milter",
	.purpose = "Tells the local Postfix which messages may pass, and records them.",
	.default_path = CONF_DEFAULT_PATH,
};

enum { ROUND_MS = 2 * 1000 };

/* Everything that main() owns. */
struct daemon {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct service *service;
	struct socket *socket;
	struct host_pulse pulse;
	struct metrics_file *metrics;
	struct metrics_milter values; /* the content of the metrics file */
};

/*
 * A thread of libmilter waits for SIGHUP, SIGINT and SIGTERM with sigwait() and ends the
 * service on each of them. Linux delivers a signal for the process to its main thread if that
 * has not blocked it. So the main thread never blocks these signals, and its handler writes
 * them into a pipe. SA_NODEFER lets another signal arrive while one is handled.
 *
 * A signal that comes within microseconds of another, while that is on its way to the main
 * thread, can still reach libmilter. Then the program ends with a status for which the service
 * manager starts it again, unless it has asked for the end itself.
 */
static int signal_pipe[2] = {-1, -1};

static void on_signal(int number)
{
	const unsigned char byte = (unsigned char)number;
	int saved = errno;
	ssize_t written = write(signal_pipe[1], &byte, 1);

	(void)written; /* if the pipe is full, the signals in it are enough */
	errno = saved;
}

static int catch_signals(struct err *err)
{
	const struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
	sigset_t caught;

	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, ERR_TEMPORARY, "cannot make a pipe: %s", strerror(errno));
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&caught);
	sigaddset(&caught, SIGHUP);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &caught, NULL);
	return 0;
}

/* Same contract as daemon_wait_signal(). */
static int wait_signal(int wait_ms)
{
	struct pollfd ready = {.fd = signal_pipe[0], .events = POLLIN};
	unsigned char numbers[64];
	int number = 0;
	ssize_t n;

	poll(&ready, 1, wait_ms);
	while ((n = read(signal_pipe[0], numbers, sizeof(numbers))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (number == 0 || number == SIGHUP)
				number = numbers[i];
	return number;
}

static int start_daemon(struct daemon *daemon, struct err *err)
{
	const struct conf *conf = daemon->conf;

	daemon_raise_descriptor_limit();
	if (catch_signals(err) < 0 || service_open(conf, daemon->log, &daemon->service, err) < 0 ||
		socket_lock(conf->milter.socket,
			&(struct socket_use){
				"milter", "milter.socket", "postfix-conf/enable makes it"},
			&daemon->socket, err) < 0 ||
		filter_open(daemon->service, conf, err) < 0)
		return -1;
	if (socket_publish(daemon->socket, conf->milter.socket_mode, "", err) == 0 &&
		known_domains_start(daemon->service->known, err) == 0 && filter_start(err) == 0)
		return 0;
	socket_hide(daemon->socket);
	return -1;
}

static int find_socket(void *arg, struct conf *fresh, struct err *err)
{
	(void)arg;
	return postconf_find_milter_socket(fresh, err);
}

static int apply_settings(void *arg, struct conf *next, struct err *err)
{
	struct daemon *daemon = arg;

	return service_reload(daemon->service, next, err);
}

/* Writes the file for postern-httpd's /metrics. */
static void write_metrics(struct daemon *daemon)
{
	counts_tell(&daemon->service->counts, &daemon->values);
	metrics_file_update(daemon->metrics, &daemon->values, daemon->log);
}

static int beat_run(struct db *db, void *pulse, struct err *err)
{
	return host_pulse(db, pulse, "milter", "", err);
}

/* Serves until a signal or a failure, and looks after what has to be done every two seconds.
 * Returns the exit status. */
static int serve(struct daemon *daemon)
{
	const struct conf_reader reader = {
		.complete = find_socket, .apply = apply_settings, .arg = daemon};
	struct service *service = daemon->service;

	counts_log_hourly(&service->counts, daemon->log, clock_monotonic_us());
	for (;;) {
		struct err err = ERR_INIT;
		int number = wait_signal(ROUND_MS);

		if (number == SIGHUP) {
			conf_reread(daemon->conf, daemon->conf_path, daemon->log, &reader, &err);
		} else if (number != 0) {
			log_info(daemon->log, "stopping", "signal", strsignal(number));
			return EX_OK;
		}
		if (filter_has_ended()) {
			log_error(daemon->log, "libmilter_ended");
			return EX_TEMPFAIL;
		}
		daemon->values.store = committer_stats(service->committer).db;
		write_metrics(daemon);
		/* Mail that comes meanwhile logs why the store cannot be written. */
		if (*conf_host(daemon->conf) && clock_monotonic_us() >= daemon->pulse.next_us)
			(void)committer_run(service->committer, beat_run, &daemon->pulse, &err);
		counts_log_hourly(&service->counts, daemon->log, clock_monotonic_us());
		/* If somebody removes or replaces the socket's file, clients can no longer
		 * connect although the milter runs. */
		if (!socket_is_named(daemon->socket)) {
			log_error(
				daemon->log, "socket_gone", "socket", daemon->conf->milter.socket);
			return EX_TEMPFAIL;
		}
	}
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	daemon.conf_path = daemon_begin(&about, argc, argv, NULL, &status);
	if (daemon.conf_path == NULL)
		return status;
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0 ||
		postconf_find_milter_socket(daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-milter: %s\n", err.text);
		conf_free(daemon.conf);
		return err_info(err.code)->exit_status;
	}
	mime_init();
	daemon.log = log_new("postern-milter", (enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	if (start_daemon(&daemon, &err) < 0) {
		log_error(daemon.log, "start_failed", "error", err.text);
		status = err_info(err.code)->exit_status;
		if (daemon.service) {
			service_close(daemon.service);
			service_free(daemon.service);
		}
	} else {
		log_info(daemon.log, "started", "version", POSTERN_VERSION, "socket",
			daemon.conf->milter.socket);
		daemon_ready();
		daemon.metrics = metrics_file_new(daemon.conf->store.database, METRICS_MILTER);
		write_metrics(&daemon);
		status = serve(&daemon);
		socket_hide(daemon.socket);
		service_close(daemon.service);
		write_metrics(&daemon);
		counts_log(&daemon.service->counts, daemon.log);
		log_info(daemon.log, "stopped");
	}
	metrics_file_free(daemon.metrics);
	socket_free(daemon.socket);
	log_free(daemon.log);
	conf_free(daemon.conf);
	return status;
}
