/*
 * postern-httpd: takes emails over HTTP and submits them to Postfix.
 *
 * The main thread starts the server and then waits for signals: SIGHUP reads
 * the settings again; SIGTERM and SIGINT finish the requests under way and end
 * the program. In between it calls server_round().
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/mime/mime_gmime.h"
#include "httpd/server.h"

static const struct daemon_about about = {
	.program = "postern-httpd",
	.purpose = "Takes emails over HTTP and submits them to the local Postfix.",
	.default_path = CONF_DEFAULT_PATH,
};

/* The log for libevent's messages, whose callback has no argument. Set before
 * any thread starts. */
static struct log *event_log;

static void on_libevent_message(int severity, const char *text)
{
	static const enum log_level levels[] = {
		[EVENT_LOG_DEBUG] = LOG_LEVEL_DEBUG,
		[EVENT_LOG_MSG] = LOG_LEVEL_INFO,
		[EVENT_LOG_WARN] = LOG_LEVEL_WARN,
		[EVENT_LOG_ERR] = LOG_LEVEL_ERROR,
	};

	log_event(event_log, levels[severity], "libevent", "text", text, NULL);
}

/* libevent cannot go on, for example without descriptors for a new loop, and
 * has logged why. A supervisor may restart the program. */
static void on_libevent_fatal(int status)
{
	(void)status;
	_exit(EX_TEMPFAIL);
}

static int run_server(const char *path, struct conf *conf)
{
	struct log *log = log_new("postern-httpd", (enum log_target)conf->log.target,
		(enum log_level)conf->log.level);
	struct server *server;
	struct err err = ERR_INIT;
	int status = EX_OK, got, wait_ms = 0;

	event_log = log;
	event_set_log_callback(on_libevent_message);
	event_set_fatal_callback(on_libevent_fatal);
	if (server_start(path, conf, log, &server, &err) == 0) {
		daemon_ready();
		while ((got = daemon_wait_signal(wait_ms)) == 0 || got == SIGHUP) {
			if (got == 0)
				wait_ms = server_round(server);
			else
				server_reload(server);
		}
		log_info(log, "stopping", "signal", strsignal(got));
		server_stop(server);
		log_info(log, "stopped");
	} else {
		log_error(log, "start_failed", "error", err.text);
		status = err_info(err.code)->exit_status;
	}
	event_set_log_callback(NULL);
	log_free(log);
	return status;
}

int main(int argc, char **argv)
{
	_cleanup_(conf) struct conf *conf = NULL;
	struct err err = ERR_INIT;
	int status = EX_OK;
	const char *path;

	/* Every malloc arena keeps memory that its threads freed, which the
	 * memory quota does not count. So there are few arenas. */
	mallopt(M_ARENA_MAX, 2);
	signal(SIGCHLD, SIG_DFL); /* if ignored, children cannot be waited for */
	path = daemon_begin(&about, argc, argv, NULL, &status);
	if (path == NULL)
		return status;
	if (evthread_use_pthreads() < 0) {
		fputs("postern-httpd: cannot initialize\n", stderr);
		return EX_OSERR;
	}
	mime_init();
	if (conf_load(path, &conf, &err) < 0) {
		fprintf(stderr, "postern-httpd: %s\n", err.text);
		return err_info(err.code)->exit_status;
	}
	status = run_server(path, conf);
	libevent_global_shutdown();
	return status;
}
