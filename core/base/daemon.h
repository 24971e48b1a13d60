/*
 * daemon: the start of each daemon's main(), and its signals.
 */
#ifndef POSTERN_BASE_DAEMON_H
#define POSTERN_BASE_DAEMON_H

#include <stdbool.h>

struct daemon_about {
	const char *program;
	const char *purpose;      /* one sentence */
	const char *default_path; /* of the settings file */
	/* The names and help of two more options, the first with a file as argument; NULL if
	 * there are none. */
	const char *file_option, *file_help;
	const char *flag_option, *flag_help;
};

struct daemon_given {
	const char *file; /* NULL if the option is not given */
	bool flag;
};

/* The first call of main(): blocks signals as daemon_block_signals(), reads
 * `[-c FILE] [--help] [--version]`, and calls secret_init(). Returns the path of the settings, or
 * NULL after printing help, version or an error, with the exit status in *status_r. given_r gets
 * the program's own options; NULL if it has none. */
const char *daemon_begin(const struct daemon_about *about, int argc, char **argv,
	struct daemon_given *given_r, int *status_r);

/* Raises the limit of file descriptors to the maximum that the system allows; each connection
 * needs one. */
void daemon_raise_descriptor_limit(void);

/* Blocks SIGHUP, SIGINT and SIGTERM in this thread and all that it starts, for
 * daemon_wait_signal(). Ignores all other signals that could end the process, except SIGKILL
 * and those that a program fault raises, such as SIGSEGV. */
void daemon_block_signals(void);

/* Tells the service manager that this process serves from now on and handles its signals
 * (sd_notify(3)): with Type=notify, `systemctl start` and `systemctl reload` wait for that. Before
 * main() blocks signals, while the dynamic linker still runs, a SIGHUP would end the process. Does
 * nothing without $NOTIFY_SOCKET. */
void daemon_ready(void);

/* Waits at most wait_ms for one of the three signals. Returns its number, or 0 after the time.
 * SIGINT and SIGTERM take precedence over any number of SIGHUPs. */
int daemon_wait_signal(int wait_ms);

#endif
