/*
 * daemon: what the main() of each daemon begins with, and its signals.
 */
#ifndef POSTERN_BASE_DAEMON_H
#define POSTERN_BASE_DAEMON_H

struct daemon_about {
	const char *program;
	const char *purpose;      /* a sentence */
	const char *default_path; /* of the settings */
	const char *file_option;  /* the name of one more option, which takes a
				   * file, and what it does; NULL for none */
	const char *file_help;
};

/* Reads `[-c FILE] [--help] [--version]`: the path of the settings, or NULL and
 * the status to exit with after what was to be said has been said. *file_r is
 * the file of the program's own option, untouched without it. */
const char *daemon_arguments(const struct daemon_about *about, int argc,
	char **argv, const char **file_r, int *status_r);

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
