/*
 * daemon: what the main() of each daemon begins with.
 */
#ifndef POSTERN_BASE_DAEMON_H
#define POSTERN_BASE_DAEMON_H

struct daemon_about {
	const char *program;
	const char *purpose;      /* a sentence */
	const char *default_path; /* of the settings */
};

/* Reads `[-c FILE] [--help] [--version]`: the path of the settings, or NULL and
 * the status to exit with after what was to be said has been said. */
const char *daemon_arguments(
	const struct daemon_about *about, int argc, char **argv, int *status_r);

/* Lets the process have as many descriptors as the system allows it: each
 * connection takes one. */
void daemon_raise_descriptor_limit(void);

#endif
