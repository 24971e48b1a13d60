/*
 * daemon: what the main() of each daemon begins with, and its signals.
 */
#ifndef POSTERN_BASE_DAEMON_H
#define POSTERN_BASE_DAEMON_H

#include <stdbool.h>

struct daemon_about {
	const char *program;
	const char *purpose;      /* a sentence */
	const char *default_path; /* of the settings */
	/* The names of two more options, of which the first takes a file, and
	 * what they do; NULL for none. */
	const char *file_option, *file_help;
	const char *flag_option, *flag_help;
};

struct daemon_given {
	const char *file; /* NULL: the option was not given */
	bool flag;
};

/* Reads `[-c FILE] [--help] [--version]`: the path of the settings, or NULL and
 * the status to exit with after what was to be said has been said. given_r gets
 * the program's own options; NULL where it has none. */
const char *daemon_arguments(const struct daemon_about *about, int argc, char **argv,
	struct daemon_given *given_r, int *status_r);

/* Lets the process have as many descriptors as the system allows it: each
 * connection takes one. */
void daemon_raise_descriptor_limit(void);

/* From here on SIGHUP, SIGINT and SIGTERM end nothing: they are blocked in this
 * thread and in those that it starts, and wait for daemon_wait_signal(). All
 * other signals by which a process can be told to end are ignored, but for
 * SIGKILL and those that a fault of the program raises, as SIGSEGV. */
void daemon_block_signals(void);

/* Waits for one of the three, at most wait_ms: its number, or 0 when time is
 * up. SIGINT and SIGTERM come before SIGHUP, however many of that there are. */
int daemon_wait_signal(int wait_ms);

#endif
