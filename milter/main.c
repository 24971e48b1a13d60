/*
 * postern-milter: tells Postfix which messages may pass, and records them.
 *
 * Starts from the inside out: settings, log, database, socket; ends the other
 * way round. The main thread waits for signals and is the janitor; libmilter
 * serves in others.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/mail/mime_init.h"
#include "milter/filter.h"
#include "milter/hangup.h"
#include "milter/janitor.h"
#include "milter/serve.h"
#include "milter/service.h"
#include "milter/signals.h"
#include "milter/socket.h"

/* How long a stop waits for messages that are on their way, and then for the
 * answers to them. */
enum { DRAIN_MS = 10 * 1000, ANSWERS_MS = 10 * 1000 };

static const struct daemon_about about = {
	.program = "postern-milter",
	.purpose = "Tells the local Postfix which messages may pass, and "
		   "records them.",
	.default_path = CONF_DEFAULT_PATH,
};

/* All that run() holds. */
struct daemon {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct service *service;
	struct socket *socket;
	struct serve *serve;
};

static int open_socket(struct daemon *daemon, struct err *err)
{
	const struct conf *conf = daemon->conf;

	if (socket_claim(conf->milter.socket, &daemon->socket, err) < 0)
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
	if (signals_init(err) < 0 ||
		service_open(daemon->conf, daemon->log, &daemon->service, err) <
			0 ||
		open_socket(daemon, err) < 0)
		return -1;
	if (serve_start(signals_post, &daemon->serve, err) == 0)
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

/* What main does about an event; -1 to go on, else the exit status. */
static int on_event(
	struct daemon *daemon, struct janitor *janitor, enum signal_event event)
{
	switch (event) {
	case SIGNAL_STOP:
		log_info(daemon->log, "stopping");
		return EX_OK;
	case SIGNAL_ENDED:
		log_error(daemon->log, "libmilter_ended");
		return EX_UNAVAILABLE;
	case SIGNAL_RELOAD:
		reload(daemon);
		return -1;
	case SIGNAL_NONE:
		break;
	}
	if (janitor_round(janitor, clock_monotonic_us()))
		return -1;
	log_error(daemon->log, "socket_gone", "socket",
		daemon->conf->milter.socket);
	return EX_TEMPFAIL;
}

/* Serves until there is a reason to end: the exit status. */
static int wait_for_end(struct daemon *daemon)
{
	struct janitor janitor;
	int status;

	janitor_begin(&janitor, daemon->service, daemon->socket,
		clock_monotonic_us());
	do
		status = on_event(
			daemon, &janitor, signals_wait(JANITOR_ROUND_MS));
	while (status < 0);
	return status;
}

/* Nobody new gets in, and those who are inside may finish: Postfix keeps what
 * it has to offer meanwhile (default_action=tempfail). What was decided is
 * answered: else Postfix would put off what is on record as sent. */
static void drain(struct daemon *daemon)
{
	struct drain *drain = daemon->service->drain;

	if (!drain_wait(drain, DRAIN_MS))
		log_warn(daemon->log, "messages_cut_off");
	drain_close(drain);
	hangup_all(daemon->conf->milter.socket);
	if (!drain_wait_answers(drain, ANSWERS_MS))
		log_warn(daemon->log, "answers_cut_off");
}

/* False when libmilter had failed. */
static bool stop(struct daemon *daemon, bool serving)
{
	bool well;

	socket_hide(daemon->socket);
	if (serving)
		drain(daemon);
	well = serve_stop(daemon->serve, daemon->socket);
	service_close(daemon->service);
	counts_log(&daemon->service->counts, daemon->log);
	return well;
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
	status = wait_for_end(daemon);
	if (!stop(daemon, status != EX_UNAVAILABLE))
		status = EX_UNAVAILABLE;
	log_info(daemon->log, "stopped");
	return status;
}

int main(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct err err = ERR_INIT;
	int status = EX_OK;

	daemon.conf_path = daemon_arguments(&about, argc, argv, &status);
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
	socket_free(daemon.socket);
	log_free(daemon.log);
	conf_free(daemon.conf);
	return status;
}
